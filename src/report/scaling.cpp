#include "report/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/number_of.hpp"
#include "report/attributes.hpp"
#include "report/summary.hpp"
#include "report/unknown.hpp"
#include "store/merge.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr const char* explanation =
    "F: parallel share of the work by Amdahl's law; S(inf) = 1 / (1 - F): the speed-up that no "
    "number of workers exceeds";

std::string share_text(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.3f}", share);
}

std::string speedup_limit_text(double limit) {
  if (std::isnan(limit)) return "-";
  return std::isinf(limit) ? "no limit" : fmt::format("{:.2f}", limit);
}

}  // namespace

double parallel_share(double speedup, double workers) {
  return workers > 1 ? (1 - 1 / speedup) / (1 - 1 / workers) : unknown;
}

double largest_speedup(double parallel_share) {
  return parallel_share >= 1 ? std::numeric_limits<double>::infinity() : 1 / (1 - parallel_share);
}

std::optional<double> one_worker_seconds(const std::vector<ScalingPoint>& points) {
  std::optional<double> least;
  for (const ScalingPoint& point : points)
    if (point.workers == 1) least = std::min(least.value_or(point.seconds), point.seconds);
  return least;
}

double Scaling::limit() const {
  if (longest_plan)
    return rows.front().speedup * rows.front().point.seconds / longest_plan->seconds;
  return largest_speedup(parallel_share);
}

Scaling scaling_of(std::string name, const std::vector<ScalingPoint>& points, double one_worker_s,
                   const std::optional<Scaling::LongestPlan>& longest_plan) {
  std::map<std::size_t, double> best;
  for (const auto& [workers, seconds] : points) {
    const auto [place, is_new] = best.emplace(workers, seconds);
    if (!is_new) place->second = std::min(place->second, seconds);
  }
  const auto fastest =
      std::ranges::min_element(best, {}, [](const auto& point) { return point.second; });
  constexpr double more_than_noise = 1.05;
  Scaling scaling{std::move(name), {}, unknown,
                  longest_plan,    {}, {fastest->first, fastest->second}};
  double above = 0;
  double below = 0;
  for (const auto& [workers, seconds] : best) {
    const auto count = static_cast<double>(workers);
    const double speedup = one_worker_s / seconds;
    scaling.rows.push_back(
        {{workers, seconds}, speedup, speedup / count, parallel_share(speedup, count)});
    if (workers > fastest->first && seconds > more_than_noise * fastest->second) {
      scaling.slower.push_back({workers, seconds});
      continue;
    }
    // 1 - 1 / S = F (1 - 1 / p), a line through the origin.
    above += (1 - 1 / speedup) * (1 - 1 / count);
    below += (1 - 1 / count) * (1 - 1 / count);
  }
  if (below > 0 && !longest_plan) scaling.parallel_share = above / below;
  return scaling;
}

std::vector<std::string> remarks_on(const Scaling& scaling) {
  std::vector<std::string> remarks;
  if (scaling.longest_plan) {
    const auto& [seconds, workers] = *scaling.longest_plan;
    remarks.push_back(
        fmt::format("no more than {:.2f} times as fast as one worker: the longest "
                    "plan takes {} s; {} worker(s) suffice",
                    scaling.limit(), seconds_text(seconds), workers));
  }
  for (const auto& [workers, seconds] : scaling.slower)
    remarks.push_back(fmt::format("{} workers are slower than {}: {} s, not {} s{}", workers,
                                  scaling.fastest.workers, seconds_text(seconds),
                                  seconds_text(scaling.fastest.seconds),
                                  scaling.longest_plan ? "" : "; the fit leaves them out"));
  return remarks;
}

