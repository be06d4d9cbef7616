#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <tuple>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "core/text.hpp"
#include "forecast/cluster_data.hpp"
#include "node/local_machine.hpp"
#include "node/placement.hpp"
#include "report/queue_report.hpp"
#include "run/run_options.hpp"
#include "run/work_estimator.hpp"
#include "solve/gpu/device.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Declares the options of the source of the history of jobs.
void declare_job_history(Options& options, JobHistorySource& source) {
  options.add(
      "sacct", file(source.sacct, FileRole::input),
      fmt::format(
          "read the output of 'SLURM_TIME_FORMAT=%s sacct -X -D -n -P --allusers -S now-30days -o "
          "{}' (-: stdin); repeat for more listings, which may overlap (default: run sacct)",
          sacct_fields));
  options.add("lsf", file(source.lsf, FileRole::input),
              fmt::format("read the output of LSF's 'LSB_DISPLAY_YEAR=Y bjobs -a -u all -o "
                          "\"{}\"', or outputs of your jobs that end with LSF's reports, such as "
                          "of 'cat *.out' (-: stdin); repeat for more files",
                          bjobs_fields));
  options.add("own", flag(source.own_jobs),
              "declare that the listing contains only your own jobs, for example because the "
              "cluster hides those of other users; selects nothing");
  options.add("days", value(source.days, "N", 30).at_least(1),
              "request the jobs of the last N days from sacct");
  options.add_conflict("sacct", {"lsf"});
}

}  // namespace

