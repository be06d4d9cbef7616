#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <thread>
#include <unordered_set>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/queue_source.hpp"
#include "cli/result_file.hpp"
#include "cli/run_option_parser.hpp"
#include "core/answer.hpp"
#include "core/cpu_time.hpp"
#include "core/parallel_for.hpp"
#include "forecast/job_waits.hpp"
#include "io/program_output.hpp"
#include "node/local_machine.hpp"
#include "queue/cost_model.hpp"
#include "queue/work_estimate.hpp"
#include "report/choices_report.hpp"
#include "run/catalogue.hpp"
#include "store/packs/plan_pack.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// What is left of a campaign, and how fast a core is.
struct Campaign {
  std::vector<double> updates;  ///< of each plan that is left; of one that cannot be read, the mean
  CostModel core;
  std::string speed_source;
};

constexpr double unreadable = -1;

/// The predicted updates of plans.
std::vector<double> updates_of(const PlanSource& source, const std::vector<std::string>& ids,
                               const SolverOptions& solver) {
  std::vector<double> updates(ids.size(), unreadable);
  constexpr std::size_t most_cells = std::size_t{1} << 24;  // as a run foresees
  parallel_for(local_machine().cores.size(), ids.size(), [&] {
    return [&](std::size_t plan) {
      try {
        updates[plan] =
            estimate_work(source.interior(ids[plan], most_cells), solver.limits, solver.kind)
                .updates;
      } catch (const InputError&) {
        // The run will say what is wrong with it; here it counts as a mean one.
      }
    };
  });
  return updates;
}

/// Puts the mean in place of what cannot be read. Throws RunError where nothing can.
void fill_gaps(std::vector<double>& updates, const std::filesystem::path& data) {
  double sum = 0;
  std::size_t known = 0;
  for (const double plan : updates) {
    if (plan == unreadable) continue;
    sum += plan;
    ++known;
  }
  if (known == 0 && !updates.empty())
    throw RunError(fmt::format("no plan of {} that is left can be read", data.string()));
  for (double& plan : updates)
    if (plan == unreadable) plan = sum / static_cast<double>(known);
}

/// Learns from plans that a CPU has solved.
void learn_from(Campaign& campaign, const std::vector<PlanResult>& solved, const PlanSource& source,
                const SolverOptions& solver) {
  constexpr std::size_t enough = 256;
  std::vector<std::string> ids;
  std::vector<double> seconds;
  for (const PlanResult& row : solved) {
    if (!row.device.starts_with("cpu") || ids.size() == enough) continue;
    ids.push_back(row.id);
    seconds.push_back(seconds_on_own_core(row));
  }
  const std::vector<double> updates = updates_of(source, ids, solver);
  std::size_t learnt = 0;
  for (std::size_t plan = 0; plan < ids.size(); ++plan) {
    if (updates[plan] == unreadable) continue;
    campaign.core.observe(updates[plan], seconds[plan]);
    ++learnt;
  }
  if (learnt > 0) campaign.speed_source = fmt::format("as {} solved plans took", learnt);
}

/// Solves a few plans here: the shortest, the middle one and a long one.
void measure_here(Campaign& campaign, const std::vector<std::string>& ids, const PlanSource& source,
                  const SolverOptions& solver) {
  std::vector<std::size_t> order(ids.size());
  for (std::size_t plan = 0; plan < order.size(); ++plan) order[plan] = plan;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return campaign.updates[a] < campaign.updates[b];
  });
  const auto made = solver.make();
  std::size_t solved = 0;
  const std::size_t last = order.size() - 1;
  for (const std::size_t place : {last / 2, last * 3 / 4, last / 4}) {
    try {
      const double start_s = thread_cpu_seconds();
      const FloorPlan plan = source.load(ids[order[place]]);
      (void)made->solve(plan, solver.limits, {});
      campaign.core.observe(campaign.updates[order[place]], thread_cpu_seconds() - start_s);
      ++solved;
    } catch (const InputError&) {
      // It cannot be read; another one tells as much.
    }
  }
  if (solved == 0)
    throw RunError(
        "none of three plans can be solved here; say the speed of a core with "
        "--partition NAME:core=SPEED");
  campaign.speed_source = fmt::format("as {} plan(s) took on a core of this machine", solved);
}

