#include "forecast/campaign_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/duration.hpp"
#include "core/text.hpp"
#include "forecast/listing_line.hpp"
#include "forecast/replay.hpp"

namespace wallheat {

namespace {

/// Parses a time limit such as "30", which is in minutes, "4:00:00" or "2-12:00:00". Returns it in
/// s; 0 for infinite.
std::int64_t time_limit_in(const ListingLines& lines, std::string_view text) {
  if (text == "infinite" || text == "n/a" || text == "UNLIMITED") return 0;
  if (const auto minutes = parse_number<std::uint32_t>(text)) return std::int64_t{60} * *minutes;
  try {
    return parse_duration(std::string(text)).count();
  } catch (const UsageError&) {
    lines.throw_at_line(
        fmt::format("invalid time limit '{}'", text.substr(0, ListingLines::longest)));
  }
}

/// Removes the plus sign of "24+", which means that some nodes have more than 24.
std::string_view min_of(std::string_view number) {
  if (number.ends_with('+')) number.remove_suffix(1);
  return number;
}

/// Bytes of a MB in Slurm, which is a MiB.
constexpr std::int64_t slurm_megabyte = 1 << 20;

/// Returns the number of GPUs: 6 for "gpu:a100:4(S:0-1),gpu:v100:2,lustre:1".
std::size_t gpus_in(std::string_view resources) {
  std::string text(resources);
  for (std::size_t open = 0; (open = text.find('(')) != std::string::npos;)
    text.erase(open, std::min(text.find(')', open), text.size()) - open + 1);
  std::size_t gpus = 0;
  for (const std::string_view item : split(text, ',')) {
    if (item == "gpu") ++gpus;
    if (item.starts_with("gpu:"))
      gpus += parse_number<std::size_t>(item.substr(item.rfind(':') + 1)).value_or(1);
  }
  return gpus;
}

}  // namespace

std::vector<Partition> parse_sinfo(const std::string& name, std::string_view text) {
  std::vector<Partition> partitions;
  ListingLines lines(name, text);
  for (std::string_view line; lines.next(line);) {
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = split(line, '|');
    constexpr std::size_t width = 8;
    if (fields.size() != width && fields.size() != width - 1)
      lines.throw_at_line(
          fmt::format("{} fields instead of {}; create the listing with sinfo -h -o '{}'",
                      fields.size(), width, sinfo_format));
    if (fields[1] != "up") continue;
    Partition partition;
    partition.name = fields[0];
    partition.nodes = lines.number<std::size_t>(fields[2], "number of nodes");
    partition.cores = lines.number<std::size_t>(min_of(fields[3]), "number of cores");
    partition.gpus = gpus_in(fields[4]);
    partition.limit_s = time_limit_in(lines, fields[5]);
    const std::string_view max_nodes = fields[6].substr(fields[6].find('-') + 1);
    if (max_nodes != "infinite")
      partition.max_nodes = lines.number<std::size_t>(max_nodes, "job size");
    if (fields.size() == width)
      partition.memory_bytes =
          slurm_megabyte * lines.number<std::int32_t>(min_of(fields[7]), "memory");
    const auto same = std::ranges::find_if(partitions, [&](const Partition& other) {
      return other.name == partition.name && (other.gpus > 0) == (partition.gpus > 0);
    });
    if (same == partitions.end()) {
      partitions.push_back(std::move(partition));
    } else if (same->nodes < partition.nodes) {
      *same = std::move(partition);
    }
  }
  return partitions;
}

std::size_t max_array_tasks(const std::string& name, std::string_view text) {
  ListingLines lines(name, text);
  for (std::string_view line; lines.next(line);) {
    if (!line.starts_with("MaxArraySize")) continue;
    const std::size_t start = std::min(line.find_first_of("0123456789"), line.size());
    const std::string_view digits = line.substr(start, line.find_last_of("0123456789") + 1 - start);
    const auto size = lines.number<std::size_t>(digits, "MaxArraySize");
    return size == 0 ? 0 : size - 1;
  }
  throw RunError(name + " does not contain MaxArraySize; create it with 'scontrol show config'");
}

namespace {

/// Returns the time in which cores or GPUs solve plans, longest first.
double solve_seconds(const std::vector<double>& plans_s, std::size_t solvers) {
  return Replay(plans_s, Schedule::longest_first).seconds(solvers);
}

constexpr double hour_s = 3600;
/// Nine of ten estimates of a plan's work are within this factor (work_estimate.hpp).
constexpr double work_factor = 1.16;

/// Makes the choices of one partition.
class Chooser {
 public:
  Chooser(const PlanTimes& plans, const Partition& partition, const ChoiceLimits& limits,
          const WaitLookup& waits)
      : plans_(plans), partition_(partition), limits_(limits), waits_(waits) {
    cores_ = limits.cores_per_node == 0 ? partition.cores
                                        : std::min(limits.cores_per_node, partition.cores);
  }

