#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/plan_source.hpp"
#include "store/results/environment.hpp"

namespace wallheat {

/// Opens a directory of NPY files or a pack. Throws RunError if `path` is neither, or where the
/// pack is damaged as a whole or of another format version. Opening calls HDF5; the source's own
/// functions do not, so its threads do not wait for each other.
[[nodiscard]] SharedPlanSource open_plan_source(const std::filesystem::path& path,
                                                const StoreEnvironment& env = {});

/// The distance of neighbouring cells, in the unit in which the plans' sources are given per
/// square: what spacing.txt in a directory says, or a pack. Nothing where it is not said, or where
/// there are no plans. Throws RunError where spacing.txt holds anything but a number above 0.
[[nodiscard]] std::optional<double> spacing_of_plans(const std::filesystem::path& path,
                                                     const StoreEnvironment& env = {});
inline constexpr const char* spacing_name = "spacing.txt";

struct PackOptions {
  bool overwrite = false;
  std::optional<double> spacing;                  ///< see spacing_of_plans
  std::size_t threads = 1;                        ///< that read and compress
  std::function<void(std::size_t done)> packed;   ///< plans so far; may be empty
  std::function<void(std::size_t done)> checked;  ///< plans read back so far; may be empty
  std::function<bool()> interrupted;              ///< asked now and then; may be empty
};

/// A plan that could not be read, and why.
struct LeftOut {
  std::string id;
  std::string reason;
};

struct PackReport {
  std::size_t plans = 0;          ///< packed
  std::vector<LeftOut> left_out;  ///< in the order of the ids
  std::uint64_t bytes_in = 0;     ///< the packed plans as float64 and bool, without any header
  std::uint64_t bytes_out = 0;    ///< the pack
};

/// Writes the plans `ids` of `source`, in that order, into one HDF5 file (layout:
/// src/store/README.md), without loss of a bit. Reads every plan back before the file gets its
/// name: there is a whole file or none. A plan that cannot be read stays in the list with the
/// reason, and fails when it is asked for. Throws RunError if the file cannot be written, exists
/// (without `overwrite`), or where all plans are left out or `interrupted` says true.
[[nodiscard]] PackReport pack_plans(const std::filesystem::path& out, const PlanSource& source,
                                    const TextList& ids, const PackOptions& options,
                                    const StoreEnvironment& env = {});

}  // namespace wallheat
