#include "report/scaling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "monitor/file_status.hpp"
#include "monitor/run_progress.hpp"
#include "report/row_table.hpp"
#include "report/time_breakdown.hpp"
#include "store/merge.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

/// Returns Amdahl's parallel share of the work, F = (1 - 1 / S) / (1 - 1 / p) (Amdahl 1967), if p
/// workers are S times as fast as one. A share is 0 to 1: returns 1 if S exceeds p, and 0 if S is
/// less than 1. Returns NaN for one worker.
double parallel_share(double speedup, double workers) {
  return workers > 1 ? std::clamp((1 - 1 / speedup) / (1 - 1 / workers), 0.0, 1.0) : nan_value;
}

/// Returns the speed-up that no number of workers exceeds, S(inf) = 1 / (1 - F); infinity if F
/// is 1.
double largest_speedup(double parallel_share) { return 1 / (1 - parallel_share); }

/// Returns true if workers are faster than the same number of single workers would be.
bool is_faster_than_ideal(const Scaling::Row& row) {
  constexpr double rounding = 1 + 1e-9;
  return row.speedup > rounding * static_cast<double>(row.point.workers);
}

}  // namespace

std::optional<double> one_worker_seconds(const std::vector<ScalingPoint>& points) {
  std::optional<double> min;
  for (const ScalingPoint& point : points)
    if (point.workers == 1) min = std::min(min.value_or(point.seconds), point.seconds);
  return min;
}

double Scaling::LongestPlan::min_run_s() const {
  const auto [start_s, wait_per_plan_s, end_s] = overheads.value_or(RunOverheads{});
  return start_s + seconds + wait_per_plan_s + end_s;
}

double Scaling::limit() const {
  if (longest_plan)
    return rows.front().speedup * rows.front().point.seconds / longest_plan->min_run_s();
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
  Scaling scaling{std::move(name), {}, nan_value, longest_plan, fastest->second};
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
  if (below > 0 && !longest_plan) scaling.parallel_share = std::clamp(above / below, 0.0, 1.0);
  return scaling;
}

std::optional<std::size_t> worker_count(const Attributes& session) {
  const auto count = parse_number<std::size_t>(text_in(session, "plans_at_once"));
  return count && *count > 0 ? count : std::nullopt;
}

std::optional<std::size_t> worker_count(const ResultReader& reader) {
  std::set<std::size_t> workers;
  for (const Attributes& session : reader.sessions())
    if (const auto count = worker_count(session)) workers.insert(*count);
  return workers.size() == 1 ? std::optional(*workers.begin()) : std::nullopt;
}

ScalingPoint finished_run(const std::string& file, const ResultReader& reader) {
  std::size_t pending = 0;
  SolverTime spent;
  std::set<std::string> hosts;
  std::set<std::pair<std::string, std::int32_t>> gpus;  // a rank has at most one GPU
  reader.for_each_row([&](const PlanResult& row) {
    if (row.status == PlanStatus::pending) {
      ++pending;
      return;
    }
    spent.add(row);
    hosts.insert(row.host);
    if (!row.device.starts_with("cpu")) gpus.emplace(row.host, row.rank);
  });
  if (pending > 0)
    throw RunError(
        fmt::format("{}: {} of {} plans are not solved yet; finish the run with --resume", file,
                    pending, reader.count()));
  std::set<std::size_t> workers;
  for (const Attributes& session : reader.sessions()) {
    if (merged_parts(session) || is_from_part(session))
      throw RunError(file +
                     " was merged from shard files, which may not have run at the same time; use "
                     "files of single runs");
    const auto count = worker_count(session);
    if (!count && text_in(session, "solved") == "0") continue;
    if (!session.contains("seconds") || !count)
      throw RunError(
          file +
          ": one of its sessions was killed and did not record its time; use files of runs that "
          "were not killed");
    workers.insert(*count);
  }
  const double seconds = wall_time(reader.sessions()).seconds;
  if (workers.empty() || !(seconds > 0)) throw RunError(file + " has no recorded run time");
  if (workers.size() > 1)
    throw RunError(
        fmt::format("{}: its sessions had {} and {} slots, so its time belongs to neither number",
                    file, *workers.begin(), *workers.rbegin()));
  return {*workers.begin(), seconds,     reader.count(),
          hosts.size(),     gpus.size(), spent.cores_were_shared()};
}