  /// Adds the choices in which cores solve the plans.
  void add_core_choices(std::vector<Choice>& choices) const {
    if (!plans_.needs_gpus) add_choices(choices, 0);
  }
  /// Adds the choices in which GPUs solve the plans.
  void add_gpu_choices(std::vector<Choice>& choices) const {
    if (partition_.gpus == 0 || plans_.gpu_s.empty()) return;
    add_choices(choices, partition_.gpus);
    if (partition_.gpus > 1 && cores_ > 0)
      choices.push_back(
          choice({.gpus = 1, .job_cores = std::max<std::size_t>(cores_ / partition_.gpus, 1)}));
  }

 private:
  void add_choices(std::vector<Choice>& choices, std::size_t gpus) const {
    if (cores_ == 0) return;
    const std::size_t max_per_job = partition_.max_nodes == 0
                                        ? partition_.nodes
                                        : std::min(partition_.nodes, partition_.max_nodes);
    constexpr std::size_t max_rounds = 16;
    const std::size_t max_jobs =
        std::min({max_rounds * partition_.nodes, limits_.max_array_tasks, plans_.core_s.size()});
    const std::size_t job_cores = cores_ < partition_.cores ? cores_ : 0;
    for (std::size_t nodes = 1; nodes <= max_per_job; nodes *= 2)
      choices.push_back(choice({.nodes = nodes, .gpus = gpus, .job_cores = job_cores}));
    for (std::size_t jobs = 2; jobs <= max_jobs; jobs *= 2)
      choices.push_back(choice({.gpus = gpus,
                                .job_cores = job_cores,
                                .jobs = jobs,
                                .max_concurrent = std::min(jobs, partition_.nodes)}));
  }

  /// Completes a choice of which the sizes are known.
  [[nodiscard]] Choice choice(Choice choice) const {
    choice.partition = partition_.name;
    const std::size_t node_cores = choice.job_cores == 0 ? partition_.cores : choice.job_cores;
    choice.cores = choice.max_concurrent * choice.nodes * node_cores;
    std::vector<double> jobs_s = job_seconds(choice);
    const auto cores_of_job = static_cast<double>(choice.nodes * node_cores);
    const auto gpus_of_job = static_cast<double>(choice.nodes * choice.gpus);
    choice.run_s = *std::max_element(jobs_s.begin(), jobs_s.end());
    set_limit(choice);
    const double restarts_s = static_cast<double>(choice.start_count - 1) * limits_.start_up_s;
    choice.run_s += restarts_s;
    for (double& job_s : jobs_s) job_s += restarts_s;
    const double job_hours = std::accumulate(jobs_s.begin(), jobs_s.end(), 0.0) / hour_s;
    choice.core_hours = job_hours * cores_of_job;
    choice.gpu_hours = job_hours * gpus_of_job;
    if (choice.max_concurrent < choice.jobs)
      choice.run_s = Replay(jobs_s, Schedule::dynamic).seconds(choice.max_concurrent);
    const double requested_core_hours = cores_of_job * static_cast<double>(choice.limit_s) / hour_s;
    if (const WaitForecast* waits = waits_(choice.partition, choice.nodes, requested_core_hours)) {
      choice.wait_s = wait_for(*waits, choice, 0.5);
      choice.wait_95_s = wait_for(*waits, choice, 0.95);
    }
    return choice;
  }

  /// Returns the run time of each job. Job k of an array solves every N-th plan, starting at plan
  /// k.
  [[nodiscard]] std::vector<double> job_seconds(const Choice& choice) const {
    const std::vector<double>& plans_s = choice.gpus > 0 ? plans_.gpu_s : plans_.core_s;
    const std::size_t solvers = choice.nodes * (choice.gpus > 0 ? choice.gpus : cores_);
    std::vector<std::vector<double>> shares(choice.jobs);
    for (std::size_t plan = 0; plan < plans_s.size(); ++plan)
      shares[plan % choice.jobs].push_back(plans_s[plan]);
    std::vector<double> seconds;
    for (const auto& share : shares)
      seconds.push_back(limits_.start_up_s + solve_seconds(share, solvers));
    return seconds;
  }

