#include "forecast/job_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace wallheat {
namespace {

/// Tells of each job whether it is a task of an array that starts within a minute of another one
/// before.
std::vector<bool> later_in_bursts(const std::vector<JobRecord>& jobs) {
  constexpr std::int64_t gap_s = 60;
  using Task = std::tuple<std::uint64_t, std::string_view, std::int64_t, std::size_t>;
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].array != 0 && jobs[i].start_s != 0)
      tasks.emplace_back(jobs[i].array, jobs[i].partition, jobs[i].start_s, i);
  std::sort(tasks.begin(), tasks.end());
  std::vector<bool> is_later(jobs.size());
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    const auto& [array, partition, start_s, job] = tasks[i];
    const auto& [array_before, partition_before, start_before_s, job_before] = tasks[i - 1];
    is_later[job] =
        array == array_before && partition == partition_before && start_s - start_before_s <= gap_s;
  }
  return is_later;
}

}  // namespace

std::size_t SizeClasses::of_hours(double hours) const {
  double bound = first;
  for (std::size_t k = 0; k + 1 < count; ++k, bound *= factor)
    if (k == 0 ? hours < bound : hours <= bound) return k;
  return count - 1;
}

std::optional<std::size_t> SizeClasses::of(const JobRecord& job) const {
  constexpr double hour_s = 3600;
  const double size = by_memory ? job.memory_bytes * 1e-9 : job.cpus;
  if (by_memory && size == 0) return std::nullopt;
  if (job.limit_s == 0) return count - 1;
  return of_hours(size * static_cast<double>(job.limit_s) / hour_s);
}

std::array<std::string, SizeClasses::count> SizeClasses::names() const {
  const char* const unit = by_memory ? "GB hours" : "CPU hours";
  const double second = first * factor;
  const double third = second * factor;
  return {fmt::format("< {:g} {}", first, unit), fmt::format("{:g} - {:g} {}", first, second, unit),
          fmt::format("{:g} - {:g} {}", second, third, unit),
          fmt::format("> {:g} {}", third, unit)};
}

JobWaits waits_of(const JobListing& listing, const std::string& qos) {
  JobWaits all;
  std::map<std::string, PartitionWaits> partitions;
  const std::vector<bool> is_later = later_in_bursts(listing.jobs);
  for (std::size_t i = 0; i < listing.jobs.size(); ++i) {
    const JobRecord& job = listing.jobs[i];
    if (!qos.empty() && job.qos != qos) continue;
    ++all.records;
    const bool started = job.start_s != 0;
    const std::int64_t wait_s = (started ? job.start_s : job.until_s) - job.eligible_s;
    if (is_later[i]) {
      ++all.same_burst;
    } else if (job.eligible_s == 0 || wait_s < 0) {
      ++all.never_eligible;
    } else {
      ++(started ? all.started : all.waiting);
      partitions[job.partition].waits.push_back({job.eligible_s, wait_s, started, i});
    }
  }
  for (auto& [name, partition] : partitions) {
    partition.name = name;
    all.partitions.push_back(std::move(partition));
  }
  return all;
}

}  // namespace wallheat