Campaign campaign_of(const RunOptions& run) {
  const SharedPlanSource source = open_plan_source(run.job.data);
  PlanIds wanted = requested_plans(*source, run.ids, run.ids_file, run.first);
  Campaign campaign;
  std::vector<PlanResult> solved;
  if (std::filesystem::exists(run.out) && !run.overwrite) {
    const ResultReader reader = open_result_file(run.out.string());
    for (const PlanResult& row : reader.rows())
      if (is_answer(row.status)) solved.push_back(row);
  }
  std::unordered_set<std::string> done;
  for (const PlanResult& row : solved) done.insert(row.id);
  std::erase_if(wanted.ids, [&](const std::string& id) { return done.contains(id); });
  campaign.updates = updates_of(*source, wanted.ids, run.job.solver);
  fill_gaps(campaign.updates, run.job.data);
  learn_from(campaign, solved, *source, run.job.solver);
  if (campaign.speed_source.empty() && !wanted.ids.empty())
    measure_here(campaign, wanted.ids, *source, run.job.solver);
  return campaign;
}

/// What a file holds, or a command prints; empty where neither is there.
std::string output_or_file(const std::string& file, const std::vector<std::string>& command) {
  if (!file.empty()) return text_of(file);
  auto output = output_of(command);
  return output && output->status == 0 ? std::move(output->out) : std::string();
}

/// Forecasts of waits by partition and size; made when they are asked for.
class Waits {
 public:
  explicit Waits(const JobListing& listing) : listing_(listing), all_(waits_of(listing)) {}

  /// Of the class of sizes where that has history enough for the 95 % bound, else of the partition.
  const WaitForecast* of(const std::string& partition, double core_hours) {
    const auto found = std::find_if(all_.partitions.begin(), all_.partitions.end(),
                                    [&](const auto& each) { return each.name == partition; });
    if (found == all_.partitions.end()) return nullptr;
    const WaitForecast& sized = forecast(*found, classes_.of_hours(core_hours));
    return sized.bound_s(0.95) ? &sized : &forecast(*found, any_size);
  }

 private:
  static constexpr std::size_t any_size = SizeClasses::count;

  const WaitForecast& forecast(const PartitionWaits& partition, std::size_t size) {
    const auto [place, is_new] = made_.try_emplace({partition.name, size});
    if (!is_new) return place->second;
    std::vector<Wait> waits;
    for (std::size_t i = 0; i < partition.waits.size(); ++i)
      if (size == any_size || classes_.of(listing_.jobs[partition.jobs[i]]) == size)
        waits.push_back(partition.waits[i]);
    return place->second = forecast_waits(waits);
  }

  const JobListing& listing_;
  JobWaits all_;
  SizeClasses classes_;
  std::map<std::pair<std::string, std::size_t>, WaitForecast> made_;
};

struct AdviseOptions {
  std::vector<std::string> partitions;
  std::string sinfo;
  std::string scontrol;
  std::int64_t most_nodes = 0;
  std::int64_t cores_per_node = 0;
  double start_up_s = 0;
  std::string order;
  std::int64_t first = 0;
  bool best = false;
  bool json = false;
};

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

}  // namespace