  void set_limit(Choice& choice) const {
    constexpr double reserve = 1.25;
    constexpr double step_s = 300;
    constexpr double stop_s = 120;  // time before its limit at which a job is requested to stop
    const double wanted_s = std::ceil((choice.run_s * reserve + stop_s) / step_s) * step_s;
    const auto max_s = static_cast<double>(partition_.limit_s);
    choice.limit_s = static_cast<std::int64_t>(wanted_s);
    if (max_s == 0 || wanted_s <= max_s) return;
    choice.limit_s = partition_.limit_s;
    const double useful_s = std::max(max_s - stop_s - limits_.start_up_s, max_s / 2);
    choice.start_count =
        static_cast<std::size_t>(std::max(1.0, std::ceil(choice.run_s / useful_s)));
  }

  [[nodiscard]] static std::optional<double> wait_for(const WaitForecast& waits,
                                                      const Choice& choice, double quantile) {
    auto bound =
        waits.bound_s(std::pow(quantile, 1.0 / static_cast<double>(choice.max_concurrent)));
    // No history is long enough for the longest of very many waits. Jobs of an array have similar
    // waits.
    if (!bound) {
      bound = waits.bound_s(quantile);
      if (bound && std::isfinite(*bound)) bound = static_cast<double>(waits.waits_s.back());
    }
    if (bound) *bound *= static_cast<double>(choice.start_count);
    return bound;
  }

