#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/picture_file.hpp"
#include "cli/result_file.hpp"
#include "cli/run_option_parser.hpp"
#include "core/answer.hpp"
#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "forecast/replay.hpp"
#include "io/print_error.hpp"
#include "mpi/mpi_link.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "report/scaling.hpp"
#include "run/catalogue.hpp"
#include "run/signals.hpp"
#include "run/timed_run.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Where the times are from.
enum class Source { runs, files, replay, times };

struct ScalingOptions {
  Source source = Source::runs;
  std::vector<std::string> files;
  std::filesystem::path data;
  std::filesystem::path ids;
  std::int64_t first = 0;
  std::string workers;
  std::string plan_counts;
  std::int64_t repeat = 0;
  Arguments solver;  ///< of the runs
  std::string replay;
  std::string schedules;
  double overhead_s = 0;
  double slowdown = 1;
  std::string times;
  PictureFile picture;
  bool json = false;
};

constexpr std::size_t most_workers = 1'000'000'000;

std::size_t worker_count(const std::string& option, const std::string& word) {
  const auto count = number_of<std::size_t>(word);
  if (!count || *count < 1 || *count > most_workers)
    throw UsageError(fmt::format("--{} must name numbers of workers from 1 to {}, not '{}'", option,
                                 most_workers, word));
  return *count;
}

