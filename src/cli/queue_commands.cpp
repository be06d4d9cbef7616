#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "core/text.hpp"
#include "forecast/job_listing.hpp"
#include "io/files.hpp"
#include "report/queue_report.hpp"
#include "run/batch_job.hpp"
#include "run/run_options.hpp"
#include "run/work_estimator.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// There is no scheduler here whose accounting can be read.
struct NoAccounting : RunError {
  using RunError::RunError;
};

/// Source of the history of a scheduler queue: the options that commands for wait forecasts share.
class QueueSource {
 public:
  /// Declares the options. This object must live as long as the Options.
  void declare(Options& options);
  /// Reads the listings that are given, or calls the commands of the scheduler. Throws
  /// NoAccounting, and RunError for an invalid listing.
  [[nodiscard]] JobListing read();
  /// Returns true if read() found no jobs of other users.
  [[nodiscard]] bool own_jobs() const { return own_; }

 private:
  [[nodiscard]] JobListing ask_scheduler();

  std::vector<std::string> sacct_;  ///< file names
  std::vector<std::string> lsf_;
  int days_ = 0;
  bool own_ = false;
};

using Words = std::vector<std::string>;

/// Returns the output of a scheduler's command; nullopt if it is not installed. A busy scheduler
/// may take a minute to list the jobs of a month.
std::optional<std::string> listing_of(const Words& words) {
  SchedulerOutput output = run_scheduler_command(words, std::chrono::minutes(2));
  if (!output.is_installed) return std::nullopt;
  if (!output.failure.empty())
    throw NoAccounting(
        fmt::format("{}; save its output in a file and specify it with --sacct or --lsf",
                    escape_control_chars(output.failure)));
  return std::move(output.text);
}