  const PlanTimes& plans_;
  const Partition& partition_;
  const ChoiceLimits& limits_;
  const WaitLookup& waits_;
  std::size_t cores_ = 0;  ///< cores that a job uses per node
};

/// Returns the criterion of the order; infinity if it is unknown or unbounded.
double measure(const Choice& choice, ChoiceOrder order) {
  if (order == ChoiceOrder::core_hours) return choice.core_hours;
  const auto done_s =
      order == ChoiceOrder::median ? choice.completion_s() : choice.completion_95_s();
  return done_s.value_or(std::numeric_limits<double>::infinity());
}

std::string minutes_text(double seconds) {
  if (seconds < 1) return "less than 1 s";
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<long>(std::lround(seconds / 60));
  return minutes < 120 ? fmt::format("{} min", minutes)
                       : fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

}  // namespace

std::optional<double> Choice::completion_s() const {
  return wait_s ? std::optional(*wait_s + run_s) : std::nullopt;
}

std::optional<double> Choice::completion_95_s() const {
  return wait_95_s ? std::optional(*wait_95_s + run_s * work_factor) : std::nullopt;
}

std::vector<Choice> campaign_choices(const PlanTimes& plans,
                                     const std::vector<Partition>& partitions,
                                     const ChoiceLimits& limits, const WaitLookup& waits,
                                     ChoiceOrder order) {
  std::vector<Choice> choices;
  for (const Partition& partition : partitions) {
    const Chooser chooser(plans, partition, limits, waits);
    const bool has_other_nodes =
        partition.gpus > 0 && std::ranges::any_of(partitions, [&](const Partition& other) {
          return other.name == partition.name && other.gpus == 0;
        });
    if (!has_other_nodes) chooser.add_core_choices(choices);
    chooser.add_gpu_choices(choices);
  }
  // Compares in steps of 2 %, because "nearly equal" is not transitive and therefore not an order.
  const auto step = [&](const Choice& choice) {
    const double value = measure(choice, order);
    return std::isfinite(value) && value > 0 ? std::round(std::log(value) / std::log(1.02)) : value;
  };
  std::stable_sort(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
    const double of_a = step(a);
    const double of_b = step(b);
    if (of_a != of_b) return of_a < of_b;
    // If the waits are unknown or unbounded, the run time decides.
    if (std::isinf(of_a) && a.run_s != b.run_s) return a.run_s < b.run_s;
    return a.core_hours < b.core_hours;
  });
  return choices;
}

std::string choice_text(const Choice& choice) {
  const std::string with_gpus =
      choice.gpus == 0 ? "" : fmt::format(" with {}", count_text(choice.gpus, "GPU"));
  const char* const each = choice.gpus > 0 && choice.nodes * choice.jobs > 1 ? " each" : "";
  if (choice.jobs == 1)
    return fmt::format("{} of {}{}{}", count_text(choice.nodes, "node"), choice.partition,
                       with_gpus, each);
  std::string text =
      fmt::format("an array of {} jobs on {}{}{}", choice.jobs, choice.partition, with_gpus, each);
  if (choice.max_concurrent < choice.jobs)
    text += fmt::format(", {} at a time", choice.max_concurrent);
  return text;
}

std::vector<MachineTime> machine_times(const PlanTimes& plans, std::size_t local_cores,
                                       std::size_t local_gpus, const ChoiceLimits& limits) {
  const std::size_t node_cores = limits.cores_per_node == 0 ? 16 : limits.cores_per_node;
  const std::string cores = count_text(node_cores, "core");
  std::vector<MachineTime> machines;
  if (!plans.needs_gpus) {
    machines.push_back({.machine = count_text(local_cores, "core") + " of this machine",
                        .cores = local_cores,
                        .is_here = true});
    machines.push_back({.machine = "a node of " + cores, .cores = node_cores});
    machines.push_back({.machine = "4 nodes of " + cores, .nodes = 4, .cores = node_cores});
  }
  if (!plans.gpu_s.empty()) {
    if (local_gpus > 0)
      machines.push_back({.machine = count_text(local_gpus, "GPU") + " of this machine",
                          .gpus = local_gpus,
                          .is_here = true});
    machines.push_back({.machine = "a node with 1 GPU", .gpus = 1});
  }
  for (MachineTime& machine : machines) {
    if (!machine.is_here) machine.start_up_s = limits.start_up_s;
    machine.run_s = machine.start_up_s +
                    (machine.gpus > 0 ? solve_seconds(plans.gpu_s, machine.nodes * machine.gpus)
                                      : solve_seconds(plans.core_s, machine.nodes * machine.cores));
  }
  return machines;
}

std::string recommendation_text(const std::vector<MachineTime>& machines) {
  const auto fastest = [&](bool is_here) {
    const MachineTime* found = nullptr;
    for (const MachineTime& machine : machines)
      if (machine.is_here == is_here && (found == nullptr || machine.run_s < found->run_s))
        found = &machine;
    return found;
  };
  const MachineTime* const here = fastest(true);
  const MachineTime* const other = fastest(false);
  if (here == nullptr)
    return fmt::format(
        "This machine cannot solve the plans, because --device gpu requires a GPU; "
        "{} would take {}.",
        other->machine, minutes_text(other->run_s));
  if (here->run_s <= other->run_s)
    return fmt::format("Run here: {} need {}, and no other choice is faster.", here->machine,
                       minutes_text(here->run_s));
  return fmt::format("Run here if {} is soon enough; {} would take {} and its wait in the queue.",
                     minutes_text(here->run_s), other->machine, minutes_text(other->run_s));
}

std::string recommendation_text(const std::vector<Choice>& choices, ChoiceOrder order) {
  const Choice& best = choices.front();
  std::string name = choice_text(best);
  const auto wait_of = [&](const Choice& choice) {
    return order == ChoiceOrder::bound ? choice.wait_95_s : choice.wait_s;
  };
  if (std::isinf(measure(best, order))) {
    const std::string cause =
        wait_of(best) ? fmt::format(
                            "Jobs on {} that have not started have waited longer than all "
                            "recent ones that started",
                            best.partition)
                      : "Too few waits are known";
    return fmt::format("{}, so the shortest run is recommended: {}, {}.", cause, name,
                       minutes_text(best.run_s));
  }
  if (name.front() == 'a') name.front() = 'A';
  if (order == ChoiceOrder::core_hours)
    return fmt::format("{} takes the fewest core hours: {:.2f}.", name, best.core_hours);
  const auto fastest =
      std::min_element(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
        const bool a_known = std::isfinite(measure(a, order));
        const bool b_known = std::isfinite(measure(b, order));
        return a_known != b_known ? a_known : a.run_s < b.run_s;
      });
  const bool by_bound = order == ChoiceOrder::bound;
  if (fastest->run_s >= best.run_s * 0.999)
    return fmt::format("Use {}: done within {} {}.", choice_text(best),
                       minutes_text(measure(best, order)),
                       by_bound ? "with 95 % certainty" : "in half of all cases");
  if (wait_of(*fastest) <= wait_of(best))
    return fmt::format("{} is done as soon as {}, but takes {:.2f} core hours instead of {:.2f}.",
                       name, choice_text(*fastest), best.core_hours, fastest->core_hours);
  return fmt::format(
      "{} runs for {} and waits {} ({} of jobs at most); {} would run for {}, but wait {}.", name,
      minutes_text(best.run_s), minutes_text(wait_of(best).value()), by_bound ? "95 %" : "half",
      choice_text(*fastest), minutes_text(fastest->run_s), minutes_text(wait_of(*fastest).value()));
}

}  // namespace wallheat
