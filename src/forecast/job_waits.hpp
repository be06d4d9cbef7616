#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "forecast/job_listing.hpp"
#include "forecast/wait_forecast.hpp"

namespace wallheat {

/// Jobs by what they ask for: core hours (cores times the time limit), or GB hours (10^9 bytes of
/// memory times the time limit). Four classes: below `first`, up to `first * factor`, up to
/// `first * factor^2`, and above.
struct SizeClasses {
  static constexpr std::size_t count = 4;
  double first = 4;
  double factor = 4;
  bool by_memory = false;

  /// A job without a time limit is in the last class, as it asks for more than any. Nothing if the
  /// memory is not known.
  [[nodiscard]] std::optional<std::size_t> of(const JobRecord& job) const;
  [[nodiscard]] std::size_t of_hours(double hours) const;
  /// "< 4 CPU hours", "4 - 16 CPU hours", ..., "> 64 CPU hours".
  [[nodiscard]] std::array<std::string, count> names() const;
};

/// The waits of one partition.
struct PartitionWaits {
  std::string name;
  std::vector<Wait> waits;
};

/// What a listing tells of waiting.
struct JobWaits {
  std::vector<PartitionWaits> partitions;  ///< by name
  std::size_t records = 0;
  std::size_t started = 0;         ///< waits that have ended
  std::size_t waiting = 0;         ///< that had not: they wait, or were cancelled first
  std::size_t same_burst = 0;      ///< tasks of an array that started with another one
  std::size_t never_eligible = 0;  ///< held, dependent, or with times that contradict each other
};

/// A wait is the time from a job's eligibility to its start: time in which it was held, or depended
/// on others, does not count. If that is unknown there is no wait. Each stay of a requeued job
/// counts. Of an array's tasks that start no more than a minute after each other the first counts.
/// `qos`: only jobs with that quality of service; empty: all.
[[nodiscard]] JobWaits waits_of(const JobListing& listing, const std::string& qos = {});

}  // namespace wallheat
