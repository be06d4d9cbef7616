#include <fmt/format.h>

#include <cmath>
#include <deque>

#include "cli/commands.hpp"
#include "cli/result_file.hpp"
#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "report/scaling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct ScalingOptions {
  std::vector<std::string> files;
  ReplayQuery replay;
  std::string times;
};

constexpr std::size_t max_workers = 1'000'000'000;

std::vector<ScalingPoint> points_of_times(const std::string& list) {
  std::vector<ScalingPoint> points;
  for (const std::string& word : split_list(list)) {
    const auto point = parse_pair<std::size_t, double>('=', word);
    if (!point || point->first < 1 || point->first > max_workers || !(point->second > 0) ||
        !std::isfinite(point->second))
      throw UsageError(fmt::format(
          "--times must be a list of SLOTS=SECONDS, both above 0, such as 1=212,2=140, not '{}'",
          word));
    points.push_back({point->first, point->second});
  }
  return points;
}

/// Opens the files, and reports on them.
Report report_of_files(const std::vector<std::string>& files) {
  std::deque<ResultReader> readers;
  for (const std::string& file : files) readers.push_back(open_result_file(file));
  return report_of_runs(files, readers);
}

Report report_of_replay(const ScalingOptions& scaling) {
  const ResultReader reader = open_result_file(scaling.replay.file);
  if (const std::size_t pending = counts_of(reader).pending;
      pending > 0 && pending < reader.count())
    print_error("wallheat: {}: ignoring {} of {} plans, which are pending",
                escape_control_chars(scaling.replay.file), pending, reader.count());
  return report_of_replay(scaling.replay, reader);
}

}  // namespace

Report scaling_command(Options& options) {
  ScalingOptions scaling;
  options.describe(
      "(FILE ... | --replay FILE | --times LIST) [options]",
      "Measures or predicts strong scaling: the speed-up of the same plans with more slots, with "
      "Amdahl's law fitted to the times. A slot solves one plan at a time: it is a "
      "core, or one of the slots of a GPU. JSON calls their number workers.\nFILE ... compares "
      "finished runs of the same plans by their wall times. If all runs "
      "had the same number of slots, it prints seconds per plan over the number of "
      "plans.\n--replay FILE predicts the time of any number of slots from the times of one run: "
      "the CPU time of each plan, its waits for files and for rank 0, and the start and the end of "
      "the run. If the run was killed, only the times of its plans are known, and each number "
      "says that it is of the plans only.\n--times analyses given times, such as those of a paper.",
      {"wallheat scaling --replay results.h5", "wallheat scaling --times 1=212,2=140,4=105,8=145"});
  options.add("file", file(scaling.files, FileRole::results_in_use).positional(),
              "result file of a finished run (also as an argument); repeat for more");
  options.add("replay", file(scaling.replay.file, FileRole::results_in_use),
              "result file whose plans are scheduled");
  options.add("times", value(scaling.times, "LIST"),
              "list of SLOTS=SECONDS, such as 1=212,2=140,3=110");
  options.add(
      "workers,w",
      number_list(scaling.replay.workers, "1,2,4,8,16,32,64,128,256,512,1024", 1, max_workers),
      "with --replay: numbers of slots");
  options.add("schedule",
              choices(scaling.replay.schedules, "NAMES", "longest-first",
                      {{"static", Schedule::static_shares},
                       {"dynamic", Schedule::dynamic},
                       {"longest-first", Schedule::longest_first}}),
              "with --replay: any of static (equal shares of the list of IDs), dynamic (the next "
              "ID to the first idle slot) and longest-first (the same, long plans first, as in "
              "'wallheat run'), separated by commas");
  options.add("slowdown", value(scaling.replay.slowdown, "FACTOR", 1).at_least(1),
              "with --replay: ratio of the time of a plan next to those of other slots to its time "
              "alone, because "
              "cores share memory, clock and power; 'wallheat compare one.h5 two.h5' prints it");
  options.add_conflict("file", {"replay", "times"});
  options.add_conflict("replay", {"times"});
  options.add_dependency("replay", {"workers", "schedule", "slowdown"});
  options.parse();
  if (!scaling.replay.file.empty()) return report_of_replay(scaling);
  if (!scaling.files.empty()) return report_of_files(scaling.files);
  if (scaling.times.empty())
    throw UsageError(
        "missing input: give result files of finished runs, --replay FILE to predict, or --times");
  return make_report(
      {scaling_to_one_worker(points_of_times(scaling.times), "add 1=SECONDS to --times")},
      "given times");
}

}  // namespace wallheat