void print_scalings(const std::vector<Scaling>& scalings) {
  bool explained = false;
  for (const Scaling& scaling : scalings) {
    if (!scaling.name.empty()) fmt::print("{}\n", scaling.name);
    const bool fitted = !scaling.longest_plan;
    std::vector<std::vector<std::string>> rows{{"workers", "time s", "speed-up", "efficiency"}};
    if (fitted) rows.front().insert(rows.front().end(), {"F", "S(inf)"});
    for (const auto& [point, speedup, efficiency, share] : scaling.rows) {
      rows.push_back({fmt::format("{}", point.workers), seconds_text(point.seconds),
                      fmt::format("{:.2f}", speedup), fmt::format("{:.1f} %", 100 * efficiency)});
      if (fitted)
        rows.back().insert(rows.back().end(),
                           {share_text(share), speedup_limit_text(largest_speedup(share))});
    }
    if (fitted)
      rows.push_back({"fit", "", "", "", share_text(scaling.parallel_share),
                      speedup_limit_text(scaling.limit())});
    print_table(fitted ? "rrrrrr" : "rrrr", rows, 0);
    for (const std::string& remark : remarks_on(scaling)) print_line(remark, 2);
    fmt::print("\n");
    explained = explained || fitted;
  }
  if (explained) print_line(explanation, 2);
}

std::string to_json_text(const std::vector<Scaling>& scalings, const std::string& source) {
  Json json{{"source", source}, {"scalings", Json::array()}};
  for (const Scaling& scaling : scalings) {
    Json points = Json::array();
    for (const auto& [point, speedup, efficiency, share] : scaling.rows) {
      points.push_back({{"workers", point.workers},
                        {"seconds", point.seconds},
                        {"speedup", speedup},
                        {"efficiency", efficiency}});
      if (scaling.longest_plan) continue;
      points.back()["parallel_share"] = share;
      points.back()["largest_speedup"] = largest_speedup(share);
    }
    Json one;
    if (!scaling.name.empty()) one["schedule"] = scaling.name;
    one["points"] = std::move(points);
    if (scaling.longest_plan) {
      one["longest_plan_s"] = scaling.longest_plan->seconds;
      one["sufficient_workers"] = scaling.longest_plan->sufficient_workers;
    } else {
      one["parallel_share"] = scaling.parallel_share;
    }
    one["largest_speedup"] = scaling.limit();
    one["remarks"] = remarks_on(scaling);
    json["scalings"].push_back(std::move(one));
  }
  return json_text(json);
}

Plot scaling_plot(const std::vector<Scaling>& scalings, const std::string& title) {
  Plot plot;
  double most = 2;
  double least_speedup = 1;
  for (const Scaling& scaling : scalings) {
    for (const Scaling::Row& row : scaling.rows) {
      most = std::max({most, static_cast<double>(row.point.workers), row.speedup});
      least_speedup = std::min(least_speedup, row.speedup);
    }
  }
  plot.set_heading(title);
  plot.add("set title heading");
  plot.add("set xlabel 'workers'");
  plot.add("set ylabel 'speed-up'");
  plot.add("set logscale xy 2");
  constexpr double room = 1.15;
  plot.add("set xrange [{:.10g}:{:.10g}]", 1 / room, most * room);
  plot.add("set yrange [{:.10g}:{:.10g}]", least_speedup / room, most * room);
  plot.add("set samples 400");
  plot.add("set key outside below center horizontal height 1");  // its texts are long
  std::string curves = "plot x with lines linetype 4 dashtype 3 title 'ideal'";
  std::size_t colour = 0;
  for (const Scaling& scaling : scalings) {
    std::vector<std::vector<double>> points;
    for (const Scaling::Row& row : scaling.rows)
      points.push_back({static_cast<double>(row.point.workers), row.speedup});
    const std::string data = plot.add_data(points);
    ++colour;
    const std::string name = scaling.name.empty() ? "" : scaling.name + ": ";
    const double share = scaling.parallel_share;
    const std::string limit = speedup_limit_text(scaling.limit());
    if (scaling.longest_plan)
      curves += fmt::format(
          ", (x < {0:.10g} ? x : {0:.10g}) with lines linetype {1} linewidth 1.5 title {2}",
          scaling.limit(), colour,
          Plot::quoted(fmt::format("{}at most {}, by the longest plan", name, limit)));
    else if (!std::isnan(share))
      curves += fmt::format(
          ", 1 / ({0:.10g} + {1:.10g} / x) with lines linetype {2} linewidth 1.5 title {3}",
          1 - share, share, colour,
          Plot::quoted(fmt::format("{}Amdahl with F = {:.3f}, S(inf) = {}", name, share, limit)));
    // Points of equal height are seen around each other.
    const double size = 1.3 + 0.35 * static_cast<double>(scalings.size() - colour);
    curves +=
        fmt::format(", {} with points linetype {} pointsize {:.2f} title {}", data, colour, size,
                    Plot::quoted(scaling.longest_plan ? name + "replayed" : name + "measured"));
  }
  plot.add(curves);
  return plot;
}

