#include "report/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "report/unknown.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

constexpr const char* explanation =
    "F: parallel share of the work by Amdahl's law; S(inf) = 1 / (1 - F): the speed-up that no "
    "number of workers exceeds";

std::string share_text(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.3f}", share);
}

std::string speedup_limit_text(double share) {
  if (std::isnan(share)) return "-";
  const double limit = largest_speedup(share);
  return std::isinf(limit) ? "no limit" : fmt::format("{:.2f}", limit);
}

/// JSON knows no infinity.
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

Scaling scaling_of(std::string name, const std::vector<ScalingPoint>& points, double one_worker_s) {
  std::map<std::size_t, double> best;
  for (const auto& [workers, seconds] : points) {
    const auto [place, is_new] = best.emplace(workers, seconds);
    if (!is_new) place->second = std::min(place->second, seconds);
  }
  Scaling scaling{std::move(name), {}, unknown};
  double above = 0;
  double below = 0;
  for (const auto& [workers, seconds] : best) {
    const auto count = static_cast<double>(workers);
    const double speedup = one_worker_s / seconds;
    scaling.rows.push_back(
        {{workers, seconds}, speedup, speedup / count, parallel_share(speedup, count)});
    // 1 - 1 / S = F (1 - 1 / p), a line through the origin.
    above += (1 - 1 / speedup) * (1 - 1 / count);
    below += (1 - 1 / count) * (1 - 1 / count);
  }
  if (below > 0) scaling.parallel_share = above / below;
  return scaling;
}

void print_scalings(const std::vector<Scaling>& scalings) {
  for (const Scaling& scaling : scalings) {
    if (!scaling.name.empty()) fmt::print("{}\n", scaling.name);
    std::vector<std::vector<std::string>> rows{
        {"workers", "time s", "speed-up", "efficiency", "F", "S(inf)"}};
    for (const auto& [point, speedup, efficiency, share] : scaling.rows)
      rows.push_back({fmt::format("{}", point.workers), seconds_text(point.seconds),
                      fmt::format("{:.2f}", speedup), fmt::format("{:.1f} %", 100 * efficiency),
                      share_text(share), speedup_limit_text(share)});
    rows.push_back({"all", "", "", "", share_text(scaling.parallel_share),
                    speedup_limit_text(scaling.parallel_share)});
    print_table("rrrrrr", rows, 0);
    fmt::print("\n");
  }
  print_line(explanation, 2);
}

std::string to_json_text(const std::vector<Scaling>& scalings, const std::string& source) {
  Json json{{"source", source}, {"scalings", Json::array()}};
  for (const Scaling& scaling : scalings) {
    Json points = Json::array();
    for (const auto& [point, speedup, efficiency, share] : scaling.rows)
      points.push_back({{"workers", point.workers},
                        {"seconds", point.seconds},
                        {"speedup", speedup},
                        {"efficiency", efficiency},
                        {"parallel_share", share},
                        {"largest_speedup", largest_speedup(share)}});
    Json one;
    if (!scaling.name.empty()) one["schedule"] = scaling.name;
    one["points"] = std::move(points);
    one["parallel_share"] = scaling.parallel_share;
    one["largest_speedup"] = largest_speedup(scaling.parallel_share);
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
  plot.add(fmt::format("set xrange [{:.10g}:{:.10g}]", 1 / room, most * room));
  plot.add(fmt::format("set yrange [{:.10g}:{:.10g}]", least_speedup / room, most * room));
  plot.add("set samples 400");
  plot.add("set key outside below center horizontal");  // its texts are long
  std::string curves = "plot x with lines linetype 4 dashtype 3 title 'ideal'";
  int colour = 0;
  for (const Scaling& scaling : scalings) {
    std::vector<std::vector<double>> points;
    for (const Scaling::Row& row : scaling.rows)
      points.push_back({static_cast<double>(row.point.workers), row.speedup});
    const std::string data = plot.add_data(points);
    ++colour;
    const std::string name = scaling.name.empty() ? "" : scaling.name + ": ";
    const double share = scaling.parallel_share;
    if (!std::isnan(share))
      curves += fmt::format(
          ", 1 / ({0:.10g} + {1:.10g} / x) with lines linetype {2} linewidth 1.5 title {3}",
          1 - share, share, colour,
          Plot::quoted(fmt::format("{}Amdahl with F = {:.3f}, S(inf) = {}", name, share,
                                   speedup_limit_text(share))));
    curves += fmt::format(", {} with points linetype {} pointsize 1.3 title {}", data, colour,
                          Plot::quoted(scaling.name.empty() ? "measured" : scaling.name));
  }
  plot.add(curves);
  return plot;
}

}  // namespace wallheat
