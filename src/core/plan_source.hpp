#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/plan_ids.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// A source as a whole cannot be read, maybe for a while only: its file system is away, or its
/// directory. No plan's fault.
struct SourceUnavailable : RunError {
  using RunError::RunError;
};

/// Throws SourceUnavailable, with one sentence, where the directory or file cannot be read.
void expect_available(const std::filesystem::path& source);

/// Reads something of a source. Where that fails because of a plan, the source itself is looked at,
/// and the plan once more, as the source may have come back in between. Throws what `read` throws,
/// and SourceUnavailable.
template <class Read>
auto read_of(const std::filesystem::path& source, Read read) {
  try {
    return read();
  } catch (const InputError&) {
    expect_available(source);
  }
  return read();
}

/// Takes a plan in pieces, so that it need not be in memory as a whole.
struct PlanPieces {
  std::function<void(GridShape)> shape;                         ///< first
  std::function<void(std::span<const double>)> domain;          ///< then all of it, row by row
  std::function<void(std::span<const std::uint8_t>)> interior;  ///< then this
  std::function<void(std::span<const double>)> source;          ///< last this, if it has one
};

/// Where floor plans come from: a directory, or a pack (store/packs/plan_pack.hpp). Several threads
/// may use one at once. What takes an id throws InputError, which names the file and the plan,
/// where the plan is missing or damaged; that plan fails then, and no other. It throws
/// SourceUnavailable where the source itself cannot be read.
class PlanSource {
 public:
  virtual ~PlanSource() = default;

  /// The directory or file, for sentences about it.
  [[nodiscard]] virtual std::filesystem::path path() const = 0;
  /// All plans in their order. Throws RunError if there is no such list.
  [[nodiscard]] virtual PlanIds ids() const = 0;
  [[nodiscard]] virtual FloorPlan load(const std::string& id) const = 0;
  /// The hash of the plan's content that the source states, if it does; load() compares it.
  [[nodiscard]] virtual std::optional<std::uint64_t> stated_hash(const std::string& id) const;
  /// What load gives, with the values unchecked; of a source that states no hashes in bounded
  /// memory, however large the plan is.
  virtual void load_in_pieces(const std::string& id, const PlanPieces& to) const;
  /// The mask alone. Where it has more than `most_cells`, that is an InputError, too.
  [[nodiscard]] virtual Grid<std::uint8_t> interior(const std::string& id,
                                                    std::size_t most_cells) const = 0;
  /// How many cells are interior. Directory and pack need little memory for that, however large the
  /// plan is.
  [[nodiscard]] virtual std::int64_t interior_cells(const std::string& id) const;
  /// Reads no cell.
  [[nodiscard]] virtual GridShape shape(const std::string& id) const = 0;
  /// Reads no cell.
  [[nodiscard]] virtual bool has_source(const std::string& id) const = 0;
  /// A number made of the sizes and times of the plan's files (see stamp_of). If it is what it was,
  /// so is the plan; if not, the plan may have changed.
  [[nodiscard]] virtual std::uint64_t stamp(const std::string& id) const = 0;
};

/// One number for several; others give another one, all but surely.
[[nodiscard]] std::uint64_t stamp_of(std::span<const std::uint64_t> numbers);

using SharedPlanSource = std::shared_ptr<const PlanSource>;

/// A directory with ID_domain.npy, ID_interior.npy, ID_source.npy if the plan has a source, and, if
/// the plans are to have an order of their own or only some are meant, building_ids.txt. Looks at
/// nothing yet.
[[nodiscard]] SharedPlanSource directory_source(std::filesystem::path directory);

/// Whether a directory of plans has a use for a file of this name: ID_domain.npy, ID_interior.npy,
/// ID_source.npy, building_ids.txt, spacing.txt.
[[nodiscard]] bool is_name_of_plans(const std::filesystem::path& name);
/// Whether a file is, or would be, read together with floor plans that lie beside it.
[[nodiscard]] bool is_among_plans(const std::filesystem::path& file);

}  // namespace wallheat