void print_plan_counts(const std::vector<PlanCountPoint>& points) {
  std::vector<std::vector<std::string>> rows{{"plans", "time s", "s a plan", "plans/s"}};
  for (const auto& [plans, seconds] : points) {
    const auto count = static_cast<double>(plans);
    rows.push_back({fmt::format("{}", plans), seconds_text(seconds), seconds_text(seconds / count),
                    fmt::format("{:.3g}", count / seconds)});
  }
  print_table("rrrr", rows, 0);
}

std::string to_json_text(const std::vector<PlanCountPoint>& points, std::size_t workers) {
  Json json{{"workers", workers}, {"points", Json::array()}};
  for (const auto& [plans, seconds] : points)
    json["points"].push_back({{"plans", plans},
                              {"seconds", seconds},
                              {"seconds_a_plan", seconds / static_cast<double>(plans)}});
  return json_text(json);
}

Plot plan_count_plot(const std::vector<PlanCountPoint>& points, const std::string& title) {
  Plot plot;
  std::vector<std::vector<double>> rows;
  for (const auto& [plans, seconds] : points)
    rows.push_back({static_cast<double>(plans), seconds / static_cast<double>(plans)});
  plot.set_heading(title);
  plot.add("set title heading");
  plot.add("set xlabel 'plans'");
  plot.add("set ylabel 'seconds a plan'");
  plot.add("set logscale x 2");
  plot.add("set yrange [0:*]");
  plot.add("plot {} with linespoints linetype 1 pointsize 1.3 notitle", plot.add_data(rows));
  return plot;
}

std::optional<std::size_t> workers_of(const Attributes& session) {
  const auto count = number_of<std::size_t>(text_in(session, "plans_at_once"));
  return count && *count > 0 ? count : std::nullopt;
}

std::optional<std::size_t> workers_of(const ResultReader& reader) {
  std::set<std::size_t> workers;
  for (const Attributes& session : reader.sessions())
    if (const auto count = workers_of(session)) workers.insert(*count);
  return workers.size() == 1 ? std::optional(*workers.begin()) : std::nullopt;
}

ScalingPoint finished_run(const std::string& file, const ResultReader& reader) {
  const auto pending = static_cast<std::size_t>(
      std::ranges::count(reader.rows(), PlanStatus::pending, &PlanResult::status));
  if (pending > 0)
    throw RunError(fmt::format("{}: {} of {} plans are not solved yet; finish it with --resume",
                               file, pending, reader.rows().size()));
  std::set<std::size_t> workers;
  for (const Attributes& session : reader.sessions()) {
    if (merged_parts(session) || is_from_part(session))
      throw RunError(file +
                     " was merged from parts, which may have run at the same time or not; name "
                     "files of single runs");
    const auto count = workers_of(session);
    if (!count && text_in(session, "solved") == "0") continue;
    if (!session.contains("seconds") || !count)
      throw RunError(file +
                     ": one of its sessions was killed and left no time; name files of runs that "
                     "ended by themselves");
    workers.insert(*count);
  }
  const double seconds = wall_time(reader.sessions()).seconds;
  if (workers.empty() || !(seconds > 0)) throw RunError(file + " does not say how long it took");
  if (workers.size() > 1)
    throw RunError(fmt::format("{}: its sessions had {} and {} workers, so its time is of neither",
                               file, *workers.begin(), *workers.rbegin()));
  return {*workers.begin(), seconds};
}

void require_same_plans(const std::string& first_file, const ResultReader& first,
                        const std::string& file, const ResultReader& reader) {
  const auto refuse = [&](const std::string& why) {
    throw RunError(
        fmt::format("{} and {} {}, so their times cannot be compared", first_file, file, why));
  };
  if (first.settings() != reader.settings())
    refuse("were solved with other settings ('wallheat compare' names them)");
  const bool same =
      std::ranges::equal(first.rows(), reader.rows(), [](const PlanResult& a, const PlanResult& b) {
        return a.id == b.id && a.input_hash == b.input_hash;
      });
  if (!same) refuse("hold other plans");
}

}  // namespace wallheat
