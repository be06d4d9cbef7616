#include "report/queue_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "view/spelling.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

constexpr std::array quantiles{0.5, 0.75, 0.95};
constexpr std::array<std::int64_t, 3> soon{900, 3600, 14400};  // in s

QueueWaits queue_waits_of(const std::vector<Wait>& waits) {
  double sum = 0;
  for (const Wait& wait : waits)
    if (wait.started) sum += static_cast<double>(wait.wait_s);
  QueueWaits found{forecast_waits(waits)};
  const auto started = static_cast<double>(found.forecast.jobs);
  found.mean_s = started == 0 ? nan_value : sum / started;
  return found;
}

/// Sorts partitions as in a list of names; an empty list leaves their order. Throws RunError if the
/// partitions lack one of the names.
void sort_by_names(const std::vector<std::string>& names, const JobListing& listing,
                   const std::string& qos, std::vector<PartitionWaits>& partitions) {
  for (const std::string& name : names) {
    if (std::ranges::count(partitions, name, &PartitionWaits::name) > 0) continue;
    std::vector<std::string> known;
    for (const PartitionWaits& partition : extract_waits(listing, {}, qos).partitions)
      known.push_back(partition.name);
    throw RunError(fmt::format("no job in the listing was in partition '{}'; available: {}{}", name,
                               fmt::join(known, ", "), did_you_mean(name, known)));
  }
  std::ranges::stable_sort(partitions, {}, [&](const PartitionWaits& partition) {
    return std::ranges::find(names, partition.name) - names.begin();
  });
}

std::string minute_text(std::int64_t seconds) { return format_utc(seconds, "%Y-%m-%dT%H:%MZ"); }

/// Returns a figure with one group of bars per partition and one bar per class: the mean waits, or
/// the 95 % bounds with the medians as points.
Figure waits_figure(const QueueForecast& queues, bool means) {
  constexpr double min_s = 0.5;  // a logarithmic axis has no 0
  constexpr double hour = 3600;
  constexpr double width = 1.0 / (SizeClasses::count + 1);
  Figure figure{means ? "means" : "bounds",
                means ? "mean wait" : "95 % of jobs wait at most (with 95 % confidence)",
                {},
                {"wait, hours", Figure::Scale::powers_of_10, {}, min_s / hour}};
  for (const std::string& name : queues.classes.names())
    figure.series.push_back({name, Figure::Mark::bars, {}, {}});
  Figure::Series medians{"median", Figure::Mark::points, {}, {}};
  const auto drawn = [&](double wait_s) {
    return std::isfinite(wait_s) ? std::max(wait_s, min_s) / hour : nan_value;
  };
  for (const PartitionForecast& queue : queues.queues) {
    const auto centre = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(queue.partition);
    for (std::size_t size = 0; size < SizeClasses::count; ++size) {
      const double from =
          centre +
          (static_cast<double>(size) - static_cast<double>(SizeClasses::count) / 2) * width;
      const auto& [forecast, mean_s] = queue.of_size.at(size);
      const auto bound = [&](double quantile) {
        return drawn(forecast.bound_s(quantile).value_or(nan_value));
      };
      figure.series.at(size).add_bar(from, from + width,
                                     means ? drawn(mean_s) : bound(quantiles[2]));
      if (!means) medians.add(from + width / 2, bound(quantiles[0]));
    }
  }
  if (!means) figure.series.push_back(std::move(medians));
  return figure;
}

}  // namespace

QueueForecast queue_forecast(const JobListing& listing, const SizeClasses& classes,
                             const std::vector<std::string>& partitions, const std::string& qos) {
  QueueForecast report;
  report.classes = classes;
  JobWaits waits = extract_waits(listing, partitions, qos);
  sort_by_names(partitions, listing, qos, waits.partitions);
  report.counts = waits.counts;
  for (const PartitionWaits& partition : waits.partitions) {
    std::array<std::vector<Wait>, SizeClasses::count> of_size;
    for (const Wait& wait : partition.waits)
      if (const auto size = classes.of(listing.jobs[wait.job])) of_size.at(*size).push_back(wait);
    PartitionForecast& queue = report.queues.emplace_back();
    queue.partition = partition.name;
    queue.all = queue_waits_of(partition.waits);
    for (const auto& of_class : of_size) queue.of_size.push_back(queue_waits_of(of_class));
  }
  return report;
}