void require_comparable(const std::string& first_file, const ResultReader& first,
                        const std::string& file, const ResultReader& reader, bool same_plans) {
  const auto require = [&](bool is_same, const char* difference) {
    if (!is_same)
      throw RunError(fmt::format("{} and {} {}, so their times cannot be compared", first_file,
                                 file, difference));
  };
  require(first.settings() == reader.settings(),
          "were solved with different settings ('wallheat compare' lists them)");
  const auto is_same = [](const PlanResult& a, const PlanResult& b) {
    return a.id == b.id && a.input_hash == b.input_hash;
  };
  if (same_plans)
    require(std::ranges::equal(first.rows(), reader.rows(), is_same), "contain different plans");
}

namespace {

const ValueStyle two_decimals{ValueFormat::decimals, 2};

std::string limit_text(double limit) {
  return std::isinf(limit) ? "no limit" : fmt::format("{:.2f}", limit);
}

/// Adds a note that names the runs whose seconds are those of shared cores, if there are any.
void add_note_on_shared_cores(const std::vector<ScalingPoint>& points, Report& report) {
  std::vector<std::size_t> workers;
  for (const ScalingPoint& point : points)
    if (point.cores_were_shared) workers.push_back(point.workers);
  if (workers.empty()) return;
  report.add_note(fmt::format(
      "measured on shared cores: the threads of {} runs with {} slots had their cores for less "
      "than four fifths of the time, so these times are not those of an idle machine",
      workers.size() == points.size() ? "all" : "the", fmt::join(workers, ", ")));
}

/// Returns true for a replay of a run whose start and end are unknown.
bool is_of_plans_only(const std::vector<Scaling>& scalings) {
  return scalings.front().longest_plan && !scalings.front().longest_plan->overheads;
}

Table table_of_points(const std::vector<Scaling>& scalings) {
  const auto name = [&](const char* text) {
    return is_of_plans_only(scalings) ? std::string("plans only: ") + text : std::string(text);
  };
  Table table{
      "points",
      "",
      {scalings.size() > 1 ? Table::Column{"schedule", "schedule"} : json_only_column("schedule"),
       {"nodes", "nodes"},
       {"gpus", "GPUs"},
       {"workers", "slots"},
       {"seconds", name("time s"), {ValueFormat::seconds}},
       {"speedup", name("speed-up"), two_decimals},
       {"efficiency_pct", name("efficiency"), {ValueFormat::decimals, 1, "%"}},
       {"parallel_share", "F", {ValueFormat::decimals, 3}},
       {"largest_speedup", "S(inf)", two_decimals},
       json_only_column("cores_were_shared"),
       json_only_column("includes")}};
  const char* const parts = is_of_plans_only(scalings)
                                ? "plans, reading"
                                : "start, plans, reading, waits for rank 0, end";
  for (const Scaling& scaling : scalings)
    for (const auto& [point, speedup, is_slower] : scaling.rows) {
      const auto workers = static_cast<double>(point.workers);
      const double share = parallel_share(speedup, workers);
      const bool is_fitted = !scaling.longest_plan;
      table.rows.push_back({scaling.name.empty() ? Value() : Value(scaling.name),
                            point.nodes > 0 ? Value(point.nodes) : Value(), point.gpus,
                            point.workers, point.seconds, speedup, 100 * speedup / workers,
                            is_fitted ? Value(share) : Value(),
                            is_fitted ? Value(largest_speedup(share)) : Value(),
                            is_fitted ? Value(point.cores_were_shared) : Value(),
                            is_fitted ? Value() : Value(parts)});
    }
  table.hide_constant_columns({});
  return table;
}

/// Adds a note for each bound of the speed-up, and for each number of workers that is faster than
/// ideal or slower than fewer workers.
void add_remarks(const Scaling& scaling, Report& report) {
  const bool is_replay = scaling.longest_plan.has_value();
  if (is_replay)
    report.add_note(
        fmt::format("{}: no more than {:.2f} times as fast as one slot: the longest plan takes "
                    "{} s{}; {} enough",
                    scaling.name, scaling.limit(), seconds_text(scaling.longest_plan->seconds),
                    scaling.longest_plan->overheads
                        ? fmt::format(", a run of it alone {} s",
                                      seconds_text(scaling.longest_plan->min_run_s()))
                        : " without the start and the end of the run",
                    count_text(scaling.longest_plan->sufficient_workers, "slot is", "slots are")));
  std::vector<std::string> fast;
  for (const Scaling::Row& row : scaling.rows)
    if (is_faster_than_ideal(row))
      fast.push_back(fmt::format("{} ({:.2f} times as fast as one)",
                                 count_text(row.point.workers, "slot"), row.speedup));
  if (!fast.empty())
    report.add_note(fmt::format(
        "faster than ideal: {}, for which F is 1; their plans may fit better into caches, or the "
        "run of one slot was disturbed",
        fmt::join(fast, ", ")));
  for (const auto& [point, speedup, is_slower] : scaling.rows)
    if (is_slower)
      report.add_note(fmt::format(
          "{}{} slots are slower than {}: {} s, not {} s{}", is_replay ? scaling.name + ": " : "",
          point.workers, scaling.fastest.workers, seconds_text(point.seconds),
          seconds_text(scaling.fastest.seconds), is_replay ? "" : "; the fit excludes them"));
}

/// Adds the limits of the speed-up: by Amdahl's law, or for each replay by its longest plan.
void add_limits(const std::vector<Scaling>& scalings, Report& report) {
  if (!scalings.front().longest_plan) {
    const double share = scalings.front().parallel_share;
    const bool is_known = !std::isnan(share);
    report.add_fact("parallel_share", is_known ? "F" : "", share, {ValueFormat::decimals, 3},
                    ", the parallel share of the work: Amdahl's law fitted to all points");
    const double limit = scalings.front().limit();
    report.add_fact("largest_speedup", std::isfinite(limit) ? "S(inf)" : "", limit, two_decimals,
                    " = 1 / (1 - F): limit of the speed-up for any number of slots");
    if (std::isinf(limit)) report.add_text_fact("S(inf)", "no limit, as F is 1");
  } else {
    Table table{"limits",
                "",
                {json_only_column("schedule"), json_only_column("largest_speedup"),
                 json_only_column("longest_plan_s"), json_only_column("sufficient_workers")}};
    for (const Scaling& scaling : scalings)
      table.rows.push_back({scaling.name, scaling.limit(), scaling.longest_plan->seconds,
                            scaling.longest_plan->sufficient_workers});
    report.add(std::move(table));
  }
  for (const Scaling& scaling : scalings) add_remarks(scaling, report);
}

/// Returns a figure of the speed-up over the workers: the ideal, the limits, and the points.
Figure figure_of_speedups(const std::vector<Scaling>& scalings, const std::string& source) {
  Figure figure{"speedups",
                "strong scaling: " + source,
                {"slots", Figure::Scale::powers_of_2},
                {is_of_plans_only(scalings) ? "speed-up of the plans only" : "speed-up",
                 Figure::Scale::powers_of_2}};
  double max = 2;
  for (const Scaling& scaling : scalings)
    for (const Scaling::Row& row : scaling.rows)
      max = std::max({max, static_cast<double>(row.point.workers), row.speedup});
  const auto add_curve = [&](const std::string& name, bool is_dashed, const auto& speedup_of) {
    constexpr int steps = 200;
    Figure::Series curve{.name = name, .mark = Figure::Mark::line, .is_dashed = is_dashed};
    for (int i = 0; i <= steps; ++i) {
      const double workers = std::pow(max, static_cast<double>(i) / steps);
      curve.add(workers, speedup_of(workers));
    }
    figure.series.push_back(std::move(curve));
  };
  // All schedules have the same longest plan, and therefore the same limit.
  const Scaling& first = scalings.front();
  const double limit = first.limit();
  for (const Scaling& scaling : scalings) {
    Figure::Series& points = figure.series.emplace_back();
    points.name = first.longest_plan ? scaling.name + ": replayed" : "measured";
    if (is_of_plans_only(scalings)) points.name += ", plans only";
    for (const Scaling::Row& row : scaling.rows)
      points.add(static_cast<double>(row.point.workers), row.speedup);
  }
  const double share = first.parallel_share;
  if (first.longest_plan)
    add_curve(fmt::format("limit {}, by the longest plan{}", limit_text(limit),
                          first.longest_plan->overheads ? ", start and end" : ""),
              false, [&](double workers) { return std::min(workers, limit); });
  else if (!std::isnan(share))
    add_curve(fmt::format("Amdahl with F = {:.3f}, S(inf) = {}", share, limit_text(limit)), false,
              [&](double workers) { return 1 / (1 - share + share / workers); });
  add_curve("ideal", true, [](double workers) { return workers; });
  return figure;
}

}  // namespace