std::ptrdiff_t lines_in(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

void QueueSource::declare(Options& options) {
  options.add(
      "sacct", file(sacct_, FileRole::input),
      fmt::format(
          "read the output of 'SLURM_TIME_FORMAT=%s sacct -X -D -n -P --allusers -S now-30days -o "
          "{}' (-: stdin); repeat for more listings, which may overlap (default: run sacct)",
          sacct_fields));
  options.add("lsf", file(lsf_, FileRole::input),
              fmt::format("read the output of LSF's 'LSB_DISPLAY_YEAR=Y bjobs -a -u all -o "
                          "\"{}\"', or outputs of your jobs that end with LSF's reports, such as "
                          "of 'cat *.out' (-: stdin); repeat for more files",
                          bjobs_fields));
  options.add("own", flag(own_), "the listing contains only your own jobs");
  options.add("days", value(days_, "N", 30).at_least(1),
              "request the jobs of the last N days from sacct");
  options.add_conflict("sacct", {"lsf"});
}

JobListing QueueSource::read() {
  if (sacct_.empty() && lsf_.empty()) return ask_scheduler();
  const auto name = [](const std::string& file) { return file == "-" ? "stdin" : file; };
  JobListing all;
  for (const std::string& file : sacct_) all.add(parse_sacct(name(file), read_text_file(file)));
  bool only_reports = !lsf_.empty();
  for (const std::string& file : lsf_) {
    const std::string text = read_text_file(file);
    const bool is_output = has_lsf_report(text);
    all.add(is_output ? parse_lsf_reports(name(file), text) : parse_bjobs(name(file), text));
    only_reports = only_reports && is_output;
  }
  own_ = own_ || only_reports;  // users read the outputs of only those jobs that they submitted
  all.deduplicate();
  return all;
}

JobListing QueueSource::ask_scheduler() {
  const std::string since = fmt::format("now-{}days", days_);
  const auto slurm =
      listing_of({"sacct", "-X", "-D", "-n", "-P", "--allusers", "-S", since, "-o", sacct_fields});
  // If jobs of other users are hidden, the listing of all jobs contains no more than the user's own
  // jobs. Root sees all jobs.
  if (slurm) {
    const auto own =
        ::getuid() == 0
            ? std::nullopt
            : listing_of({"sacct", "-X", "-D", "-n", "-P", "-S", since, "-o", "JobIDRaw"});
    own_ = own_ || (own && lines_in(*own) >= lines_in(*slurm));
    return parse_sacct("sacct", *slurm);
  }
  const auto lsf = listing_of({"bjobs", "-a", "-u", "all", "-o", bjobs_fields});
  if (lsf) {
    const auto own = listing_of({"bjobs", "-a", "-o", "jobid"});
    own_ = own_ || (own && lines_in(*own) >= lines_in(*lsf));
    return parse_bjobs("bjobs", *lsf);
  }
  throw NoAccounting(
      "neither sacct nor bjobs found; save the output of one of them on the cluster and specify it "
      "with --sacct or --lsf");
}

Report queue_command(Options& options) {
  QueueSource source;
  std::string partitions;
  SizeClasses classes;
  std::string qos;
  bool means = false;
  options.describe("[options]",
                   "Forecasts how long a job waits in a queue of a Slurm or LSF cluster, from the "
                   "waits of the latest 1000 jobs: bounds on the wait of half, 75 % and 95 % of "
                   "the jobs, with 95 % confidence, and the probability to start soon; for each "
                   "partition and each size class.\nA wait begins when a job is eligible to start. "
                   "Tasks of an array that start together count once. User names are not read.",
                   {"wallheat queue --sacct jobs.txt",
                    "wallheat queue --sacct jobs.txt --means --partition medium"});
  options.heading("Selection");
  options.add("partition,p", value(partitions, "NAMES"),
              "only these partitions (LSF: queues), separated by commas");
  const auto set_classes = [&](const std::string& text) {
    const auto found = parse_pair<double>(',', text);
    if (found) std::tie(classes.first, classes.factor) = *found;
    return found && classes.first > 0 && classes.factor > 1 &&
           std::isfinite(classes.first * classes.factor * classes.factor);
  };
  options.add("cpu-hours",
              custom_value("BOUND,FACTOR",
                           "the first bound, above 0, and the factor to the next, above 1, such as "
                           "4,4 for 4, 16 and 64",
                           set_classes, "4,4"),
              "size classes by core hours (cores times time limit): the first bound and the factor "
              "to the next; 4,4 means below 4, 4 to 16, 16 to 64, and above");
  options.add("memory,m", flag(classes.by_memory),
              "size classes by GB hours instead, with these bounds");
  options.add("qos", value(qos, "NAME"), "only jobs of this quality of service");
  options.add("means", flag(means),
              "show mean waits and numbers of jobs instead; waits are skewed, so a mean hardly "
              "predicts the next wait");
  options.heading("Source of the waits");
  source.declare(options);
  options.parse();
  const auto names = partitions.empty() ? std::vector<std::string>{} : split_list(partitions);

  const JobListing listing = source.read();
  if (listing.jobs.empty())
    throw RunError("the listing contains no jobs; use a larger --days to include older jobs");
  QueueForecast forecast = queue_forecast(listing, classes, names, qos);
  forecast.own_jobs = source.own_jobs();
  return means ? means_report(forecast) : make_report(forecast);
}

namespace {

/// Returns the content of a file if one is given, otherwise the output of a scheduler's command.
SchedulerOutput output_or_file(const std::string& file, const std::vector<std::string>& command) {
  return file.empty() ? run_scheduler_command(command) : SchedulerOutput{read_text_file(file), {}};
}

struct AdviseOptions {
  QueueSource queue;
  std::string partitions;
  std::string sinfo;
  std::string scontrol;
  std::size_t cores_per_node = 0;
  double start_up_s = 0;
  double core_speed = 0;
  ChoiceOrder order = ChoiceOrder::bound;
  std::size_t first = 0;
  bool best = false;
  RunOptions run;
};

/// Declares and parses the options. Throws UsageError.
void parse_advise_options(Options& options, AdviseOptions& advise) {
  options.describe(
      "[options] -- --data PLANS --out FILE [options of run]",
      "Recommends where and how to run a campaign: the partition, the number of nodes, and one job "
      "or an array; with completion time and cost. The recommendation follows from the plans that "
      "are not yet solved in --out, the speed of a core (from the solved plans, or from three "
      "plans that are solved here), and the waits of jobs ('wallheat queue').\nThe options of "
      "'wallheat run' follow after --.",
      {"wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt -- --data plans "
       "--out next.h5",
       "wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt --by core-hours "
       "-- --data plans --out next.h5"});
  options.heading("Objective");
  options.add("by",
              choice(advise.order, "NAME", "bound",
                     {{"bound", ChoiceOrder::bound},
                      {"median", ChoiceOrder::median},
                      {"core-hours", ChoiceOrder::core_hours}}),
              "criterion for the best choice: earliest completion with 95 % confidence (bound) or "
              "in half of the cases (median), or fewest core hours (core-hours)");
  options.add("cores-per-node", value(advise.cores_per_node, "N", 0),
              "cores per node that a job requests; 0: all");
  options.add("first,n", value(advise.first, "N", 12).at_least(1), "show at most N choices");
  options.add("best", flag(advise.best),
              "print only the best choice, as options of 'wallheat submit'");
  options.heading("The cluster");
  options.add("partition,p", value(advise.partitions, "NAMES"),
              "only these partitions, separated by commas (default: all that sinfo lists)");
  options.add("core-speed", value(advise.core_speed, "UPDATES").above(0),
              "speed of a core in cell updates per second (default: derived from solved plans)");
  options.add("sinfo", file(advise.sinfo, FileRole::input),
              "read the output of \"sinfo -h -o '%R|%a|%D|%c|%G|%l|%s|%m'\" (default: run sinfo)");
  options.add(
      "scontrol", file(advise.scontrol, FileRole::input),
      "read MaxArraySize from the output of 'scontrol show config' (default: run scontrol)");
  options.add("start-up", value(advise.start_up_s, "SECONDS", 5).at_least(0),
              "time that each job takes in addition to solving, at its start and end");
  options.heading("Source of the waits");
  advise.queue.declare(options);
  auto arguments = options.take_passthrough_arguments();
  options.check([&] {
    if (!arguments)
      throw UsageError("the options of 'wallheat run' are missing; give them after --");
    arguments->insert(arguments->end(), {"--shard=none", "--print-out"});
    Options of_run("run", *arguments);
    advise.run = parse_run_options(of_run);
    options.files().add(of_run.files());
  });
  options.parse();
}

/// Returns the requested partitions, or all that have cores.
std::vector<Partition> partitions_of(const AdviseOptions& advise) {
  const SchedulerOutput sinfo = output_or_file(advise.sinfo, {"sinfo", "-h", "-o", sinfo_format});
  if (!sinfo.failure.empty())
    throw RunError(fmt::format(
        "no partitions found ({}); save the output of sinfo in a file and specify it with --sinfo",
        escape_control_chars(sinfo.failure)));
  std::vector<Partition> known =
      parse_sinfo(advise.sinfo.empty() ? "sinfo" : advise.sinfo, sinfo.text);
  std::erase_if(known, [](const Partition& each) { return each.nodes == 0 || each.cores == 0; });
  if (known.empty())
    throw RunError(
        "no partitions found: sinfo lists none; save the output of sinfo in a file and specify it "
        "with --sinfo");
  if (advise.partitions.empty()) return known;
  std::vector<std::pair<std::string, Partition>> by_name;
  for (const Partition& partition : known) by_name.emplace_back(partition.name, partition);
  std::vector<Partition> asked;
  for (const std::string& name : split_list(advise.partitions))
    asked.push_back(parse_choice<Partition>("partition", name, by_name));
  return asked;
}

/// Returns the limits of jobs and arrays. Adds a note if those of arrays are unknown.
ChoiceLimits limits_of(const AdviseOptions& advise, std::vector<std::string>& notes) {
  constexpr std::size_t slurms_default = 1000;
  ChoiceLimits limits{slurms_default, advise.cores_per_node, advise.start_up_s};
  const SchedulerOutput config = output_or_file(advise.scontrol, {"scontrol", "show", "config"});
  if (!config.failure.empty()) {
    notes.push_back(fmt::format("{}; assuming Slurm's default of at most 1000 tasks per array",
                                config.failure));
  } else {
    limits.max_array_tasks =
        max_array_tasks(advise.scontrol.empty() ? "scontrol" : advise.scontrol, config.text);
  }
  return limits;
}

/// Returns the waits of jobs. Adds a note on their source.
QueueForecast waits_in_queue(QueueSource& queue, std::vector<std::string>& notes) {
  JobListing listing;
  try {
    listing = queue.read();
  } catch (const NoAccounting& error) {
    notes.push_back(fmt::format("waits are unknown: {}", error.what()));
  }
  QueueForecast waits = queue_forecast(listing, {}, {}, {});
  add_wide_waits(listing, waits);
  if (queue.own_jobs())
    notes.push_back(fmt::format("waits are those of your own {} jobs", waits.counts.started));
  return waits;
}

RemainingWork work_left(const RunOptions& run) {
  std::vector<PlanResult> solved;
  if (std::filesystem::exists(run.out) && !run.overwrite)
    open_result_file(run.out.string()).for_each_row([&](const PlanResult& row) {
      if (is_solved(row.status)) solved.push_back(row);
    });
  return remaining_work(run, solved);
}

Advice advice_of(AdviseOptions& advise) {
  const std::vector<Partition> partitions = partitions_of(advise);
  Advice advice;
  const ChoiceLimits limits = limits_of(advise, advice.notes);
  const QueueForecast waits = waits_in_queue(advise.queue, advice.notes);
  const RemainingWork left = work_left(advise.run);
  advice.plans = left.updates.size();
  advice.now_s = std::time(nullptr);
  advice.speed_source = advise.core_speed > 0 ? "from --core-speed" : left.speed_source;
  if (left.updates.empty()) {
    if (advise.best) throw RunError("all plans are solved; nothing to submit");
    advice.reason = "All plans are solved; nothing to submit.";
    return advice;
  }
  std::vector<double> plans_s;
  for (const double updates : left.updates) {
    plans_s.push_back(advise.core_speed > 0 ? updates / advise.core_speed
                                            : left.core.predict_seconds(updates));
    advice.core_hours += plans_s.back() / 3600;
  }
  advice.choices = campaign_choices(
      plans_s, partitions, limits,
      [&](const std::string& partition, std::size_t nodes, double core_hours) {
        return forecast_for(waits, partition, nodes, core_hours);
      },
      advise.order);
  advice.reason = recommendation_text(advice.choices, advise.order);
  return advice;
}

}  // namespace

Report advise_command(Options& options) {
  AdviseOptions advise;
  parse_advise_options(options, advise);
  const Advice advice = advice_of(advise);
  if (!advise.best) return make_report(advice, advise.first);
  const std::string best = submit_options(advice.choices.front());
  return {.elements = {Note{best}, Fact{"submit_options", "", best}}};
}

}  // namespace wallheat
