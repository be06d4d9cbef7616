#include "report/queue_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/utc_text.hpp"
#include "report/unknown.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

constexpr const char* all_sizes = "all";
constexpr std::array quantiles{0.5, 0.75, 0.95};
constexpr std::array<std::pair<std::int64_t, const char*>, 3> soon{
    {{900, "15 min"}, {3600, "1 h"}, {14400, "4 h"}}};

double mean_wait_of(const std::vector<Wait>& waits) {
  double sum = 0;
  std::size_t count = 0;
  for (const Wait& wait : waits) {
    if (!wait.started) continue;
    sum += static_cast<double>(wait.wait_s);
    ++count;
  }
  return count == 0 ? unknown : sum / static_cast<double>(count);
}

/// The partitions asked for.
std::vector<const PartitionWaits*> chosen(const std::vector<PartitionWaits>& all,
                                          const std::vector<std::string>& names) {
  std::vector<const PartitionWaits*> partitions;
  if (names.empty())
    for (const PartitionWaits& partition : all) partitions.push_back(&partition);
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &PartitionWaits::name);
    if (found == all.end()) {
      std::vector<std::string> known;
      known.reserve(all.size());
      for (const PartitionWaits& partition : all) known.push_back(partition.name);
      throw UnknownPartition(
          fmt::format("no job in the listing was in the partition '{}'; there are {}", name,
                      fmt::join(known, ", ")));
    }
    partitions.push_back(&*found);
  }
  return partitions;
}

std::string bound_text(const std::optional<double>& bound_s, const WaitForecast& forecast) {
  if (!bound_s) return "not enough history";
  if (std::isinf(*bound_s))
    return "over " + duration_text(static_cast<double>(forecast.waits_s.back()));
  return duration_text(*bound_s);
}

std::string chance_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "-";
}

std::string day_text(std::int64_t seconds) { return utc_text(seconds, "%Y-%m-%d %H:%M"); }

std::size_t starts_in(const QueueReport& report) {
  std::size_t jobs = 0;
  for (const QueueRow& row : report.rows)
    if (row.size == all_sizes) jobs += row.forecast.jobs;
  return jobs;
}

}  // namespace

QueueReport queue_report(const JobListing& listing, const SizeClasses& classes,
                         const std::vector<std::string>& partitions, const std::string& qos,
                         const StatedWaitSink& tell) {
  QueueReport report;
  report.classes = classes;
  report.counts = waits_of(listing, qos);
  const auto names = classes.names();
  const auto add = [&](const std::string& partition, const std::string& size,
                       const std::vector<Wait>& waits) {
    QueueRow row{partition, size, {}, mean_wait_of(waits)};
    std::function<void(const StatedWait&)> listener;
    if (tell)
      listener = [&](const StatedWait& stated) {
        const Wait& wait = waits[stated.job];
        tell(row, listing.jobs[wait.job], wait, stated);
      };
    row.forecast = forecast_waits(waits, listener);
    report.rows.push_back(std::move(row));
  };
  for (const PartitionWaits* partition : chosen(report.counts.partitions, partitions)) {
    add(partition->name, all_sizes, partition->waits);
    std::array<std::vector<Wait>, SizeClasses::count> of_size;
    for (const Wait& wait : partition->waits)
      if (const auto size = classes.of(listing.jobs[wait.job])) of_size.at(*size).push_back(wait);
    for (std::size_t size = 0; size < of_size.size(); ++size)
      add(partition->name, names.at(size), of_size.at(size));
  }
  report.counts.partitions.clear();
  return report;
}

std::vector<WideWaits> wide_waits(const JobListing& listing) {
  std::vector<WideWaits> wide;
  for (const PartitionWaits& partition : waits_of(listing).partitions) {
    std::vector<Wait> waits = partition.waits;
    for (std::size_t nodes = 2;; nodes *= 2) {
      std::erase_if(waits, [&](const Wait& wait) { return listing.jobs[wait.job].nodes < nodes; });
      WaitForecast forecast = forecast_waits(waits);
      if (!forecast.bound_s(0.95)) break;
      wide.push_back({partition.name, nodes, std::move(forecast)});
    }
  }
  return wide;
}