Report make_report(const std::vector<Scaling>& scalings, const std::string& source) {
  Report report{"strong scaling: " + source};
  report.add_json_fact("source", source);
  report.add(table_of_points(scalings));
  std::vector<ScalingPoint> points;
  for (const Scaling::Row& row : scalings.front().rows) points.push_back(row.point);
  add_note_on_shared_cores(points, report);
  add_limits(scalings, report);
  report.add(figure_of_speedups(scalings, source));
  return report;
}

Report report_of_plan_counts(const std::vector<ScalingPoint>& points) {
  const std::string title = "seconds per plan with " + count_text(points.front().workers, "slot");
  Report report{title};
  Table table{"points",
              "",
              {{"plans", "plans"},
               {"seconds", "time s", {ValueFormat::seconds}},
               {"seconds_per_plan", "s per plan", {ValueFormat::seconds}},
               {"plans_per_s", "plans/s", {ValueFormat::digits, 3}},
               json_only_column("cores_were_shared")}};
  Figure figure{
      "seconds_per_plan", title, {"plans", Figure::Scale::powers_of_2}, {"seconds per plan"}};
  figure.y.from = 0;
  Figure::Series& curve = figure.series.emplace_back();
  curve.mark = Figure::Mark::points_and_line;
  for (const ScalingPoint& point : points) {
    const auto plans = static_cast<double>(point.plans);
    table.rows.push_back({point.plans, point.seconds, point.seconds / plans, plans / point.seconds,
                          point.cores_were_shared});
    curve.add(plans, point.seconds / plans);
  }
  report.add(std::move(table));
  report.add_fact("workers", "slots", points.front().workers);
  add_note_on_shared_cores(points, report);
  report.add(std::move(figure));
  return report;
}

