#include "report/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "core/answer.hpp"
#include "core/interior_values.hpp"
#include "report/file_status.hpp"
#include "report/time_ledger.hpp"
#include "store/merge.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

double mean_of(const std::vector<double>& values) {
  return values.empty() ? not_known : numpy_sum(values) / static_cast<double>(values.size());
}

double std_of(std::vector<double> values) {
  const double mean = mean_of(values);
  for (double& value : values) value = (value - mean) * (value - mean);
  return std::sqrt(mean_of(values));
}

double median_of(std::vector<double> values) {
  if (values.empty()) return not_known;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Keeps one if it is among the `most` with the least keys, which are ascending.
template <class T>
void keep_least(std::vector<T>& kept, const T& one, std::size_t most, double (*key_of)(const T&)) {
  const auto after = std::ranges::upper_bound(kept, key_of(one), {}, key_of);
  if (after == kept.end() && kept.size() == most) return;
  kept.insert(after, one);
  if (kept.size() > most) kept.pop_back();
}

void add_room(RoomSummary& rooms, const RoomResult& room, const PlanResult& plan,
              const Thresholds& thresholds) {
  ++rooms.rooms;
  rooms.above += room.mean_temp > thresholds.above ? 1U : 0U;
  rooms.below += room.mean_temp < thresholds.below ? 1U : 0U;
  constexpr std::size_t most_rooms = 20;
  if (std::int64_t{room.cells} * 1000 >= plan.interior_cells)
    keep_least<std::pair<RoomResult, std::string>>(
        rooms.coldest, {room, plan.id}, most_rooms,
        [](const auto& of) { return of.first.mean_temp; });
}

/// Keeps the largest of what a session's ranks held: "0:31244288 1:27000832".
void note_rank_memory(const std::string& text, WallTime& time) {
  std::istringstream words(text);
  int rank = 0;
  char colon = 0;
  for (std::int64_t bytes = 0; words >> rank >> colon >> bytes;)
    if (bytes > time.rank_memory) {
      time.rank_memory = bytes;
      time.rank = rank;
    }
}

}  // namespace

WallTime wall_time(const std::vector<Attributes>& sessions) {
  WallTime time;
  std::vector<std::pair<double, double>> stretches;
  for (const Attributes& session : sessions) {
    if (merged_parts(session)) continue;
    ++time.all_sessions;
    if (!session.contains("seconds")) continue;
    ++time.sessions;
    time.plans += number_in(session, "solved");
    note_rank_memory(text_in(session, "rank_memory"), time);
    for (const auto& [name, part] : gpu_seconds_names)
      time.on_gpus.*part += number_in(session, name);
    if (session.contains("kernels")) time.kernels += "\n" + text_in(session, "kernels") + "\n";
    const double seconds = number_in(session, "seconds");
    if (const auto start = seconds_of_utc(text_in(session, "started_utc"))) {
      stretches.emplace_back(*start, *start + seconds);
    } else {
      time.seconds += seconds;
    }
  }
  std::sort(stretches.begin(), stretches.end());
  double covered = -std::numeric_limits<double>::infinity();
  for (const auto& [start, end] : stretches) {
    time.seconds += std::max(0.0, end - std::max(start, covered));
    covered = std::max(covered, end);
  }
  return time;
}

Summary summary_of(const Rows& rows, const Thresholds& thresholds, const ResultReader* reader) {
  Summary summary;
  summary.thresholds = thresholds;
  if (reader != nullptr && reader->has_rooms()) summary.rooms.emplace();
  PhaseSeconds in_phases{};
  double in_plans = 0;
  std::vector<double> stds;
  rows([&](const PlanResult& row) {
    ++summary.plans;
    ++summary.by_status[row.status];
    summary.spent.add(row);
    if (row.peak_memory > summary.peak_memory) {
      summary.peak_memory = row.peak_memory;
      summary.peak_memory_id = row.id;
    }
    if (row.phases.read_s != 0) {  // else its solver did not tell
      in_plans += row.seconds;
      add_phases(row.phases, in_phases);
    }
    if (row.status == PlanStatus::failed)
      summary.failed.push_back({row.id, row.attempts, row.error});
    if (summary.rooms)
      for (const RoomResult& room : reader->rooms(row.index))
        add_room(*summary.rooms, room, row, thresholds);
    if (!is_answer(row.status) || row.status == PlanStatus::empty) return;
    summary.means.push_back(row.statistics.mean_temp);
    summary.ids.push_back(row.id);
    const auto cells_of = [&](double pct) {
      return std::isfinite(pct) ? std::llround(pct / 100 * static_cast<double>(row.interior_cells))
                                : 0LL;
    };
    summary.interior_cells += row.interior_cells;
    summary.cells_above += cells_of(row.statistics.pct_above_18);
    summary.cells_below += cells_of(row.statistics.pct_below_15);
    constexpr std::size_t most_slow = 5;
    keep_least<PlanResult>(summary.slowest, row, most_slow,
                           [](const PlanResult& of) { return -of.seconds; });
    stds.push_back(row.statistics.std_temp);
    summary.half_above += row.statistics.pct_above_18 >= 50 ? 1U : 0U;
    summary.half_below += row.statistics.pct_below_15 >= 50 ? 1U : 0U;
    if (summary.solver.empty()) summary.solver = row.solver;
    const double bound = row.error_bound;
    const bool proven = !std::isnan(summary.largest_error_bound);  // all so far
    if (proven && !(bound <= summary.largest_error_bound)) summary.largest_error_bound = bound;
    if (row.error_estimate > summary.largest_error_estimate)
      summary.largest_error_estimate = row.error_estimate;
    summary.far_from_steady += is_far_from_steady(row) ? 1U : 0U;
    summary.fell_back += row.fell_back != 0 ? 1U : 0U;
    summary.cells_in_doubt += row.cells_in_doubt;
  });
  summary.mean_of_means = mean_of(summary.means);
  summary.median_of_means = median_of(summary.means);
  summary.std_of_means = std_of(summary.means);
  summary.mean_of_stds = mean_of(stds);
  for (std::size_t i = 0; in_plans != 0 && i < in_phases.size(); ++i) {
    summary.phases.emplace_back(phases_of_a_plan.at(i).name, in_phases.at(i));
    in_plans -= in_phases.at(i);
  }
  if (!summary.phases.empty()) summary.phases.emplace_back("other", std::max(in_plans, 0.0));
  return summary;
}

}  // namespace wallheat