Report make_report(const QueueForecast& queues) {
  const JobCounts& counts = queues.counts;
  Report report{"waits in the queue"};
  std::size_t starts = 0;
  for (const PartitionForecast& queue : queues.queues) starts += queue.all.forecast.jobs;
  report.add_fact(
      "started", "jobs", counts.started, {},
      fmt::format(" started, {} are pending or were cancelled before their start{}", counts.waiting,
                  queues.own_jobs ? fmt::format("; from your {} own jobs", starts) : ""));
  report.add_json_fact("waiting", counts.waiting);
  report.add_json_fact("records", counts.records);
  report.add_json_fact("own_jobs", queues.own_jobs);
  report.add_fact("same_burst",
                  counts.burst_duplicates + counts.never_eligible > 0 ? "excluded" : "",
                  counts.burst_duplicates, {},
                  fmt::format(" tasks that started together with another of their array, {} jobs "
                              "that were never eligible",
                              counts.never_eligible));
  report.add_json_fact("never_eligible", counts.never_eligible);
  const ValueStyle percent{ValueFormat::decimals, 0, "%"};
  Table table{"queues",
              "",
              {{"partition", "partition"},
               {"size", queues.classes.by_memory ? "GB hours" : "CPU hours"},
               {"jobs", "jobs"},
               json_only_column("waiting"),
               json_only_column("from"),
               json_only_column("to"),
               {"used", "used"},
               {"used_from", "used since"},
               json_only_column("mean_s"),
               {"median_bound_s", "median <", {ValueFormat::duration}},
               {"bound_75_s", "75 % <", {ValueFormat::duration}},
               {"bound_95_s", "95 % <", {ValueFormat::duration}},
               {"percent_in_15_min", "in 15 min", percent},
               {"percent_in_1_h", "in 1 h", percent},
               {"percent_in_4_h", "in 4 h", percent},
               json_only_column("bounds_tested"),
               {"percent_covered", "95 % held", {ValueFormat::decimals, 1}}}};
  const auto add_row = [&](const std::string& partition, const std::string& size,
                           const QueueWaits& waits) {
    const WaitForecast& forecast = waits.forecast;
    if (forecast.jobs + forecast.waiting == 0) return;
    Table::Row& cells = table.rows.emplace_back();
    cells = {partition,
             size,
             forecast.jobs,
             forecast.waiting,
             minute_text(forecast.from_s),
             minute_text(forecast.to_s),
             forecast.used(),
             minute_text(forecast.used_from_s),
             waits.mean_s};
    for (const double quantile : quantiles) cells.emplace_back(forecast.bound_s(quantile));
    for (const std::int64_t seconds : soon) {
      const auto chance = forecast.probability_within(seconds);
      cells.push_back(chance ? Value(100 * *chance) : Value());
    }
    cells.emplace_back(forecast.tested);
    const auto tested = static_cast<double>(forecast.tested);
    cells.push_back(tested == 0 ? Value() : 100 * (static_cast<double>(forecast.covered) / tested));
  };
  const auto names = queues.classes.names();
  for (const PartitionForecast& queue : queues.queues) {
    add_row(queue.partition, "all", queue.all);
    for (std::size_t size = 0; size < names.size(); ++size)
      add_row(queue.partition, names.at(size), queue.of_size.at(size));
  }
  report.add(std::move(table));
  report.add_note(
      "used: the latest jobs; <: upper bound with 95 % confidence (-: not enough history; unknown: "
      "longer than any wait so far); in: share that starts within; 95 % held: how often the 95 % "
      "bound would have been right so far; times in UTC");
  report.add(waits_figure(queues, false));
  return report;
}