namespace {

/// Returns the time of a plan in a replay: its CPU time and the time for which it waited for its
/// files, without the time for which it waited for a core.
double replayed_seconds(const PlanResult& row) {
  const double on_core = single_core_seconds(row);
  const auto reading = static_cast<double>(row.phases.read_s);
  return on_core + std::clamp(row.seconds - on_core, 0.0, std::max(0.0, reading));
}

std::vector<Scaling> replay(const ReplayQuery& query, const ResultReader& reader,
                            const std::optional<RunOverheads>& overheads) {
  const auto stored_with = worker_count(reader);
  if (query.slowdown > 1 && !stored_with)
    throw RunError(query.file +
                   ": --slowdown cannot be applied, because the number of slots is not recorded, "
                   "or differs between sessions");
  std::vector<double> seconds;
  reader.for_each_row([&](const PlanResult& row) {
    if (row.status != PlanStatus::pending) seconds.push_back(replayed_seconds(row));
  });
  if (seconds.empty()) throw RunError(query.file + " contains no solved plan to replay");
  if (!(*std::ranges::max_element(seconds) > 0))
    throw RunError(query.file + " contains no times of its plans to replay");
  const auto [start_s, wait_per_plan_s, end_s] = overheads.value_or(RunOverheads{});
  std::vector<Scaling> scalings;
  for (const Schedule schedule : query.schedules) {
    const auto replay_with = [&](std::size_t workers) {
      const double factor = contention_factor(query.slowdown, stored_with.value_or(1), workers);
      std::vector<double> durations;
      for (const double plan_s : seconds) durations.push_back(plan_s * factor + wait_per_plan_s);
      return Replay(std::move(durations), schedule);
    };
    const Replay alone = replay_with(1);
    const Replay together = replay_with(2);
    const auto seconds_with = [&](std::size_t workers) {
      return start_s + (workers > 1 ? together : alone).seconds(workers) + end_s;
    };
    std::vector<ScalingPoint> points;
    for (const std::size_t workers : query.workers)
      points.push_back({workers, seconds_with(workers)});
    scalings.push_back(scaling_of(
        std::string(to_string(schedule)), points, seconds_with(1),
        {{together.longest_plan_s() - wait_per_plan_s, together.sufficient_workers(), overheads}}));
  }
  return scalings;
}

/// Adds the times outside the plans that the replay includes, or why it includes none.
void add_overheads(const std::optional<RunOverheads>& overheads, Report& report) {
  const auto fact = [&](const char* key, const char* name, double RunOverheads::*seconds,
                        const char* more) {
    report.add_fact(key, name, overheads ? Value((*overheads).*seconds) : Value(),
                    {ValueFormat::seconds, 0, "s"}, more);
  };
  fact("start_s", "start", &RunOverheads::start_s, ", until a slot is given its first plan");
  fact("wait_per_plan_s", "wait for rank 0", &RunOverheads::wait_per_plan_s, " per plan");
  fact("end_s", "end", &RunOverheads::end_s, ", after the last plan");
  report.add_note(
      overheads
          ? "The times include, as measured in the replayed run: its start, its end, and for each "
            "plan its CPU time, its waits for files and for rank 0. These waits may be longer with "
            "more slots; this is not included."
          : "The times are those of the plans only: their CPU time and their waits for files. The "
            "start, the end and the waits for rank 0 are not included, because the file does not "
            "contain them, as after a kill. With many slots or short plans a real run has a "
            "lower speed-up and efficiency.");
}

}  // namespace