/// 1, 2, 4, ... up to a number, and that number.
std::vector<std::size_t> powers_of_two(std::size_t most) {
  std::vector<std::size_t> counts;
  for (std::size_t count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

/// --workers, ascending, each once; powers of two up to `most` where it was not given.
std::vector<std::size_t> worker_counts(const std::string& list, std::size_t most) {
  if (list.empty()) return powers_of_two(most);
  std::vector<std::size_t> counts;
  for (const std::string& word : words_of(list)) counts.push_back(worker_count("workers", word));
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<ScalingPoint> points_of_times(const std::string& list) {
  std::vector<ScalingPoint> points;
  for (const std::string& word : words_of(list)) {
    const std::size_t sign = std::min(word.find('='), word.size());
    const auto seconds =
        number_of<double>(std::string_view(word).substr(std::min(sign + 1, word.size())));
    if (sign == word.size() || !seconds || !std::isfinite(*seconds) || *seconds <= 0)
      throw UsageError(fmt::format(
          "--times takes WORKERS=SECONDS, as 1=212,2=140, with seconds above 0, not '{}'", word));
    points.push_back({worker_count("times", word.substr(0, sign)), *seconds});
  }
  return points;
}

std::vector<Schedule> schedules_of(const std::string& list) {
  std::vector<std::pair<std::string, Schedule>> known;
  for (const Schedule schedule :
       {Schedule::static_shares, Schedule::dynamic, Schedule::longest_first})
    known.emplace_back(to_string(schedule), schedule);
  std::vector<Schedule> schedules;
  for (const std::string& word : words_of(list)) {
    const Schedule schedule = choose("schedule", word, known);
    if (std::find(schedules.begin(), schedules.end(), schedule) == schedules.end())
      schedules.push_back(schedule);
  }
  return schedules;
}

/// Speed-ups are against one worker.
Scaling against_one_worker(const std::vector<ScalingPoint>& points, const std::string& remedy) {
  const auto one = one_worker_seconds(points);
  if (!one)
    throw UsageError(
        fmt::format("speed-ups are against one worker, and no time is that of one; {}", remedy));
  return scaling_of("", points, *one);
}

/// Exactly one of the sources, and no option of another one.
Source source_of(const Options& options) {
  struct Named {
    Source source;
    const char* option;
    const char* text;
  };
  constexpr Named named[] = {{Source::runs, "data", "--data PLANS"},
                             {Source::files, "file", "result files"},
                             {Source::replay, "replay", "--replay FILE"},
                             {Source::times, "times", "--times"}};
  const Named* chosen = nullptr;
  for (const Named& each : named) {
    if (!options.was_given(each.option)) continue;
    if (chosen != nullptr)
      throw UsageError(fmt::format("{} and {} exclude each other", chosen->text, each.text));
    chosen = &each;
  }
  if (chosen == nullptr)
    throw UsageError(
        "give --data PLANS to measure runs, result files of finished ones, --replay FILE to "
        "predict, or --times");
  const auto only_with = [&](const char* option, std::initializer_list<Source> sources,
                             const char* which) {
    if (options.was_given(option) &&
        std::find(sources.begin(), sources.end(), chosen->source) == sources.end())
      throw UsageError(
          fmt::format("--{} has no meaning for {}; it is for {}", option, chosen->text, which));
  };
  only_with("workers", {Source::runs, Source::replay}, "--data and --replay");
  for (const char* option : {"plans", "ids", "first", "repeat", "solver", "tolerance", "norm",
                             "spacing", "accuracy", "max-iterations", "solver-backend", "isa"})
    only_with(option, {Source::runs}, "--data");
  for (const char* option : {"schedule", "overhead", "slowdown"})
    only_with(option, {Source::replay}, "--replay");
  return chosen->source;
}

/// What all measured runs are given.
Arguments run_arguments(const ScalingOptions& options) {
  Arguments arguments = options.solver;
  arguments.push_back("--data=" + options.data.string());
  if (!options.ids.empty()) arguments.push_back("--ids=" + options.ids.string());
  return arguments;
}

void require_no_mpi() {
  if (launched_by_mpi())
    throw RunError(
        "'wallheat scaling --data' starts its own runs, so start it without mpirun; for runs under "
        "mpirun name their result files");
}

/// The numbers of plans that --plans names, ascending, each once, none above all that there are.
std::vector<std::size_t> plan_counts(const ScalingOptions& options) {
  const std::size_t all =
      requested_plans(*open_plan_source(options.data), {}, options.ids, 0).ids.size();
  std::vector<std::size_t> counts;
  for (const std::string& word : words_of(options.plan_counts)) {
    const auto count = number_of<std::size_t>(word);
    if (!count || *count < 1)
      throw UsageError(
          fmt::format("--plans must name numbers of plans from 1 on, as 10,32,64, not '{}'", word));
    if (*count <= all) {
      counts.push_back(*count);
    } else {
      print_error("wallheat: {} has {} plan(s), so --plans leaves out {}",
                  printable(options.data.string()), all, *count);
    }
  }
  if (counts.empty())
    throw UsageError(fmt::format("--plans names no number up to {}, which are there", all));
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// The best of several runs for each number of plans, with one number of workers.
std::vector<PlanCountPoint> measure_plan_counts(const ScalingOptions& options,
                                                std::size_t workers) {
  require_no_mpi();
  const auto counts = plan_counts(options);
  catch_stop_signals();
  std::vector<PlanCountPoint> points;
  for (const std::size_t count : counts)
    points.push_back({count, std::numeric_limits<double>::infinity()});
  for (std::int64_t run = 1; run <= options.repeat; ++run) {
    for (PlanCountPoint& point : points) {
      Arguments arguments = run_arguments(options);
      arguments.push_back(fmt::format("--first={}", point.plans));
      const double seconds = timed_run(arguments, workers).seconds;
      point.seconds = std::min(point.seconds, seconds);
      print_error("run {} of {} of {} plan(s): {:.3f} s", run, options.repeat, point.plans,
                  seconds);
    }
  }
  return points;
}

/// The best of several runs for each number of workers. In turns, so that what disturbs the machine
/// for a while does not meet one number only.
Scaling measure(const ScalingOptions& options) {
  require_no_mpi();
  const std::size_t cores = local_machine().cores.size();
  const auto counts = worker_counts(options.workers, cores);
  if (counts.front() != 1)
    throw UsageError("speed-ups are against one worker, so add 1 to --workers");
  if (counts.back() > cores)
    throw RunError(
        fmt::format("--workers {}: this machine has {} core(s) for this process; for more, "
                    "name result files of runs elsewhere, or predict with --replay",
                    counts.back(), cores));
  // Here, so that a mistake is told once and not by each run.
  (void)requested_plans(*open_plan_source(options.data), {}, options.ids,
                        static_cast<std::size_t>(options.first));
  Arguments arguments = run_arguments(options);
  arguments.push_back(fmt::format("--first={}", options.first));
  catch_stop_signals();
  std::vector<ScalingPoint> points;
  for (std::int64_t run = 1; run <= options.repeat; ++run) {
    for (const std::size_t workers : counts) {
      points.push_back(timed_run(arguments, workers));
      print_error("run {} of {} with {} worker(s): {:.3f} s", run, options.repeat, workers,
                  points.back().seconds);
    }
  }
  return against_one_worker(points, "");
}

Scaling of_files(const std::vector<std::string>& files) {
  std::vector<ScalingPoint> points;
  const ResultReader first = open_result_file(files.front());
  points.push_back(finished_run(files.front(), first));
  for (std::size_t i = 1; i < files.size(); ++i) {
    const ResultReader reader = open_result_file(files[i]);
    require_same_plans(files.front(), first, files[i], reader);
    points.push_back(finished_run(files[i], reader));
  }
  return against_one_worker(
      points, "add the file of a run with one worker ('wallheat run --threads 1 --device cpu')");
}

std::vector<Scaling> replay(const ScalingOptions& options) {
  const auto schedules = schedules_of(options.schedules);
  constexpr std::size_t most = 1024;
  const auto counts = worker_counts(options.workers, most);
  if (!std::isfinite(options.overhead_s) || options.overhead_s < 0)
    throw UsageError("--overhead must be a number of at least 0 (seconds)");
  if (!std::isfinite(options.slowdown) || options.slowdown < 1)
    throw UsageError("--slowdown must be a number of at least 1");
  const ResultReader reader = open_result_file(options.replay);
  const auto stored_with = workers_of(reader);
  if (options.slowdown > 1 && !stored_with)
    throw RunError(options.replay +
                   " does not say how many workers its seconds are from, or they are from several "
                   "numbers, so --slowdown cannot be applied");
  std::vector<double> seconds;
  for (const PlanResult& row : reader.rows())
    if (row.status != PlanStatus::pending) seconds.push_back(seconds_on_own_core(row));
  if (seconds.empty()) throw RunError(options.replay + " has no solved plan to replay");
  if (const std::size_t left = reader.rows().size() - seconds.size(); left > 0)
    print_error("wallheat: {}: {} of {} plans are not solved yet and left out",
                printable(options.replay), left, reader.rows().size());
  std::vector<Scaling> scalings;
  for (const Schedule schedule : schedules) {
    const Replay plans(seconds, schedule, options.overhead_s);
    const auto seconds_with = [&](std::size_t workers) {
      return plans.seconds(workers) *
             slowdown_beside_others(options.slowdown, stored_with.value_or(1), workers);
    };
    const double one_worker_s = seconds_with(1);
    if (!(one_worker_s > 0))
      throw RunError(options.replay + " has no seconds of its plans to replay");
    std::vector<ScalingPoint> points;
    points.reserve(counts.size());
    for (const std::size_t workers : counts) points.push_back({workers, seconds_with(workers)});
    const double longest_plan_s =
        plans.longest_plan_s() *
        slowdown_beside_others(options.slowdown, stored_with.value_or(1), 2);
    scalings.push_back(scaling_of(std::string(to_string(schedule)), points, one_worker_s,
                                  {{longest_plan_s, plans.sufficient_workers()}}));
  }
  return scalings;
}

/// Throws UsageError.
void parse_scaling_options(Options& options, ScalingOptions& scaling) {
  options.describe(
      "(--data PLANS | FILE ... | --replay FILE | --times LIST) [options]",
      "Strong scaling: what more workers bring for the same plans, with Amdahl's law fitted to "
      "what was measured. A worker is a thread that solves one plan at a time, or a GPU.\n"
      "--data PLANS runs the plans for each number of workers, on the cores of this machine, each "
      "time as a 'wallheat run' of its own whose results are thrown away; the time is the run's "
      "own, with reading and storing.\n"
      "FILE ... compares finished runs of the same plans, by the wall time and workers of their "
      "sessions.\n"
      "--replay FILE schedules the stored seconds of the plans for any number of workers without "
      "solving, so that one run predicts all; what limits that is the longest plan.\n"
      "--times analyses figures, as those of a paper.",
      {"wallheat scaling --replay results.h5", "wallheat scaling --times 1=212,2=140,4=105,8=145"});
  options.add("file", file(scaling.files, FileRole::result),
              "a result file of a finished run (also as an argument); any number");
  options.add("data,d", file(scaling.data, FileRole::plans, "PLANS"),
              "directory or zip archive of plans to solve");
  options.add("replay", file(scaling.replay, FileRole::result),
              "the result file whose plans are scheduled");
  options.add("times", value(scaling.times, "LIST"), "workers=seconds, as 1=212,2=140,3=110");
  options.add("workers,w", value(scaling.workers, "LIST"),
              "with --data and --replay: numbers of workers, as 1,2,4; default: 1, 2, 4, ... to "
              "this machine's cores, with --replay to 1024");
  options.add("repeat", value(scaling.repeat, "N", 3),
              "with --data: runs for each number of workers, of which the fastest counts");
  options.add("ids", file(scaling.ids, FileRole::read), "with --data: file with one id a line");
  options.add("plans", value(scaling.plan_counts, "LIST"),
              "with --data: in place of more workers, more plans: the first 10,32,64 of them, with "
              "the most workers; what a plan takes of each number");
  options.add("first,n", value(scaling.first, "N", 0), "with --data: only the first N ids; 0: all");
  SolverOptionParser solver;
  solver.declare(options);
  options.add(
      "schedule", value(scaling.schedules, "NAMES", "longest-first"),
      "with --replay: any of static (contiguous shares of the ids, equal in number), dynamic (the "
      "next id to the first free worker) and longest-first (the same, long plans first, as "
      "'wallheat run' does), separated by commas");
  options.add("overhead", value(scaling.overhead_s, "SECONDS", 0),
              "with --replay: what each plan costs its worker beside its stored seconds");
  options.add("slowdown", value(scaling.slowdown, "FACTOR", 1),
              "with --replay: how many times as long a plan takes where several workers work as "
              "where one works alone, as cores share memory, clock and power; 'wallheat compare "
              "one.h5 two.h5' tells it by the CPU s a plan");
  scaling.picture.declare(options, "plot",
                          "draw the speed-ups, what limits them and the ideal line as PNG, SVG or "
                          "PDF, by the file's ending");
  options.add("json", flag(scaling.json), "print one JSON object");
  options.words("schedule", {"static", "dynamic", "longest-first"});
  options.positional("file", -1);
  options.parse();

  scaling.source = source_of(options);
  if (options.was_given("plans") && options.was_given("first"))
    throw UsageError("--plans and --first exclude each other");
  if (scaling.repeat < 1) throw UsageError("--repeat must be at least 1");
  if (scaling.first < 0) throw UsageError("--first must be at least 0");
  (void)solver.finish({});
  scaling.solver = solver.arguments();
}

/// What the scalings are of, for people, and they themselves.
std::pair<std::string, std::vector<Scaling>> scalings_of(const ScalingOptions& scaling) {
  switch (scaling.source) {
    case Source::runs:
      return {fmt::format("runs of {}", scaling.data.string()), {measure(scaling)}};
    case Source::files:
      return {"finished runs", {of_files(scaling.files)}};
    case Source::replay: {
      std::string text = fmt::format("replay of {}", scaling.replay);
      if (scaling.slowdown > 1)
        text += fmt::format(", plans {:g} times as long beside others", scaling.slowdown);
      return {text, replay(scaling)};
    }
    case Source::times:
      break;
  }
  return {"given times",
          {against_one_worker(points_of_times(scaling.times), "add 1=SECONDS to --times")}};
}

int plan_counts_command(const ScalingOptions& scaling) {
  const std::size_t workers = worker_counts(scaling.workers, local_machine().cores.size()).back();
  const auto points = measure_plan_counts(scaling, workers);
  scaling.picture.write([&] {
    return plan_count_plot(points, fmt::format("{}, {} worker(s)", scaling.data.string(), workers));
  });
  if (scaling.json) {
    fmt::print("{}", to_json_text(points, workers));
    return exit_done;
  }
  print_plan_counts(points);
  if (scaling.picture.wanted()) fmt::print("picture  {}\n", scaling.picture.path().string());
  return exit_done;
}

}  // namespace

int scaling_command(Options& options) {
  ScalingOptions scaling;
  parse_scaling_options(options, scaling);
  if (!scaling.plan_counts.empty()) return plan_counts_command(scaling);
  const auto [text, scalings] = scalings_of(scaling);
  scaling.picture.write([&, &text = text, &scalings = scalings] {
    return scaling_plot(scalings, "strong scaling: " + text);
  });
  if (scaling.json) {
    fmt::print("{}", to_json_text(scalings, text));
  } else {
    print_scalings(scalings);
    if (scaling.source == Source::replay && scaling.slowdown == 1)
      print_line(
          "every plan is taken to last as long beside other workers as it did in the stored run; "
          "--slowdown changes that",
          2);
    if (scaling.picture.wanted()) fmt::print("picture  {}\n", scaling.picture.path().string());
  }
  return exit_done;
}

}  // namespace wallheat