Report queue_command(Options& options) {
  JobHistorySource source;
  std::string partitions;
  SizeClasses classes;
  std::string qos;
  bool means = false;
  options.describe("[options]",
                   "Forecasts how long a job waits in a queue of a Slurm or LSF cluster, from the "
                   "waits of the latest 1000 jobs: bounds on the wait of half, 75 % and 95 % of "
                   "the jobs, with 95 % confidence, and the probability of a start within 15 min, "
                   "1 h and 4 h; for each "
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
  declare_job_history(options, source);
  options.parse();
  const auto names = partitions.empty() ? std::vector<std::string>{} : split_list(partitions);

  const JobHistory history = read_job_history(source);
  if (history.listing.jobs.empty())
    throw RunError(source.sacct.empty() && source.lsf.empty()
                       ? "sacct lists no jobs; use a larger --days to include older jobs"
                       : "the listing contains no jobs; list more days, or the jobs of all users");
  QueueForecast forecast = queue_forecast(history.listing, classes, names, qos);
  forecast.own_jobs = history.own_jobs;
  return means ? means_report(forecast) : make_report(forecast);
}

namespace {

struct AdviseOptions {
  JobHistorySource history;
  std::string partitions;
  std::string sinfo;
  std::string scontrol;
  std::size_t cores_per_node = 0;
  double start_up_s = 0;
  double core_speed = 0;
  double gpu_speed = 0;
  ChoiceOrder order = ChoiceOrder::bound;
  std::size_t first = 0;
  bool best = false;
  RunOptions run;
};

/// Declares and parses the options. Throws UsageError.
void parse_advise_options(Options& options, AdviseOptions& advise) {
  options.describe(
      "[options] -- --data PLANS --out FILE [options of run]",
      "Recommends where and how to solve plans: the partition, the number of nodes, their cores "
      "or their GPUs, and one job or an array; with completion time and cost. The recommendation "
      "follows from the plans that are not yet solved in --out, the speed of a core (from the "
      "solved plans, or from three plans that are solved here), the speed of a GPU (--gpu-speed), "
      "and the waits of jobs ('wallheat queue').\nIf sinfo is missing or fails, compares the time "
      "on this machine with that on one and four nodes of a cluster and on a GPU, without "
      "waits.\nThe options of 'wallheat run' follow after --.",
      {"wallheat advise -- --data plans --out next.h5",
       "wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt --by core-hours "
       "-- --data plans --out next.h5"});
  options.heading("Objective");
  options.add(
      "by",
      choice(advise.order, "NAME", "bound",
             {{"bound", ChoiceOrder::bound},
              {"median", ChoiceOrder::median},
              {"core-hours", ChoiceOrder::core_hours}}),
      "criterion for the best choice: earliest completion with 95 % confidence (bound) or "
      "in half of the cases (median), or fewest core hours (core-hours), in which the cores "
      "of GPU jobs count, too");
  options.add("cores-per-node", value(advise.cores_per_node, "N", 0),
              "cores per node that a job requests; 0: all; without sinfo: 16");
  options.add("first,n", value(advise.first, "N", 12).at_least(1), "show at most N choices");
  options.add(
      "best", flag(advise.best),
      "print only the best choice, as options of 'wallheat submit'; a choice with GPUs only if "
      "this program was built with CUDA. To submit it: options=$(wallheat advise --best -- ...) && "
      "wallheat submit $options -- ...");
  options.heading("The cluster");
  options.add("partition,p", value(advise.partitions, "NAMES"),
              "only these partitions, separated by commas (default: all that sinfo lists)");
  options.add("core-speed", value(advise.core_speed, "UPDATES").above(0),
              "speed of a core in cell updates per second (default: derived from solved plans)");
  options.add("gpu-speed", value(advise.gpu_speed, "UPDATES", h100_updates_per_s).above(0),
              "speed of a GPU in cell updates per second, with many plans; the default is that of "
              "an H100, 'wallheat bench --device gpu' measures it");
  options.add(
      "sinfo", file(advise.sinfo, FileRole::input),
      fmt::format("read the output of \"sinfo -h -o '{}'\" (default: run sinfo)", sinfo_format));
  options.add(
      "scontrol", file(advise.scontrol, FileRole::input),
      "read MaxArraySize from the output of 'scontrol show config' (default: run scontrol)");
  options.add("start-up", value(advise.start_up_s, "SECONDS", 5).at_least(0),
              "time that each job takes in addition to solving, at its start and end");
  options.heading("Source of the waits");
  declare_job_history(options, advise.history);
  auto arguments = options.take_passthrough_arguments();
  options.check([&] {
    if (!arguments)
      throw UsageError("the options of 'wallheat run' are missing; give them after --");
    Options of_run("run", std::move(*arguments));
    advise.run = parse_campaign_options(of_run);
    options.files().add(of_run.files());
  });
  options.parse();
}

/// Returns the requested partitions, or all.
std::vector<Partition> partitions_of(const AdviseOptions& advise) {
  std::vector<Partition> partitions = read_partitions(advise.sinfo);
  if (advise.partitions.empty()) return partitions;
  std::vector<std::pair<std::string, std::string>> names;
  for (const Partition& partition : partitions) {
    const std::pair name(partition.name, partition.name);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  std::vector<std::string> requested;
  for (const std::string& name : split_list(advise.partitions))
    requested.push_back(parse_choice<std::string>("partition", name, names));
  std::erase_if(partitions, [&](const Partition& partition) {
    return std::ranges::find(requested, partition.name) == requested.end();
  });
  return partitions;
}

/// Returns the rows of the plans that `--out` has solved.
std::vector<PlanResult> solved_rows(const RunOptions& run) {
  std::vector<PlanResult> solved;
  if (std::filesystem::exists(run.out) && !run.overwrite)
    open_result_file(run.out.string()).for_each_row([&](const PlanResult& row) {
      if (is_solved(row.status)) solved.push_back(row);
    });
  return solved;
}

/// Sets the predicted durations of the pending plans, the origins of the speeds, and the cores and
/// GPUs of this machine.
void predict_plans(const AdviseOptions& advise, CampaignOnCluster& campaign) {
  const Machine machine = local_machine();
  campaign.local_cores =
      solver_count(place_workers({machine}, DeviceChoice::cpu, advise.run.threads).front());
  campaign.local_gpus = machine.gpus.size();
  RemainingWork work = remaining_work(advise.run, solved_rows(advise.run), advise.core_speed);
  campaign.plans.core_s = std::move(work.plans_s);
  campaign.speed_source = std::move(work.speed_source);
  // The options have selected the CPU for a solver that does not run on GPUs.
  if (advise.run.device == DeviceChoice::cpu) return;
  campaign.plans.needs_gpus = advise.run.device == DeviceChoice::gpu;
  campaign.plans.gpu_s = std::move(work.updates);
  for (double& plan : campaign.plans.gpu_s) plan /= advise.gpu_speed;
  campaign.gpu_speed_source =
      fmt::format("{:.2g} cell updates/s, {}", advise.gpu_speed,
                  advise.gpu_speed == h100_updates_per_s
                      ? "that of an H100; specify the speed of another GPU with --gpu-speed"
                      : "from --gpu-speed");
  if (!gpu_support().built_with_cuda)
    campaign.notes.emplace_back(
        "this wallheat was built without CUDA; to use GPUs, build it with CUDA");
}

/// Reports the times on this machine and on others, because no partitions are known. Throws
/// `no_partitions` if an option describes a cluster.
Report advise_without_scheduler(const Options& options, const AdviseOptions& advise,
                                const SchedulerUnavailable& no_partitions) {
  for (const char* option :
       {"by", "first", "best", "partition", "scontrol", "sacct", "lsf", "own", "days"})
    if (options.was_given(option)) throw no_partitions;
  CampaignOnCluster campaign;
  campaign.notes.push_back(
      fmt::format("this comparison is without a cluster: {}", no_partitions.what()));
  campaign.limits = {0, advise.cores_per_node, advise.start_up_s};
  predict_plans(advise, campaign);
  return make_report(campaign);
}

/// Returns the best choice that a job of this program can take.
const Choice& best_choice(const Advice& advice) {
  if (advice.choices.empty()) throw RunError(advice.reason);
  const auto best = std::ranges::find_if(advice.choices, [](const Choice& choice) {
    return choice.gpus == 0 || gpu_support().built_with_cuda;
  });
  if (best == advice.choices.end())
    throw RunError("--device gpu requires a wallheat that was built with CUDA; this one was not");
  return *best;
}

}  // namespace

Report advise_command(Options& options) {
  AdviseOptions advise;
  parse_advise_options(options, advise);
  CampaignOnCluster campaign;
  try {
    campaign.partitions = partitions_of(advise);
  } catch (const SchedulerUnavailable& error) {
    return advise_without_scheduler(options, advise, error);
  }
  campaign.limits = {read_max_array_tasks(advise.scontrol, campaign.notes), advise.cores_per_node,
                     advise.start_up_s};
  try {
    campaign.history = read_job_history(advise.history);
  } catch (const AccountingUnavailable& error) {
    campaign.notes.push_back(fmt::format("waits are unknown: {}", error.what()));
  }
  predict_plans(advise, campaign);
  const Advice advice = make_advice(campaign, advise.order, std::time(nullptr));
  if (!advise.best) return make_report(advice, advise.first);
  const std::string best = submit_options(best_choice(advice));
  return {.elements = {Note{best}, Fact{"submit_options", "", best}}};
}

}  // namespace wallheat
