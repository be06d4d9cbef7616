#include "forecast/job_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace wallheat {
namespace {

/// The tasks of an array that do not begin a burst of starts, ascending.
std::vector<std::size_t> later_in_bursts(const std::vector<JobRecord>& jobs) {
  constexpr std::int64_t gap_s = 60;
  using Task = std::tuple<std::uint64_t, std::uint32_t, std::int64_t, std::size_t>;
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].array != 0 && jobs[i].start_s != 0)
      tasks.emplace_back(jobs[i].array, jobs[i].partition, jobs[i].start_s, i);
  std::sort(tasks.begin(), tasks.end());
  std::vector<std::size_t> later;
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    const auto& [array, partition, start_s, place] = tasks[i];
    const auto& [array_before, partition_before, start_before_s, place_before] = tasks[i - 1];
    if (array == array_before && partition == partition_before && start_s - start_before_s <= gap_s)
      later.push_back(place);
  }
  std::sort(later.begin(), later.end());
  return later;
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
  std::vector<PartitionWaits*> by_place(listing.names.size(), nullptr);
  const auto later = later_in_bursts(listing.jobs);
  auto next_later = later.begin();
  for (std::size_t i = 0; i < listing.jobs.size(); ++i) {
    const JobRecord& job = listing.jobs[i];
    const bool counted_already = next_later != later.end() && *next_later == i;
    if (counted_already) ++next_later;
    if (!qos.empty() && listing.names.at(job.qos) != qos) continue;
    ++all.records;
    if (counted_already) {
      ++all.same_burst;
      continue;
    }
    const bool started = job.start_s != 0;
    const std::int64_t wait_s = (started ? job.start_s : job.until_s) - job.eligible_s;
    if (job.eligible_s == 0 || wait_s < 0) {
      ++all.never_eligible;
      continue;
    }
    ++(started ? all.started : all.waiting);
    PartitionWaits*& partition = by_place[job.partition];
    if (partition == nullptr) partition = &partitions[listing.names.at(job.partition)];
    partition->waits.push_back({job.eligible_s, wait_s, started, i});
  }
  for (auto& [name, partition] : partitions) {
    partition.name = name;
    all.partitions.push_back(std::move(partition));
  }
  return all;
}

}  // namespace wallheat
