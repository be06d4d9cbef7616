#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "isolation/job_settings.hpp"
#include "plans/plan_source.hpp"

// What a run takes of a node.

namespace wallheat {

/// About how many bytes the solver process of a plan holds at most on a CPU, by the plan's shape.
/// Throws InputError if the plan cannot be found.
[[nodiscard]] double memory_of_plan(const PlanSource& source, const std::string& id,
                                    const JobSettings& job);

/// What results will take on a disk, in bytes, at the moment when one file is made of the file and
/// its journals: rows are there three times, fields and rooms twice.
struct DiskNeed {
  double rows = 0;    ///< with their rooms
  double fields = 0;  ///< as if they could not be compressed

  /// The fields of real floor plans become a quarter when they are compressed
  /// (src/store/README.md); one that is nothing but room keeps nearly all.
  [[nodiscard]] double expected() const { return rows + 0.25 * fields; }
};

/// `cells`: of all plans together.
[[nodiscard]] DiskNeed disk_need(const JobSettings& job, double plans, double cells);

/// Nothing if it is not known.
[[nodiscard]] std::optional<double> free_bytes(const std::filesystem::path& folder);

/// A sentence if the results have no room in their folder; empty if they have.
[[nodiscard]] std::string lack_of_disk(const DiskNeed& need, const std::filesystem::path& folder);

}  // namespace wallheat
