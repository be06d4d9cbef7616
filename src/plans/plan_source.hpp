#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/input_file.hpp"
#include "core/plan_files.hpp"
#include "core/plan_ids.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Throws SourceUnavailable, with one sentence, if the directory or file cannot be read.
void require_available(const std::filesystem::path& source);

/// Reads something of a source. If that fails because of a plan, the source itself is looked at,
/// and the plan once more, as the source may have come back in between. Throws what `read` throws,
/// and SourceUnavailable.
template <class Read>
auto read_checking_source(const std::filesystem::path& source, Read read) {
  try {
    return read();
  } catch (const InputError&) {
    require_available(source);
  }
  return read();
}

/// A plan, for a source.
struct PlanKey {
  // NOLINTNEXTLINE(google-explicit-constructor): an id is enough
  PlanKey(std::string id_, std::optional<EntryOffsets> entry_offsets_ = {})
      : id(std::move(id_)), entry_offsets(entry_offsets_) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  PlanKey(const char* id_) : id(id_) {}

  std::string id;
  std::optional<EntryOffsets> entry_offsets;  ///< nothing: to be looked up
};

/// Where floor plans come from: a directory, or a zip archive of one. Several threads may use one
/// at once. What takes an id throws InputError, which names the file and the plan, if the plan is
/// missing or damaged; that plan fails then, and no other. It throws InputSystemError if a file of
/// the plan cannot be read on this host, and SourceUnavailable if the source itself cannot be read.
class PlanSource {
 public:
  virtual ~PlanSource() = default;

  /// The directory or file, for sentences about it.
  [[nodiscard]] virtual std::filesystem::path path() const = 0;
  /// All plans in their order. Throws RunError if there is no such list.
  [[nodiscard]] virtual PlanIds ids() const = 0;
  /// Tells a process that opened the source without listing its plans where this one is: of an
  /// archive, where its list has the plan's files. Nothing if the id is enough.
  [[nodiscard]] virtual std::optional<EntryOffsets> entry_offsets(const std::string& id) const = 0;
  [[nodiscard]] virtual FloorPlan load(const PlanKey& plan) const = 0;
  /// The mask alone. If it has more than `max_cells`, that is an InputError, too.
  [[nodiscard]] virtual Grid<std::uint8_t> interior(const std::string& id,
                                                    std::size_t max_cells) const = 0;
  [[nodiscard]] virtual GridShape shape(const PlanKey& plan) const = 0;
  /// Reads no cell.
  [[nodiscard]] virtual bool has_source(const std::string& id) const = 0;
  /// A number made of the sizes and times of the plan's files, in a zip archive of their sizes and
  /// checksums. If it is what it was, so is the plan; if not, the plan may have changed.
  [[nodiscard]] virtual std::uint64_t stamp(const PlanKey& plan) const = 0;
  /// A stamp that a plan keeps in a copy made with its times in whole seconds, as tar and scp -p
  /// make it.
  [[nodiscard]] virtual std::uint64_t copy_stamp(const PlanKey& plan) const { return stamp(plan); }
};

/// Returns a number made of the inode and the times of a directory or archive itself. On two hosts
/// it is equal for one directory of a shared file system, and different for copies. Throws RunError
/// if `path` cannot be examined.
[[nodiscard]] std::uint64_t source_identity(const std::filesystem::path& path);

/// One number for several. Other numbers almost certainly give another one.
[[nodiscard]] std::uint64_t combine_stamps(std::span<const std::uint64_t> numbers);

using SharedPlanSource = std::shared_ptr<const PlanSource>;

/// A directory with ID_domain.npy, ID_interior.npy, ID_source.npy if the plan has a source, and, if
/// the plans are to have an order of their own or only some are meant, building_ids.txt. Looks at
/// nothing yet.
[[nodiscard]] SharedPlanSource directory_source(std::filesystem::path directory);

/// Whether a directory of plans has a use for a file of this name: ID_domain.npy, ID_interior.npy,
/// ID_source.npy, building_ids.txt, spacing.txt.
[[nodiscard]] bool is_plan_file_name(const std::filesystem::path& name);
/// Whether a file is, or would be, read together with floor plans that lie beside it.
[[nodiscard]] bool is_plan_input(const std::filesystem::path& file);

/// When an archive's list of files is read. That of millions takes seconds, and memory.
enum class ListingMode { eager, lazy };

/// A directory or a zip archive of one, whatever its name. Throws RunError if `path` is neither.
[[nodiscard]] SharedPlanSource open_plan_source(const std::filesystem::path& path,
                                                ListingMode listing = ListingMode::eager);

/// The distance of neighbouring cells, in the unit in which the plans' sources are given per
/// square: what spacing.txt beside the plans says. Nothing if it is not said, or `path` is neither
/// directory nor archive. Throws RunError if spacing.txt holds anything but a number above 0.
[[nodiscard]] std::optional<double> read_spacing(const std::filesystem::path& path);

inline constexpr const char* ids_file_name = "building_ids.txt";
inline constexpr const char* spacing_name = "spacing.txt";

/// The files of a directory of plans in a zip archive: as `zip -r` makes it of the directory, or
/// numpy.savez_compressed of arrays with these names. Throws RunError if the archive is damaged as
/// a whole, or holds the plans of two directories or none.
[[nodiscard]] SharedPlanSource zip_source(const std::filesystem::path& archive,
                                          ListingMode listing = ListingMode::eager);

/// What the file of that name beside the plans of an archive holds; nothing if there is none.
/// Throws RunError, also if the archive holds no plans.
[[nodiscard]] std::optional<std::string> read_sidecar_text(const std::filesystem::path& archive,
                                                           const std::string& name);

/// XXH3 (64 bit) of what the solver gets: shape, start field, mask, and the source if there is one.
/// It does not depend on how the plan is stored (dtype, order), so a plan keeps its hash from one
/// container to another.
[[nodiscard]] std::uint64_t plan_hash(const FloorPlan& plan);

}  // namespace wallheat
