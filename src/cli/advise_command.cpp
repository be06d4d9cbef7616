#include <fmt/format.h>

#include <algorithm>
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

/// What a file holds, or a command prints; empty where neither is there.
std::string output_or_file(const std::string& file, const std::vector<std::string>& command) {
  if (!file.empty()) return text_of(file);
  auto output = output_of(command);
  return output && output->status == 0 ? std::move(output->out) : std::string();
}

struct AdviseOptions {
  QueueSource queue;
  std::vector<std::string> partitions;
  std::string sinfo;
  std::string scontrol;
  std::size_t most_nodes = 0;
  std::size_t cores_per_node = 0;
  double start_up_s = 0;
  ChoiceOrder order = ChoiceOrder::bound;
  std::size_t first = 0;
  bool best = false;
  RunOptions run;
};

/// Throws UsageError.
void parse_advise_options(Options& options, AdviseOptions& advise) {
  options.describe(
      "[options] -- --data PLANS --out FILE [options of run]",
      "Says where and how to run a campaign: on which partition, on how many nodes, as one job or "
      "as an array, until when it is done, and what it costs. The plans that are left (of --data, "
      "without those that --out has solved) tell the work, the solved ones or three that are "
      "solved here the speed of a core, and the queue's history how long jobs wait ('wallheat "
      "queue').\n"
      "After -- stand the options of 'wallheat run'.",
      {"wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt -- --data plans "
       "--out next.h5",
       "wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt --by core-hours "
       "-- "
       "--data plans --out next.h5"});
  options.heading("What is wanted");
  options.add("by",
              choice(advise.order, "NAME", "bound",
                     {{"bound", ChoiceOrder::bound},
                      {"median", ChoiceOrder::median},
                      {"core-hours", ChoiceOrder::core_hours}}),
              "what makes a choice the best: bound (95 % of such campaigns are done by then), "
              "median or core-hours");
  options.add("most-nodes", value(advise.most_nodes, "N", 0),
              "take no more nodes than N, over all jobs; 0: as many as a partition has");
  options.add("cores-per-node", value(advise.cores_per_node, "N", 0),
              "cores of a node that a job takes; 0: all");
  options.add("first,n", value(advise.first, "N", 12).at_least(1), "show so many choices at most");
  options.add("best", flag(advise.best), "print only the best, as options of wallheat submit");
  options.heading("The cluster");
  options.add(
      "partition,p", value(advise.partitions, "NAME:KEY=NUMBER,..."),
      "a partition to look at (again for more; default: all that sinfo tells), with what is known "
      "of it: core (cell updates a second of a core), and in place of what sinfo tells nodes, "
      "cores (of a node), limit (hours)");
  options.add("sinfo", file(advise.sinfo, FileRole::read),
              "read what \"sinfo -h -o '%R|%a|%D|%c|%G|%l|%s|%m'\" printed; default: call it");
  options.add("scontrol", file(advise.scontrol, FileRole::read),
              "read what 'scontrol show config' printed, for MaxArraySize; default: call it");
  options.add("start-up", value(advise.start_up_s, "SECONDS", 5).at_least(0),
              "what each start of a job takes beside solving");
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

std::vector<Place> places_of(const AdviseOptions& advise) {
  const std::string text = output_or_file(advise.sinfo, {"sinfo", "-h", "-o", sinfo_format});
  const auto known = parse_sinfo(advise.sinfo.empty() ? "sinfo" : advise.sinfo, text);
  std::vector<Place> places;
  for (const std::string& partition : advise.partitions)
    places.push_back(place_of(partition, known));
  if (places.empty())
    for (const Partition& partition : known) places.push_back(place_of(partition.name, known));
  if (places.empty())
    throw RunError(
        "no partition is known: sinfo is not here or tells of none; name a file with what it "
        "prints "
        "with --sinfo, or say --partition NAME:nodes=N,cores=N");
  return places;
}

/// What a job and an array may be, with a note where that is not known.
ChoiceLimits limits_of(const AdviseOptions& advise, std::vector<std::string>& notes) {
  constexpr std::size_t slurms_default = 1000;
  ChoiceLimits limits{slurms_default, advise.most_nodes, advise.cores_per_node, advise.start_up_s};
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
  const std::vector<Place> places = places_of(advise);
  Advice advice;
  const ChoiceLimits limits = limits_of(advise, advice.notes);
  const QueueForecast waits = waits_in_queue(advise.queue, advice.notes);
  const RemainingWork left = work_left(advise.run);
  advice.plans = left.updates.size();
  advice.now_s = std::time(nullptr);
  advice.speed_source = left.speed_source;
  if (left.updates.empty()) {
    if (advise.best) throw RunError("all plans are solved: there is nothing to submit");
    advice.reason = "All plans are solved: there is nothing to submit.";
    return advice;
  }
  const auto core_s = [&](double updates) { return left.core.seconds_for(updates); };
  for (const double updates : left.updates) advice.core_hours += core_s(updates) / 3600;
  advice.choices = campaign_choices(
      {left.updates, core_s}, places, limits,
      [&](const std::string& partition, std::size_t nodes, double core_hours) {
        return forecast_for(waits, partition, nodes, core_hours);
      },
      advise.order);
  if (advice.choices.empty()) throw RunError("no partition has a core to solve on");
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
