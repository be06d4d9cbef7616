#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/input_file.hpp"
#include "core/plan_files.hpp"
#include "core/plan_ids.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan.hpp"

// Plan sources, from which floor plans are read. An error is attributed to a plan, to the host, or
// to the plan source as a whole, because the consequences differ: the plan fails, another host
// tries it, or the workers wait.

namespace wallheat {

/// Throws SourceUnavailable if the directory or file cannot be read.
void require_available(const std::filesystem::path& source);

/// Returns read(). If read() throws InputError because of a plan, checks that the plan source
/// itself can be read, and calls read() once more, because the source may have been unavailable for
/// a moment. Throws what read() throws, and SourceUnavailable.
template <class Read>
auto read_checking_source(const std::filesystem::path& source, Read read) {
  try {
    return read();
  } catch (const InputError&) {
    require_available(source);
  }
  return read();
}

/// Identifies a plan in a plan source.
struct PlanKey {
  // NOLINTNEXTLINE(google-explicit-constructor): an id is enough
  PlanKey(std::string id_, std::optional<EntryOffsets> entry_offsets_ = {})
      : id(std::move(id_)), entry_offsets(entry_offsets_) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  PlanKey(const char* id_) : id(id_) {}

  std::string id;
  std::optional<EntryOffsets> entry_offsets;  ///< nullopt: must be looked up
};

/// Source of floor plans: a directory, or a zip archive of a directory. Thread-safe. Functions that
/// take a plan throw InputError, whose message contains the file and the plan, if the plan is
/// missing or damaged; then only that plan fails. They throw InputSystemError if a file of the plan
/// cannot be read on this host, and SourceUnavailable if the plan source itself cannot be read.
class PlanSource {
 public:
  virtual ~PlanSource() = default;

  /// Returns the directory or file. Used in messages.
  [[nodiscard]] virtual std::filesystem::path path() const = 0;
  /// Returns the IDs of all plans in order. Throws RunError if they cannot be determined.
  [[nodiscard]] virtual PlanIds ids() const = 0;
  /// Returns the IDs of all plans of which the source contains an initial field, whether
  /// building_ids.txt lists them or not, in any order. Lists the files of a directory. Throws
  /// RunError if that fails.
  [[nodiscard]] virtual std::vector<std::string> ids_of_files() const = 0;
  /// Returns the location of a plan's entries in the central directory of an archive, for a process
  /// that opened the archive without listing it. Returns nullopt if the ID is enough to load the
  /// plan.
  [[nodiscard]] virtual std::optional<EntryOffsets> entry_offsets(const std::string& id) const = 0;
  [[nodiscard]] virtual FloorPlan load(const PlanKey& plan) const = 0;
  /// Returns the mask only. Throws InputError, too, if the mask has more than `max_cells` cells.
  [[nodiscard]] virtual Grid<std::uint8_t> interior(const std::string& id,
                                                    std::size_t max_cells) const = 0;
  [[nodiscard]] virtual GridShape shape(const PlanKey& plan) const = 0;
  /// Returns true if the plan has a heat source. Reads no cell.
  [[nodiscard]] virtual bool has_source(const std::string& id) const = 0;
  /// Returns a number derived from the sizes and modification times of the plan's files; in a zip
  /// archive, from sizes and CRCs. If it is unchanged, the plan is unchanged. If it differs, the
  /// plan may have changed.
  [[nodiscard]] virtual std::uint64_t stamp(const PlanKey& plan) const = 0;
  /// Returns a stamp that is preserved by a copy whose times are in whole seconds, such as those of
  /// tar and scp -p.
  [[nodiscard]] virtual std::uint64_t copy_stamp(const PlanKey& plan) const { return stamp(plan); }
};

/// Returns a number derived from the inode and the times of the directory or archive itself. On two
/// hosts it is equal for one directory of a shared file system, and different for copies. Throws
/// RunError if the status of `path` cannot be read.
[[nodiscard]] std::uint64_t source_identity(const std::filesystem::path& path);

/// Combines several numbers into one. It is almost certainly different for other numbers.
[[nodiscard]] std::uint64_t combine_stamps(std::span<const std::uint64_t> numbers);

using SharedPlanSource = std::shared_ptr<const PlanSource>;

/// Returns the plan source of a directory with the files ID_domain.npy, ID_interior.npy, and
/// ID_source.npy if the plan has a heat source. building_ids.txt is optional: it defines the order
/// of the plans, or selects some of them. Does not access the directory yet.
[[nodiscard]] SharedPlanSource directory_source(std::filesystem::path directory);

/// Returns true if a directory of plans may contain a file of this name: ID_domain.npy,
/// ID_interior.npy, ID_source.npy, ID_drawing.json, building_ids.txt, spacing.txt.
[[nodiscard]] bool is_plan_file_name(const std::filesystem::path& name);
/// Returns true if a file is, or would be, read together with floor plans in the same directory.
[[nodiscard]] bool is_plan_input(const std::filesystem::path& file);

/// Time at which the central directory of an archive is read. If it has millions of entries, this
/// takes seconds, and memory.
enum class ListingMode { eager, lazy };

/// Opens a directory, or a zip archive with any name. Throws RunError if `path` is neither.
[[nodiscard]] SharedPlanSource open_plan_source(const std::filesystem::path& path,
                                                ListingMode listing = ListingMode::eager);

/// Returns the grid spacing from spacing.txt next to the plans, in the unit of length of which the
/// square is used in the heat sources. Returns nullopt if there is no such file, or if `path` is
/// neither a directory nor an archive. Throws RunError if spacing.txt does not contain one number
/// above 0.
[[nodiscard]] std::optional<double> read_spacing(const std::filesystem::path& path);

inline constexpr const char* ids_file_name = "building_ids.txt";
inline constexpr const char* spacing_name = "spacing.txt";

/// Returns the plan source of a zip archive that contains the files of a directory of plans, as
/// `zip -r` makes it from the directory, or numpy.savez_compressed from arrays with these names.
/// Throws RunError if the central directory is damaged, if the archive contains no plans, or if it
/// contains plans of two directories.
[[nodiscard]] SharedPlanSource zip_source(const std::filesystem::path& archive,
                                          ListingMode listing = ListingMode::eager);

/// Returns the text of the file with this name next to the plans of a directory or archive; nullopt
/// if there is none, or if `path` is neither. Throws RunError if the file cannot be read, or if the
/// archive contains no plans.
[[nodiscard]] std::optional<std::string> read_sidecar_text(const std::filesystem::path& path,
                                                           const std::string& name);
[[nodiscard]] std::optional<std::string> read_archive_sidecar_text(
    const std::filesystem::path& archive, const std::string& name);

/// Returns a name for such a file in messages.
[[nodiscard]] std::string sidecar_text_name(const std::filesystem::path& path,
                                            const std::string& name);

/// Returns the name of the file that describes how a plan was made from a picture, such as
/// "flat_drawing.json" for plan flat. Throws InputError if the ID is invalid.
[[nodiscard]] std::string drawing_record_name(const std::string& id);
inline constexpr std::string_view drawing_record_suffix = "_drawing.json";

/// Returns the XXH3 hash (64 bits) of the solver's input: shape, initial field, mask and, if there
/// is one, heat source. The hash does not depend on how the plan is stored (dtype, order), so a
/// plan keeps its hash if it is moved to another container.
[[nodiscard]] std::uint64_t plan_hash(const FloorPlan& plan);

}  // namespace wallheat