Scaling scaling_to_one_worker(const std::vector<ScalingPoint>& points, const std::string& hint) {
  const auto one = one_worker_seconds(points);
  if (!one)
    throw UsageError(fmt::format(
        "speed-ups are relative to one slot, but no time of one slot is known; {}", hint));
  return scaling_of("", points, *one);
}

Report report_of_runs(const std::vector<std::string>& files,
                      const std::deque<ResultReader>& readers) {
  std::vector<ScalingPoint> points;
  for (std::size_t i = 0; i < files.size(); ++i) {
    points.push_back(finished_run(files[i], readers[i]));
    require_comparable(files.front(), readers.front(), files[i], readers[i], false);
  }
  const auto all_have = [&](auto member) {
    return std::ranges::all_of(
        points, [&](const ScalingPoint& point) { return point.*member == points.front().*member; });
  };
  if (all_have(&ScalingPoint::workers) &&
      (!all_have(&ScalingPoint::plans) || points.front().workers > 1)) {
    std::ranges::sort(points, {}, &ScalingPoint::plans);
    Report report = report_of_plan_counts(points);
    if (points.front().workers > 1)
      report.add_note(
          "speed-ups are relative to one slot; to see them, add the file of a run of all these "
          "plans with one slot ('wallheat run --threads 1 --device cpu')");
    return report;
  }
  for (std::size_t i = 1; i < files.size(); ++i)
    require_comparable(files.front(), readers.front(), files[i], readers[i], true);
  return make_report({scaling_to_one_worker(points,
                                            "add the file of a run with one slot ('wallheat "
                                            "run --threads 1 --device cpu')")},
                     "finished runs");
}

Report report_of_replay(const ReplayQuery& query, const ResultReader& reader) {
  std::string source = fmt::format("replay of {}", query.file);
  if (query.slowdown > 1)
    source +=
        fmt::format(", plans {:g} times as long next to those of other slots", query.slowdown);
  const auto breakdowns = time_breakdowns(slot_timelines(rows_of(reader)), reader.sessions());
  const auto overheads = overheads_of(breakdowns);
  Report report = make_report(replay(query, reader, overheads), source);
  add_overheads(overheads, report);
  Table& elsewhere = report.add(table_of_seconds(
      "thread_time", "time breakdown of all threads of the replayed run", sum_of(breakdowns)));
  std::erase_if(elsewhere.rows, [](const Table::Row& row) { return row.at(1) == Value(0.0); });
  if (query.slowdown == 1)
    report.add_note(
        "every plan is assumed to take as long next to those of other slots as in the stored run; "
        "use "
        "--slowdown to change this");
  return report;
}

}  // namespace wallheat
