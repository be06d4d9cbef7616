#include <fmt/format.h>

#include <ctime>

#include "cli/commands.hpp"
#include "cli/queue_source.hpp"
#include "cli/result_file.hpp"
#include "cli/run_option_parser.hpp"
#include "io/program_output.hpp"
#include "report/choices_report.hpp"
#include "report/queue_report.hpp"
#include "run/remaining_work.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// What a file holds, or a command prints; empty if neither is there.
std::string output_or_file(const std::string& file, const std::vector<std::string>& command) {
  if (!file.empty()) return read_text_file(file);
  auto output = output_of(command);
  return output && output->status == 0 ? std::move(output->out) : std::string();
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

/// Throws UsageError.
void parse_advise_options(Options& options, AdviseOptions& advise) {
  options.describe(
      "[options] -- --data PLANS --out FILE [options of run]",
      "Says where and how to run a campaign: on which partition and how many nodes, as one job or "
      "as an array, when it is done, and what it costs. This follows from the plans that --out has "
      "not solved yet, the speed of a core (as solved plans took, or three that are solved here), "
      "and how long jobs waited ('wallheat queue').\nThe options of 'wallheat run' come after --.",
      {"wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt -- --data plans "
       "--out next.h5",
       "wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt --by core-hours "
       "-- --data plans --out next.h5"});
  options.heading("What is wanted");
  options.add("by",
              choice(advise.order, "NAME", "bound",
                     {{"bound", ChoiceOrder::bound},
                      {"median", ChoiceOrder::median},
                      {"core-hours", ChoiceOrder::core_hours}}),
              "the best choice is done first with 95 % certainty (bound), or in half of the cases "
              "(median), or takes the fewest core hours");
  options.add("cores-per-node", value(advise.cores_per_node, "N", 0),
              "cores of a node that a job takes; 0: all");
  options.add("first,n", value(advise.first, "N", 12).at_least(1), "show at most N choices");
  options.add("best", flag(advise.best), "print only the best, as options of wallheat submit");
  options.heading("The cluster");
  options.add("partition,p", value(advise.partitions, "NAMES"),
              "only these partitions, separated by commas; default: all that sinfo lists");
  options.add("core-speed", value(advise.core_speed, "UPDATES").above(0),
              "cell updates a second of a core; default: as solved plans took");
  options.add("sinfo", file(advise.sinfo, FileRole::read),
              "read what \"sinfo -h -o '%R|%a|%D|%c|%G|%l|%s|%m'\" printed; default: call it");
  options.add("scontrol", file(advise.scontrol, FileRole::read),
              "read what 'scontrol show config' printed, for MaxArraySize; default: call it");
  options.add("start-up", value(advise.start_up_s, "SECONDS", 5).at_least(0),
              "that each job takes beside solving, at its start and end");
  options.heading("Where the waits are from");
  advise.queue.declare(options);
  auto arguments = options.take_behind_mark();
  options.check([&] {
    if (!arguments)
      throw UsageError("the options of 'wallheat run' are missing; they come after --");
    arguments->insert(arguments->end(), {"--shard=none", "--print-out"});
    Options of_run("run", *arguments);
    advise.run = parse_run_options(of_run);
    options.files().add(of_run.files());
  });
  options.parse();
}

/// Those that are asked for, or all that have a core.
std::vector<Partition> partitions_of(const AdviseOptions& advise) {
  const std::string text = output_or_file(advise.sinfo, {"sinfo", "-h", "-o", sinfo_format});
  std::vector<Partition> known = parse_sinfo(advise.sinfo.empty() ? "sinfo" : advise.sinfo, text);
  std::erase_if(known, [](const Partition& each) { return each.nodes == 0 || each.cores == 0; });
  if (known.empty())
    throw RunError(
        "no partition is known: sinfo is not here or tells of none; name a file with what it "
        "prints with --sinfo");
  if (advise.partitions.empty()) return known;
  std::vector<std::pair<std::string, Partition>> by_name;
  for (const Partition& partition : known) by_name.emplace_back(partition.name, partition);
  std::vector<Partition> asked;
  for (const std::string& name : words_of(advise.partitions))
    asked.push_back(choose<Partition>("partition", name, by_name));
  return asked;
}

/// What a job and an array may be, with a note if that is not known.
ChoiceLimits limits_of(const AdviseOptions& advise, std::vector<std::string>& notes) {
  constexpr std::size_t slurms_default = 1000;
  ChoiceLimits limits{slurms_default, advise.cores_per_node, advise.start_up_s};
  const std::string config = output_or_file(advise.scontrol, {"scontrol", "show", "config"});
  if (config.empty()) {
    notes.emplace_back(
        "scontrol is not here, so arrays are taken to have up to 1000 tasks, Slurm's default");
  } else {
    limits.most_array_tasks =
        most_array_tasks(advise.scontrol.empty() ? "scontrol" : advise.scontrol, config);
  }
  return limits;
}

/// How long jobs wait, with a note on what that is from.
QueueForecast waits_in_queue(QueueSource& queue, std::vector<std::string>& notes) {
  JobListing listing;
  try {
    listing = queue.read();
  } catch (const NoAccounting& error) {
    notes.push_back(fmt::format("waits are not known: {}", error.what()));
  }
  QueueForecast waits = queue_forecast(listing, {}, {}, {});
  waits.wide = wide_waits(listing);
  if (queue.own_jobs())
    notes.push_back(fmt::format("waits are from your {} own jobs", waits.counts.started));
  return waits;
}

RemainingWork work_left(const RunOptions& run) {
  std::vector<PlanResult> solved;
  if (std::filesystem::exists(run.out) && !run.overwrite)
    open_result_file(run.out.string()).for_each_row([&](const PlanResult& row) {
      if (is_answer(row.status)) solved.push_back(row);
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
  advice.speed_source = advise.core_speed > 0 ? "by --core-speed" : left.speed_source;
  if (left.updates.empty()) {
    if (advise.best) throw RunError("all plans are solved: there is nothing to submit");
    advice.reason = "All plans are solved: there is nothing to submit.";
    return advice;
  }
  std::vector<double> plans_s;
  for (const double updates : left.updates) {
    plans_s.push_back(advise.core_speed > 0 ? updates / advise.core_speed
                                            : left.core.seconds_for(updates));
    advice.core_hours += plans_s.back() / 3600;
  }
  advice.choices = campaign_choices(
      plans_s, partitions, limits,
      [&](const std::string& partition, std::size_t nodes, double core_hours) {
        return forecast_for(waits, partition, nodes, core_hours);
      },
      advise.order);
  advice.reason = reason_for_first(advice.choices, advise.order);
  return advice;
}

}  // namespace

Report advise_command(Options& options) {
  AdviseOptions advise;
  parse_advise_options(options, advise);
  const Advice advice = advice_of(advise);
  if (!advise.best) return report_of(advice, advise.first);
  const std::string best = submit_options(advice.choices.front());
  return {.parts = {Note{best}, Fact{"submit_options", "", best}}};
}

}  // namespace wallheat