int advise_command(const Arguments& arguments) {
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  AdviseOptions advise;
  QueueSource source;
  Options options(
      "advise [options] -- --data PLANS --out FILE [options of run]",
      "Says where and how to run a campaign: on which partition, on how many nodes, as one job or "
      "as an array, until when it is done, and what it costs. The plans that are left (of --data, "
      "without those that --out has solved) tell the work, the solved ones or three that are "
      "solved "
      "here the speed of a core, and the queue's history how long jobs wait ('wallheat queue').\n"
      "After -- stand the options of 'wallheat run'.");
  options.add(
      "partition,p", value(advise.partitions, "NAME:KEY=NUMBER,..."),
      "a partition to look at (again for more; default: all that sinfo tells), with what is known "
      "of it: core, gpu (cell updates a second of a core, of a GPU), watts (of a busy node without "
      "GPUs), gpu-watts, core-price, gpu-price (of an hour), and in place of what sinfo tells "
      "nodes, cores, gpus (of a node), limit (hours)");
  options.add("sinfo", value(advise.sinfo, "FILE"),
              "read what \"sinfo -h -o '%R|%a|%D|%c|%G|%l|%s'\" printed; default: call it");
  options.add("scontrol", value(advise.scontrol, "FILE"),
              "read what 'scontrol show config' printed, for MaxArraySize; default: call it");
  source.declare(options);
  options.add("most-nodes", value(advise.most_nodes, "N", 0),
              "take no more nodes than N, over all jobs; 0: as many as a partition has");
  options.add("cores-per-node", value(advise.cores_per_node, "N", 0),
              "cores of a node that a job takes; 0: all");
  options.add("start-up", value(advise.start_up_s, "SECONDS", 5),
              "what each start of a job takes beside solving");
  options.add("by", value(advise.order, "NAME", "bound"),
              "what makes a choice the best: bound (95 % of such campaigns are done by then), "
              "median, core-hours, energy or price");
  options.add("first,n", value(advise.first, "N", 12), "print so many choices at most");
  options.add("best", flag(advise.best), "print only the best, as options of jobs/submit.sh");
  options.add("json", flag(advise.json), "print one JSON object");
  Arguments before_mark = arguments;
  before_mark.resize(static_cast<std::size_t>(mark - arguments.begin()));
  if (!options.parse(before_mark)) return exit_done;
  if (mark == arguments.end())
    throw UsageError("the options of 'wallheat run' are missing; they come after --");
  if (advise.first < 1) throw UsageError("--first must be at least 1");
  if (advise.most_nodes < 0 || advise.cores_per_node < 0)
    throw UsageError("--most-nodes and --cores-per-node must be at least 0");
  if (!std::isfinite(advise.start_up_s) || advise.start_up_s < 0)
    throw UsageError("--start-up must be at least 0 (seconds)");
  const auto order = choose<ChoiceOrder>("by", advise.order,
                                         {{"bound", ChoiceOrder::bound},
                                          {"median", ChoiceOrder::median},
                                          {"core-hours", ChoiceOrder::core_hours},
                                          {"energy", ChoiceOrder::energy},
                                          {"price", ChoiceOrder::price}});
  Arguments of_run(mark + 1, arguments.end());
  of_run.insert(of_run.end(), {"--shard=none", "--print-out"});
  const auto run = parse_run_options(of_run);
  if (!run) return exit_done;
  CommandFiles files;
  source.name_files(files);
  if (advise.sinfo != "-") files.reads("--sinfo", advise.sinfo);
  if (advise.scontrol != "-") files.reads("--scontrol", advise.scontrol);
  files.reads_plans("--data", run->job.data);
  files.check();

  const std::vector<Place> places = places_of(advise);
  ChoicesReport report;
  ChoiceLimits limits;
  limits.most_nodes = static_cast<std::size_t>(advise.most_nodes);
  limits.cores_per_node = static_cast<std::size_t>(advise.cores_per_node);
  limits.start_up_s = advise.start_up_s;
  const std::string config = output_or_file(advise.scontrol, {"scontrol", "show", "config"});
  if (config.empty()) {
    constexpr std::size_t slurms_default = 1000;
    limits.most_array_tasks = slurms_default;
    report.notes.emplace_back(
        "scontrol is not here, so arrays are taken to have up to 1000 tasks, Slurm's default");
  } else {
    limits.most_array_tasks =
        most_array_tasks(advise.scontrol.empty() ? "scontrol" : advise.scontrol, config);
  }
  JobListing listing;
  try {
    listing = source.read();
  } catch (const NoAccounting& error) {
    report.notes.push_back(fmt::format("waits are not known: {}", error.what()));
  }
  if (source.own_jobs())
    report.notes.push_back(
        fmt::format("waits are from your {} own jobs", waits_of(listing).started));
  const Campaign campaign = campaign_of(*run);
  report.plans = campaign.updates.size();
  report.now_s = std::time(nullptr);
  report.speed_source = campaign.speed_source;
  if (campaign.updates.empty()) {
    if (advise.best) throw RunError("all plans are solved: there is nothing to submit");
    report.reason = "All plans are solved: there is nothing to submit.";
  } else {
    for (const double updates : campaign.updates)
      report.core_hours += campaign.core.predict_s(updates) / 3600;
    Waits waits(listing);
    const CampaignWork work{campaign.updates,
                            [&](double updates) { return campaign.core.predict_s(updates); }};
    report.choices = campaign_choices(
        work, places, limits,
        [&](const std::string& partition, double core_hours) {
          return waits.of(partition, core_hours);
        },
        order);
    if (report.choices.empty())
      throw RunError("no partition has a core, nor a GPU of known speed, to solve on");
    report.reason = reason_for_first(report.choices, order);
  }
  if (advise.json) {
    fmt::print("{}", to_json_text(report));
  } else if (advise.best) {
    fmt::print("{}\n", submit_options(report.choices.front()));
  } else if (report.choices.empty()) {
    fmt::print("{}\n", report.reason);
  } else {
    print_choices(report, static_cast<std::size_t>(advise.first));
  }
  return exit_done;
}

}  // namespace wallheat
