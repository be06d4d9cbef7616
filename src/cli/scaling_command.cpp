#include <fmt/format.h>

#include <cmath>
#include <deque>

#include "cli/commands.hpp"
#include "cli/result_file.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "forecast/replay.hpp"
#include "io/standard_streams.hpp"
#include "report/compare.hpp"
#include "report/scaling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct ScalingOptions {
  std::vector<std::string> files;
  std::string replay;
  std::string times;
  std::vector<std::size_t> workers;
  std::vector<Schedule> schedules;
  double slowdown = 1;
};

constexpr std::size_t max_workers = 1'000'000'000;

std::vector<ScalingPoint> points_of_times(const std::string& list) {
  std::vector<ScalingPoint> points;
  for (const std::string& word : split_list(list)) {
    const auto point = parse_pair<std::size_t, double>('=', word);
    if (!point || point->first < 1 || point->first > max_workers || !(point->second > 0) ||
        !std::isfinite(point->second))
      throw UsageError(fmt::format(
          "--times must be a list of WORKERS=SECONDS, both above 0, such as 1=212,2=140, not '{}'",
          word));
    points.push_back({point->first, point->second});
  }
  return points;
}

/// Returns the speed-ups relative to one worker.
Scaling against_one_worker(const std::vector<ScalingPoint>& points, const std::string& hint) {
  const auto one = one_worker_seconds(points);
  if (!one)
    throw UsageError(fmt::format(
        "speed-ups are relative to one worker, but there is no time of one worker; {}", hint));
  return scaling_of("", points, *one);
}

Report report_of_files(const std::vector<std::string>& files) {
  std::deque<ResultReader> readers;
  std::vector<ScalingPoint> points;
  for (const std::string& file : files) {
    readers.push_back(open_result_file(file));
    points.push_back(finished_run(file, readers.back()));
    require_comparable(files.front(), readers.front(), file, readers.back(), false);
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
      report.add(
          Note{"speed-ups are relative to one worker; to see them, add the file of a run of all "
               "these plans with one worker ('wallheat run --threads 1 --device cpu')"});
    return report;
  }
  for (std::size_t i = 1; i < files.size(); ++i)
    require_comparable(files.front(), readers.front(), files[i], readers[i], true);
  return make_report({against_one_worker(points,
                                         "add the file of a run with one worker ('wallheat "
                                         "run --threads 1 --device cpu')")},
                     "finished runs");
}

std::vector<Scaling> replay(const ScalingOptions& options, const ResultReader& reader) {
  const auto stored_with = worker_count(reader);
  if (options.slowdown > 1 && !stored_with)
    throw RunError(options.replay +
                   ": --slowdown cannot be applied, because the number of workers is not recorded, "
                   "or differs between sessions");
  std::vector<double> seconds;
  reader.for_each_row([&](const PlanResult& row) {
    if (row.status != PlanStatus::pending) seconds.push_back(single_core_seconds(row));
  });
  if (seconds.empty()) throw RunError(options.replay + " contains no solved plan to replay");
  if (const std::size_t left = reader.count() - seconds.size(); left > 0)
    print_error("wallheat: {}: ignoring {} of {} plans, which are pending",
                escape_control_chars(options.replay), left, reader.count());
  std::vector<Scaling> scalings;
  for (const Schedule schedule : options.schedules) {
    const Replay plans(seconds, schedule);
    const auto slowdown_with = [&](std::size_t workers) {
      return contention_factor(options.slowdown, stored_with.value_or(1), workers);
    };
    const double one_worker_s = plans.seconds(1) * slowdown_with(1);
    if (!(one_worker_s > 0))
      throw RunError(options.replay + " contains no times of its plans to replay");
    std::vector<ScalingPoint> points;
    for (const std::size_t workers : options.workers)
      points.push_back({workers, plans.seconds(workers) * slowdown_with(workers)});
    scalings.push_back(
        scaling_of(std::string(to_string(schedule)), points, one_worker_s,
                   {{plans.longest_plan_s() * slowdown_with(2), plans.sufficient_workers()}}));
  }
  return scalings;
}