namespace {

/// Formats a duration as "0.9 s", "8.2 m" or "14.6 h".
std::string short_duration_text(double seconds) {
  constexpr double minute = 60;
  constexpr double hour = 3600;
  if (seconds < minute) return fmt::format("{:.1f} s", seconds);
  if (seconds < hour) return fmt::format("{:.1f} m", seconds / minute);
  return fmt::format("{:.1f} h", seconds / hour);
}

}  // namespace

Report means_report(const QueueForecast& queues) {
  Report report{"mean waits in the queue"};
  Table& table = report.add(Table{"means", "", {{"Partition", "Partition"}}});
  for (const std::string& name : queues.classes.names()) table.columns.push_back({name, name});
  for (const PartitionForecast& queue : queues.queues) {
    Table::Row& row = table.rows.emplace_back(Table::Row{queue.partition});
    for (const auto& [forecast, mean_s] : queue.of_size)
      row.emplace_back(forecast.jobs == 0
                           ? "NA"
                           : fmt::format("{} ({})", short_duration_text(mean_s), forecast.jobs));
  }
  report.add(waits_figure(queues, true));
  return report;
}

namespace {

/// Formats a time as "14:10", with the date if it is on another day.
std::string clock_text(std::int64_t now_s, const std::optional<double>& after_s) {
  if (!after_s) return "-";
  if (std::isinf(*after_s)) return "unknown";
  const std::time_t now = now_s;
  const std::time_t then = now_s + static_cast<std::int64_t>(std::ceil(*after_s));
  std::tm today{};
  std::tm day{};
  (void)::localtime_r(&now, &today);
  (void)::localtime_r(&then, &day);
  const bool same_day = today.tm_yday == day.tm_yday && today.tm_year == day.tm_year;
  char text[32];
  (void)std::strftime(text, sizeof text, same_day ? "%H:%M" : "%b %d %H:%M", &day);
  return text;
}

std::string choice_limit_text(const Choice& choice) {
  const std::string text =
      fmt::format("{}:{:02}", choice.limit_s / 3600, choice.limit_s % 3600 / 60);
  return choice.start_count > 1 ? fmt::format("{} x {}", choice.start_count, text) : text;
}

/// Forecasts for jobs on at least 2, 4, 8, ... nodes of a partition, which need all their nodes at
/// the same time, while the history suffices for the 95 % bound.
std::vector<WaitForecast> forecast_wide_jobs(const JobListing& listing, std::vector<Wait> waits) {
  std::vector<WaitForecast> forecasts;
  for (std::size_t nodes = 2;; nodes *= 2) {
    std::erase_if(waits, [&](const Wait& wait) { return listing.jobs[wait.job].nodes < nodes; });
    WaitForecast wide = forecast_waits(waits);
    if (!wide.bound_s(0.95)) return forecasts;
    forecasts.push_back(std::move(wide));
  }
}

/// Forecasts of the waits of one partition, for the choices of a campaign.
struct ChoiceForecasts {
  const PartitionForecast* queue = nullptr;
  std::vector<WaitForecast> wide = {};  ///< see forecast_wide_jobs()

  /// Returns the forecast for jobs on `nodes` nodes (a power of two); see make_advice().
  [[nodiscard]] const WaitForecast& find(std::size_t nodes, std::size_t size_class) const {
    const WaitForecast* found = nullptr;
    std::size_t min = 2;
    for (const WaitForecast& forecast : wide) {
      if (min == nodes || min == nodes / 2) found = &forecast;
      min *= 2;
    }
    if (found != nullptr) return *found;
    const WaitForecast& same_size = queue->of_size.at(size_class).forecast;
    return same_size.bound_s(0.95) ? same_size : queue->all.forecast;
  }
};

double core_hours(const PlanTimes& plans) {
  return std::accumulate(plans.core_s.begin(), plans.core_s.end(), 0.0) / 3600;
}

}  // namespace