const WaitForecast* forecast_for(const QueueReport& report, const std::string& partition,
                                 std::size_t nodes, double core_hours) {
  for (const std::size_t least : {nodes, nodes / 2})
    for (const WideWaits& wide : report.wide)
      if (wide.partition == partition && wide.nodes == least) return &wide.forecast;
  const std::string size = report.classes.names().at(report.classes.of_hours(core_hours));
  const WaitForecast* any_size = nullptr;
  for (const QueueRow& row : report.rows) {
    if (row.partition != partition) continue;
    if (row.size == all_sizes) any_size = &row.forecast;
    if (row.size == size && row.forecast.bound_s(0.95)) return &row.forecast;
  }
  return any_size;
}

void print_queue_report(const QueueReport& report) {
  const JobWaits& counts = report.counts;
  constexpr std::size_t column = 10;  // where the facts stand
  print_line(
      fmt::format("jobs      {} started, {} wait or were cancelled first{}", counts.started,
                  counts.waiting,
                  report.own_jobs ? fmt::format("; from your {} own jobs", starts_in(report)) : ""),
      column);
  if (counts.same_burst + counts.never_eligible > 0)
    print_line(fmt::format("left out  {} tasks that started together with another of their array, "
                           "{} jobs that were never eligible",
                           counts.same_burst, counts.never_eligible),
               column);
  fmt::print("\n");
  std::vector<std::vector<std::string>> rows{
      {"partition", report.classes.by_memory ? "GB hours" : "CPU hours", "jobs", "used",
       "used since", "median <", "75 % <", "95 % <"}};
  for (const auto& [seconds, name] : soon) rows[0].push_back(std::string("in ") + name);
  rows[0].emplace_back("95 % held");
  for (const QueueRow& row : report.rows) {
    const WaitForecast& forecast = row.forecast;
    if (forecast.jobs + forecast.waiting == 0) continue;
    rows.push_back({row.partition, row.size, fmt::format("{}", forecast.jobs),
                    fmt::format("{}", forecast.used()), day_text(forecast.used_from_s)});
    for (const double quantile : quantiles)
      rows.back().push_back(bound_text(forecast.bound_s(quantile), forecast));
    for (const auto& [seconds, name] : soon)
      rows.back().push_back(chance_text(forecast.chance_within(seconds)));
    rows.back().push_back(forecast.scored == 0
                              ? "-"
                              : fmt::format("{:.1f} %", 100.0 * static_cast<double>(forecast.held) /
                                                            static_cast<double>(forecast.scored)));
  }
  print_table("llrrlrrrrrrr", rows, 0);
  fmt::print("\n");
  print_line(
      "used: jobs since the queue last changed; <: upper bound with 95 % confidence; in: share "
      "that "
      "starts within; 95 % held: share of earlier jobs that waited no longer than they would have "
      "been told; times in UTC",
      2);
}

std::string to_json_text(const QueueReport& report) {
  const JobWaits& counts = report.counts;
  Json json{{"own_jobs", report.own_jobs},     {"records", counts.records},
            {"started", counts.started},       {"waiting", counts.waiting},
            {"same_burst", counts.same_burst}, {"never_eligible", counts.never_eligible},
            {"queues", Json::array()}};
  for (const QueueRow& row : report.rows) {
    const WaitForecast& forecast = row.forecast;
    const bool any = forecast.jobs + forecast.waiting > 0;
    const auto utc = [&](std::int64_t seconds) {
      return any ? Json(utc_text(seconds, "%Y-%m-%dT%H:%M:%SZ")) : Json(nullptr);
    };
    json["queues"].push_back(
        {{"partition", row.partition},
         {"size", row.size},
         {"jobs", forecast.jobs},
         {"waiting", forecast.waiting},
         {"from", utc(forecast.from_s)},
         {"to", utc(forecast.to_s)},
         {"changes", forecast.changes},
         {"used", forecast.used()},
         {"used_from", utc(forecast.used_from_s)},
         {"mean_s", row.mean_s},
         {"median_bound_s", forecast.bound_s(quantiles[0]).value_or(unknown)},
         {"bound_75_s", forecast.bound_s(quantiles[1]).value_or(unknown)},
         {"bound_95_s", forecast.bound_s(quantiles[2]).value_or(unknown)},
         {"chance_15_min", forecast.chance_within(soon[0].first).value_or(unknown)},
         {"chance_1_h", forecast.chance_within(soon[1].first).value_or(unknown)},
         {"chance_4_h", forecast.chance_within(soon[2].first).value_or(unknown)},
         {"bounds_tested", forecast.scored},
         {"bounds_held", forecast.held}});
  }
  return json_text(json);
}