Report report_of_replay(const ScalingOptions& options) {
  std::string source = fmt::format("replay of {}", options.replay);
  if (options.slowdown > 1)
    source += fmt::format(", plans {:g} times as long next to other workers", options.slowdown);
  const ResultReader reader = open_result_file(options.replay);
  Report report = make_report(replay(options, reader), source);
  report.add_json_fact("replayed", "solving");
  Table& elsewhere = report.add(
      table_of_seconds("thread_time", "time breakdown of all threads of the replayed run",
                       thread_seconds_of(reader)));
  std::erase_if(elsewhere.rows, [](const Table::Row& row) { return row.at(1) == Value(0.0); });
  report.add(Note{
      "The times are those of the plans only (their CPU time, if it is known). A real run also "
      "starts, waits for files and for rank 0, and ends. These times are not included here, so "
      "with many workers or short plans a real run has a lower speed-up and efficiency."});
  if (options.slowdown == 1)
    report.add(
        Note{"every plan is assumed to take as long next to other workers as in the stored run; "
             "use --slowdown to change this"});
  return report;
}

}  // namespace

Report scaling_command(Options& options) {
  ScalingOptions scaling;
  options.describe(
      "(FILE ... | --replay FILE | --times LIST) [options]",
      "Measures or predicts strong scaling: the speed-up of the same plans with more workers, with "
      "Amdahl's law fitted to the times. A worker is a thread that solves one plan at a time, or a "
      "GPU.\nFILE ... compares finished runs of the same plans by their wall times. If all runs "
      "had the same number of workers, it prints seconds per plan over the number of "
      "plans.\n--replay FILE predicts the time of any number of workers from the seconds that each "
      "plan took in one run, without the start and end of a run, waiting for files, and rank "
      "0.\n--times analyses given times, such as those of a paper.",
      {"wallheat scaling --replay results.h5", "wallheat scaling --times 1=212,2=140,4=105,8=145"});
  options.add("file", file(scaling.files, FileRole::results_in_use).positional(),
              "result file of a finished run (also as an argument); repeat for more");
  options.add("replay", file(scaling.replay, FileRole::results_in_use),
              "result file whose plans are scheduled");
  options.add("times", value(scaling.times, "LIST"),
              "list of WORKERS=SECONDS, such as 1=212,2=140,3=110");
  options.add("workers,w",
              number_list(scaling.workers, "1,2,4,8,16,32,64,128,256,512,1024", 1, max_workers),
              "with --replay: numbers of workers");
  options.add("schedule",
              choices(scaling.schedules, "NAMES", "longest-first",
                      {{"static", Schedule::static_shares},
                       {"dynamic", Schedule::dynamic},
                       {"longest-first", Schedule::longest_first}}),
              "with --replay: any of static (equal shares of the list of IDs), dynamic (the next "
              "ID to the first idle worker) and longest-first (the same, long plans first, as in "
              "'wallheat run'), separated by commas");
  options.add(
      "slowdown", value(scaling.slowdown, "FACTOR", 1).at_least(1),
      "with --replay: ratio of the time of a plan next to other workers to its time alone, because "
      "cores share memory, clock and power; 'wallheat compare one.h5 two.h5' prints it");
  options.add_conflict("file", {"replay", "times"});
  options.add_conflict("replay", {"times"});
  options.add_dependency("replay", {"workers", "schedule", "slowdown"});
  options.parse();
  if (!scaling.replay.empty()) return report_of_replay(scaling);
  if (!scaling.files.empty()) return report_of_files(scaling.files);
  if (scaling.times.empty())
    throw UsageError(
        "missing input: give result files of finished runs, --replay FILE to predict, or --times");
  return make_report(
      {against_one_worker(points_of_times(scaling.times), "add 1=SECONDS to --times")},
      "given times");
}

}  // namespace wallheat