Advice make_advice(const CampaignOnCluster& campaign, ChoiceOrder order, std::int64_t now_s) {
  const JobListing& listing = campaign.history.listing;
  const QueueForecast waits = queue_forecast(listing, {}, {}, {});
  Advice advice{.plans = campaign.plans.core_s.size(),
                .core_hours = core_hours(campaign.plans),
                .speed_source = campaign.speed_source,
                .gpu_speed_source = {},
                .now_s = now_s,
                .choices = {},
                .here = {},
                .reason = "All plans are solved; nothing to submit.",
                .notes = campaign.notes};
  if (campaign.history.own_jobs)
    advice.notes.push_back(
        fmt::format("waits are those of your own {} jobs", waits.counts.started));
  if (advice.plans == 0) return advice;
  std::map<std::string, ChoiceForecasts> forecasts;
  for (const PartitionForecast& queue : waits.queues) forecasts[queue.partition].queue = &queue;
  for (const PartitionWaits& partition : extract_waits(listing).partitions)
    forecasts.at(partition.name).wide = forecast_wide_jobs(listing, partition.waits);
  advice.choices = campaign_choices(
      campaign.plans, campaign.partitions, campaign.limits,
      [&](const std::string& partition, std::size_t nodes,
          double core_hours) -> const WaitForecast* {
        const auto found = forecasts.find(partition);
        if (found == forecasts.end()) return nullptr;
        return &found->second.find(nodes, waits.classes.of_hours(core_hours));
      },
      order);
  if (advice.choices.empty())
    throw RunError("none of the partitions has GPUs, which --device gpu requires; omit it");
  if (std::ranges::any_of(advice.choices, [](const Choice& choice) { return choice.gpus > 0; }))
    advice.gpu_speed_source = campaign.gpu_speed_source;
  advice.reason = recommendation_text(advice.choices, order);
  advice.here =
      machine_times(campaign.plans, campaign.local_cores, campaign.local_gpus, campaign.limits);
  std::erase_if(advice.here, [](const MachineTime& machine) { return !machine.is_here; });
  return advice;
}

namespace {

/// Adds the work of a campaign, the origin of its estimate, and the notes.
void add_work(Report& report, std::size_t plans, double core_hours, const std::string& speed_source,
              const std::string& gpu_speed_source, const std::vector<std::string>& notes) {
  std::string work = " to solve";
  if (!std::isnan(core_hours))
    work += fmt::format(", {:.3g} core hours, {}", core_hours, speed_source);
  report.add_fact("plans", "plans", plans, {}, work);
  report.add_json_fact("core_hours", core_hours);
  report.add_json_fact("speed", speed_source);
  if (!gpu_speed_source.empty()) report.add_text_fact("speed of a GPU", gpu_speed_source);
  report.add_json_fact("gpu_speed", gpu_speed_source.empty() ? Value() : Value(gpu_speed_source));
  for (const std::string& note : notes) report.add_text_fact("note", note);
  report.add_json_fact("notes", fmt::format("{}", fmt::join(notes, "; ")));
}

/// Adds the times without a wait in a scheduler queue, and what each of them contains.
void add_machines(Report& report, const std::vector<MachineTime>& machines) {
  Table& table = report.add(Table{"machines",
                                  "",
                                  {{"machine", "machine"},
                                   json_only_column("is_here"),
                                   json_only_column("nodes"),
                                   json_only_column("cores"),
                                   json_only_column("gpus"),
                                   json_only_column("start_up_s"),
                                   {"run_s", "run", {ValueFormat::duration}},
                                   {"assumptions", "assumptions"}}});
  for (const MachineTime& machine : machines) {
    std::string assumptions = machine.gpus > 0  ? "speed of a GPU as above"
                              : machine.is_here ? "cores as fast as the measured one"
                                                : "cores as fast as those of this machine";
    if (machine.is_here)
      assumptions += "; without the start of the program";
    else
      assumptions += fmt::format("; {} s for the start and end of the job; without its wait",
                                 machine.start_up_s);
    table.rows.push_back({machine.machine, machine.is_here, machine.nodes, machine.cores,
                          machine.gpus, machine.start_up_s, machine.run_s, assumptions});
  }
}

}  // namespace