std::string short_duration_text(double seconds) {
  constexpr double minute = 60;
  constexpr double hour = 3600;
  if (seconds < minute) return fmt::format("{:.1f} s", seconds);
  if (seconds < hour) return fmt::format("{:.1f} m", seconds / minute);
  return fmt::format("{:.1f} h", seconds / hour);
}

void print_mean_waits(const QueueReport& report) {
  std::vector<std::vector<std::string>> rows{{"Partition"}};
  for (const std::string& name : report.classes.names()) rows[0].push_back(name);
  for (const QueueRow& row : report.rows) {
    if (row.size == all_sizes) {
      rows.push_back({row.partition});
    } else {
      rows.back().push_back(
          row.forecast.jobs == 0
              ? "NA"
              : fmt::format("{} ({})", short_duration_text(row.mean_s), row.forecast.jobs));
    }
  }
  print_table("lllll", rows, 0);
}

Plot queue_plot(const QueueReport& report, bool means) {
  Plot plot;
  std::vector<std::vector<double>> bars;     // partition, class 1, class 2, ...
  std::vector<std::vector<double>> medians;  // place, seconds
  std::vector<std::pair<std::string, double>> names;
  constexpr double width = 1.0 / (SizeClasses::count + 1);
  constexpr double least_s = 0.5;  // nothing is 0 on a logarithmic axis
  for (const QueueRow& row : report.rows) {
    const auto place = static_cast<double>(bars.size());
    if (row.size == all_sizes) {
      names.emplace_back(row.partition, place);
      bars.emplace_back();
      continue;
    }
    const double bar = means ? row.mean_s : row.forecast.bound_s(quantiles[2]).value_or(unknown);
    const auto order = static_cast<double>(bars.back().size());
    const double left = place - 1 + (order - (SizeClasses::count - 1) / 2.0) * width;
    bars.back().push_back(std::isinf(bar) ? unknown : std::max(bar, least_s));
    if (const auto median = row.forecast.bound_s(quantiles[0]); median && !means)
      medians.push_back({left, std::isinf(*median) ? unknown : std::max(*median, least_s)});
  }
  const std::string data = plot.add_data(bars);
  const std::string points = medians.empty() ? "" : plot.add_data(medians);
  plot.set_heading(means ? "mean wait" : "95 % of jobs wait at most (with 95 % confidence)");
  plot.add("set title heading");
  plot.add("set ylabel 'wait'");
  plot.add("set logscale y");
  plot.add(
      "set ytics ('1 s' 1, '10 s' 10, '1 min' 60, '10 min' 600, '1 h' 3600, '6 h' 21600, '1 d' "
      "86400, '1 week' 604800)");
  plot.add("set yrange [{}:*]", least_s);
  plot.add("set xrange [-0.6:{}]", static_cast<double>(bars.size()) - 0.4);
  plot.add("set xtics " + Plot::ticks(names));
  std::string curves;
  const auto classes = report.classes.names();
  for (std::size_t k = 0; k < classes.size(); ++k)
    curves += fmt::format("{} {} using ($0 + {:.4f}):{}:({:.4f}) with boxes linetype {} title {}",
                          k == 0 ? "plot" : ",", data,
                          (static_cast<double>(k) - (SizeClasses::count - 1) / 2.0) * width, k + 1,
                          width * 0.9, k + 1, Plot::quoted(classes.at(k)));
  if (!points.empty())
    curves += fmt::format(
        ", {} using 1:2 with points pointtype 7 linecolor rgb '#000000' title 'median'", points);
  plot.add(curves);
  return plot;
}

}  // namespace wallheat
