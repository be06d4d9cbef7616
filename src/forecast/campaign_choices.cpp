#include "forecast/campaign_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/duration.hpp"
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
    const std::string_view most = fields[6].substr(fields[6].find('-') + 1);
    if (most != "infinite") partition.max_nodes = lines.number<std::size_t>(most, "job size");
    if (fields.size() == width)
      partition.memory_bytes =
          slurm_megabyte * lines.number<std::int32_t>(min_of(fields[7]), "memory");
    const auto same = std::ranges::find(partitions, partition.name, &Partition::name);
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

constexpr double hour_s = 3600;
/// Nine of ten estimates of a plan's work are within this factor (work_estimate.hpp).
constexpr double work_factor = 1.16;

/// Makes the choices of one partition.
class Chooser {
 public:
  Chooser(const std::vector<double>& plans_s, const Partition& partition,
          const ChoiceLimits& limits, const WaitLookup& waits)
      : plans_s_(plans_s), partition_(partition), limits_(limits), waits_(waits) {
    cores_ = limits.cores_per_node == 0 ? partition.cores
                                        : std::min(limits.cores_per_node, partition.cores);
  }

  void add_to(std::vector<Choice>& choices) const {
    if (cores_ == 0) return;
    const std::size_t most = partition_.nodes;
    const std::size_t max_per_job =
        partition_.max_nodes == 0 ? most : std::min(most, partition_.max_nodes);
    constexpr std::size_t max_rounds = 16;
    const std::size_t max_jobs =
        std::min({max_rounds * most, limits_.max_array_tasks, plans_s_.size()});
    for (std::size_t nodes = 1; nodes <= max_per_job; nodes *= 2)
      choices.push_back(choice(nodes, 1, 1));
    for (std::size_t jobs = 2; jobs <= max_jobs; jobs *= 2)
      choices.push_back(choice(1, jobs, std::min(jobs, most)));
  }

 private:
  [[nodiscard]] Choice choice(std::size_t nodes, std::size_t jobs, std::size_t at_a_time) const {
    Choice choice;
    choice.partition = partition_.name;
    choice.nodes = nodes;
    choice.jobs = jobs;
    choice.max_concurrent = at_a_time;
    choice.cores = at_a_time * nodes * cores_;
    std::vector<double> jobs_s = job_seconds(nodes, jobs);
    const auto cores_of_job = static_cast<double>(nodes * cores_);
    choice.run_s = *std::max_element(jobs_s.begin(), jobs_s.end());
    set_limit(choice);
    const double restarts_s = static_cast<double>(choice.start_count - 1) * limits_.start_up_s;
    choice.run_s += restarts_s;
    for (double& job_s : jobs_s) job_s += restarts_s;
    choice.core_hours = std::accumulate(jobs_s.begin(), jobs_s.end(), 0.0) / hour_s * cores_of_job;
    if (at_a_time < jobs) choice.run_s = Replay(jobs_s, Schedule::dynamic).seconds(at_a_time);
    const double asked_hours = cores_of_job * static_cast<double>(choice.limit_s) / hour_s;
    if (const WaitForecast* waits = waits_(choice.partition, nodes, asked_hours)) {
      choice.wait_s = wait_for(*waits, choice, 0.5);
      choice.wait_95_s = wait_for(*waits, choice, 0.95);
    }
    return choice;
  }

  /// Returns the run time of each job. Job k of an array solves every N-th plan, starting at plan
  /// k.
  [[nodiscard]] std::vector<double> job_seconds(std::size_t nodes, std::size_t jobs) const {
    std::vector<std::vector<double>> shares(jobs);
    for (std::size_t plan = 0; plan < plans_s_.size(); ++plan)
      shares[plan % jobs].push_back(plans_s_[plan]);
    std::vector<double> seconds;
    for (const auto& share : shares)
      seconds.push_back(limits_.start_up_s +
                        Replay(share, Schedule::longest_first).seconds(nodes * cores_));
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

  const std::vector<double>& plans_s_;
  const Partition& partition_;
  const ChoiceLimits& limits_;
  const WaitLookup& waits_;
  std::size_t cores_ = 0;  ///< cores that a job uses per node
};

/// Returns the criterion of the order; infinity if it is unknown.
double measure(const Choice& choice, ChoiceOrder order) {
  if (order == ChoiceOrder::core_hours) return choice.core_hours;
  const auto done_s =
      order == ChoiceOrder::median ? choice.completion_s() : choice.completion_95_s();
  return done_s.value_or(std::numeric_limits<double>::infinity());
}

std::string minutes_text(double seconds) {
  if (std::isinf(seconds)) return "longer than any earlier job";
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

std::vector<Choice> campaign_choices(const std::vector<double>& plans_s,
                                     const std::vector<Partition>& partitions,
                                     const ChoiceLimits& limits, const WaitLookup& waits,
                                     ChoiceOrder order) {
  std::vector<Choice> choices;
  for (const Partition& partition : partitions)
    Chooser(plans_s, partition, limits, waits).add_to(choices);
  // Compares in steps of 2 %, because "nearly equal" is not transitive and therefore not an order.
  const auto step = [&](const Choice& choice) {
    const double value = measure(choice, order);
    return std::isfinite(value) && value > 0 ? std::round(std::log(value) / std::log(1.02)) : value;
  };
  std::stable_sort(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
    const double of_a = step(a);
    const double of_b = step(b);
    if (of_a != of_b) return of_a < of_b;
    // If the waits are unknown, the run time decides.
    if (std::isinf(of_a) && a.run_s != b.run_s) return a.run_s < b.run_s;
    return a.core_hours < b.core_hours;
  });
  return choices;
}

std::string choice_text(const Choice& choice) {
  if (choice.jobs == 1)
    return fmt::format("{} node{} of {}", choice.nodes, choice.nodes == 1 ? "" : "s",
                       choice.partition);
  std::string text = fmt::format("an array of {} jobs on {}", choice.jobs, choice.partition);
  if (choice.max_concurrent < choice.jobs)
    text += fmt::format(", {} at a time", choice.max_concurrent);
  return text;
}

std::string recommendation_text(const std::vector<Choice>& choices, ChoiceOrder order) {
  const Choice& best = choices.front();
  std::string name = choice_text(best);
  if (std::isinf(measure(best, order)))
    return fmt::format("Too few waits are known, so the shortest run is recommended: {}, {}.", name,
                       minutes_text(best.run_s));
  if (name.front() == 'a') name.front() = 'A';
  if (order == ChoiceOrder::core_hours)
    return fmt::format("{} takes the fewest core hours: {:.2f}.", name, best.core_hours);
  const auto wait_of = [&](const Choice& choice) {
    return (order == ChoiceOrder::bound ? choice.wait_95_s : choice.wait_s).value_or(0);
  };
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
      minutes_text(best.run_s), minutes_text(wait_of(best)), by_bound ? "95 %" : "half",
      choice_text(*fastest), minutes_text(fastest->run_s), minutes_text(wait_of(*fastest)));
}

}  // namespace wallheat