Report make_report(const Advice& advice, std::size_t first) {
  Report report{"where to run"};
  add_work(report, advice.plans, advice.core_hours, advice.speed_source, advice.gpu_speed_source,
           advice.notes);
  const std::vector<Choice>& choices = advice.choices;
  const ValueStyle duration{ValueFormat::duration};
  const ValueStyle hours{ValueFormat::decimals, 2};
  Table& table = report.add(Table{"choices",
                                  "",
                                  {{"choice", "choice"},
                                   json_only_column("partition"),
                                   json_only_column("nodes"),
                                   json_only_column("gpus"),
                                   json_only_column("jobs"),
                                   json_only_column("at_a_time"),
                                   json_only_column("cores"),
                                   json_only_column("time_limit_s"),
                                   json_only_column("starts"),
                                   text_only_column("time limit"),
                                   {"run_s", "run", duration},
                                   {"wait_median_bound_s", "median wait <", duration},
                                   {"wait_bound_95_s", "95 % wait <", duration},
                                   json_only_column("done_median_s"),
                                   text_only_column("done by"),
                                   json_only_column("done_95_s"),
                                   text_only_column("95 % by"),
                                   {"core_hours", "core hours", hours},
                                   {"gpu_hours", "GPU hours", hours},
                                   json_only_column("submit_options")}});
  table.max_text_rows = first;
  for (const Choice& choice : choices)
    table.rows.push_back({choice_text(choice),
                          choice.partition,
                          choice.nodes,
                          choice.gpus,
                          choice.jobs,
                          choice.max_concurrent,
                          choice.cores,
                          choice.limit_s,
                          choice.start_count,
                          choice_limit_text(choice),
                          choice.run_s,
                          choice.wait_s,
                          choice.wait_95_s,
                          choice.completion_s(),
                          clock_text(advice.now_s, choice.completion_s()),
                          choice.completion_95_s(),
                          clock_text(advice.now_s, choice.completion_95_s()),
                          choice.core_hours,
                          choice.gpu_hours,
                          submit_options(choice)});
  constexpr std::size_t gpu_hours_from_end = 2;  // the column before the last
  table.hide_constant_columns(0.0, table.columns.size() - gpu_hours_from_end);
  add_machines(report, advice.here);
  report.add_note(advice.reason);
  report.add_json_fact("reason", advice.reason);
  return report;
}

Report make_report(const CampaignOnCluster& campaign) {
  Report report{"where to run"};
  const PlanTimes& plans = campaign.plans;
  add_work(report, plans.core_s.size(), core_hours(plans), campaign.speed_source,
           plans.gpu_s.empty() ? "" : campaign.gpu_speed_source, campaign.notes);
  std::vector<MachineTime> machines;
  std::string reason = "All plans are solved; nothing to run.";
  if (!plans.core_s.empty()) {
    machines = machine_times(plans, campaign.local_cores, campaign.local_gpus, campaign.limits);
    reason = recommendation_text(machines);
  }
  add_machines(report, machines);
  report.add_note(reason);
  report.add_json_fact("reason", reason);
  return report;
}

std::string submit_options(const Choice& choice) {
  std::string text = fmt::format("--partition {} --nodes {}", choice.partition, choice.nodes);
  if (choice.job_cores > 0) text += fmt::format(" --cores {}", choice.job_cores);
  if (choice.gpus > 0) text += fmt::format(" --gpus {}", choice.gpus);
  if (choice.jobs > 1) text += fmt::format(" --array {}", choice.jobs);
  if (choice.max_concurrent < choice.jobs)
    text += fmt::format(" --max-running {}", choice.max_concurrent);
  // Round down to whole minutes, but to at least one.
  const std::int64_t minutes = std::max<std::int64_t>(choice.limit_s / 60, 1);
  const std::int64_t hours = minutes / 60;
  text += hours > 0 ? fmt::format(" --time {}h", hours) : " --time ";
  if (minutes % 60 > 0) text += fmt::format("{}m", minutes % 60);
  return text;
}

}  // namespace wallheat
