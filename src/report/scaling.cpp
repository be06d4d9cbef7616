#include "report/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/number_of.hpp"
#include "core/plural.hpp"
#include "report/attributes.hpp"
#include "report/summary.hpp"
#include "store/merge.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
double parallel_share(double speedup, double workers) {
  return workers > 1 ? (1 - 1 / speedup) / (1 - 1 / workers) : not_known;
}

double largest_speedup(double parallel_share) {
  return parallel_share >= 1 ? std::numeric_limits<double>::infinity() : 1 / (1 - parallel_share);
}

std::optional<double> one_worker_seconds(const std::vector<ScalingPoint>& points) {
  std::optional<double> least;
  for (const ScalingPoint& point : points)
    if (point.workers == 1) least = std::min(least.value_or(point.seconds), point.seconds);
  return least;
}

double Scaling::limit() const {
  if (longest_plan)
    return rows.front().speedup * rows.front().point.seconds / longest_plan->seconds;
  return largest_speedup(parallel_share);
}

Scaling scaling_of(std::string name, const std::vector<ScalingPoint>& points, double one_worker_s,
                   const std::optional<Scaling::LongestPlan>& longest_plan) {
  std::map<std::size_t, ScalingPoint> best;
  for (const ScalingPoint& point : points) {
    const auto [entry, is_new] = best.emplace(point.workers, point);
    if (!is_new && point.seconds < entry->second.seconds) entry->second = point;
  }
  const auto fastest = std::ranges::min_element(
      best, {}, [](const auto& of_workers) { return of_workers.second.seconds; });
  constexpr double more_than_noise = 1.05;
  Scaling scaling{std::move(name), {}, not_known, longest_plan, fastest->second};
  double above = 0;
  double below = 0;
  for (const auto& [workers, point] : best) {
    const auto count = static_cast<double>(workers);
    const double speedup = one_worker_s / point.seconds;
    const bool is_slower =
        workers > fastest->first && point.seconds > more_than_noise * fastest->second.seconds;
    scaling.rows.push_back({point, speedup, is_slower});
    if (is_slower) continue;
    // 1 - 1 / S = F (1 - 1 / p), a line through the origin.
    above += (1 - 1 / speedup) * (1 - 1 / count);
    below += (1 - 1 / count) * (1 - 1 / count);
  }
  if (below > 0 && !longest_plan) scaling.parallel_share = above / below;
  return scaling;
}

std::vector<std::string> remarks_on(const Scaling& scaling) {
  std::vector<std::string> remarks;
  if (scaling.longest_plan) {
    const auto& [seconds, workers] = *scaling.longest_plan;
    remarks.push_back(
        fmt::format("{}: no more than {:.2f} times as fast as one worker: the longest plan takes "
                    "{} s; {} enough",
                    scaling.name, scaling.limit(), seconds_text(seconds),
                    counted(workers, "worker is", "workers are")));
  }
  const bool is_replay = scaling.longest_plan.has_value();
  for (const auto& [point, speedup, is_slower] : scaling.rows)
    if (is_slower)
      remarks.push_back(fmt::format(
          "{}{} workers are slower than {}: {} s, not {} s{}", is_replay ? scaling.name + ": " : "",
          point.workers, scaling.fastest.workers, seconds_text(point.seconds),
          seconds_text(scaling.fastest.seconds), is_replay ? "" : "; the fit leaves them out"));
  return remarks;
}

std::optional<std::size_t> workers_of(const Attributes& session) {
  const auto count = number_of<std::size_t>(text_in(session, "plans_at_once"));
  return count && *count > 0 ? count : std::nullopt;
}

std::optional<std::size_t> workers_of(const ResultReader& reader) {
  std::set<std::size_t> workers;
  for (const Attributes& session : reader.sessions())
    if (const auto count = workers_of(session)) workers.insert(*count);
  return workers.size() == 1 ? std::optional(*workers.begin()) : std::nullopt;
}

ScalingPoint finished_run(const std::string& file, const ResultReader& reader) {
  std::size_t pending = 0;
  std::set<std::string> hosts;
  std::set<std::pair<std::string, std::int32_t>> gpus;  // a rank has one at most
  reader.for_each_row([&](const PlanResult& row) {
    if (row.status == PlanStatus::pending) {
      ++pending;
      return;
    }
    hosts.insert(row.host);
    if (!row.device.starts_with("cpu")) gpus.emplace(row.host, row.rank);
  });
  if (pending > 0)
    throw RunError(fmt::format("{}: {} of {} plans are not solved yet; finish it with --resume",
                               file, pending, reader.count()));
  std::set<std::size_t> workers;
  for (const Attributes& session : reader.sessions()) {
    if (merged_parts(session) || is_from_part(session))
      throw RunError(file +
                     " was merged from parts, which may have run at the same time or not; name "
                     "files of single runs");
    const auto count = workers_of(session);
    if (!count && text_in(session, "solved") == "0") continue;
    if (!session.contains("seconds") || !count)
      throw RunError(file +
                     ": one of its sessions was killed and left no time; name files of runs that "
                     "ended by themselves");
    workers.insert(*count);
  }
  const double seconds = wall_time(reader.sessions()).seconds;
  if (workers.empty() || !(seconds > 0)) throw RunError(file + " does not say how long it took");
  if (workers.size() > 1)
    throw RunError(fmt::format("{}: its sessions had {} and {} workers, so its time is of neither",
                               file, *workers.begin(), *workers.rbegin()));
  return {*workers.begin(), seconds, reader.count(), hosts.size(), gpus.size()};
}

void require_same(const std::string& first_file, const ResultReader& first, const std::string& file,
                  const ResultReader& reader, bool same_plans) {
  const auto require = [&](bool is_same, const char* difference) {
    if (!is_same)
      throw RunError(fmt::format("{} and {} {}, so their times cannot be compared", first_file,
                                 file, difference));
  };
  require(first.settings() == reader.settings(),
          "were solved with other settings ('wallheat compare' names them)");
  const auto is_same = [](const PlanResult& a, const PlanResult& b) {
    return a.id == b.id && a.input_hash == b.input_hash;
  };
  if (same_plans)
    require(std::ranges::equal(first.rows(), reader.rows(), is_same), "hold other plans");
}

}  // namespace wallheat
