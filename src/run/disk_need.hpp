#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "isolation/job_settings.hpp"

namespace wallheat {

/// What results will take on a disk, in bytes, at the moment when one file is made of the file and
/// its journals: rows are there three times, fields and rooms twice.
struct DiskNeed {
  double rows = 0;    ///< with their rooms
  double fields = 0;  ///< as if they could not be compressed

  /// Of real floor plans' fields a quarter is left when they are compressed (src/store/README.md);
  /// one that is nothing but room keeps nearly all.
  [[nodiscard]] double usual() const { return rows + 0.25 * fields; }
};

/// Of so many plans that have so many cells in all.
[[nodiscard]] DiskNeed disk_need(const JobSettings& job, double plans, double cells);

/// The folder of a result file, and the bytes that are free there; nothing if that is not known.
struct FreeDisk {
  std::filesystem::path folder;
  double bytes = 0;
};
[[nodiscard]] std::optional<FreeDisk> free_disk(const std::filesystem::path& results);

/// A sentence if the results have no room there; empty if they have.
[[nodiscard]] std::string lack_of_disk(const DiskNeed& need, const FreeDisk& free);

}  // namespace wallheat
