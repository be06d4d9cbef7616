#include "report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "core/answer.hpp"
#include "core/printable.hpp"
#include "report/attributes.hpp"
#include "report/time_ledger.hpp"
#include "report/unknown.hpp"
#include "store/merge.hpp"
#include "view/advice.hpp"
#include "view/bytes_text.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {
namespace {

constexpr std::size_t longest_list = 5;
constexpr std::size_t indent = 6;  // of what goes on in a further line

double mean_of(const std::vector<double>& values) {
  return values.empty() ? unknown : numpy_sum(values) / static_cast<double>(values.size());
}

double std_of(std::vector<double> values) {
  const double mean = mean_of(values);
  for (double& value : values) value = (value - mean) * (value - mean);
  return std::sqrt(mean_of(values));
}

double median_of(std::vector<double> values) {
  if (values.empty()) return unknown;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double percent(std::size_t part, std::size_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_means(const Summary& summary) {
  if (summary.means.empty()) return;
  const Histogram& histogram = summary.histogram;
  fmt::print("\nplans by mean temperature\n");
  constexpr int all_digits = 15;
  print_histogram(histogram, all_digits);

  if (!histogram.outliers.empty()) print_line("  far from the others", indent);
  constexpr std::size_t most_outliers = 10;
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t i : histogram.outliers) {
    if (rows.size() < most_outliers)
      rows.push_back({std::string(summary.ids[i]), fmt::format("{:.6g} °C", summary.means[i])});
  }
  print_table("lr", rows, 2 * table_margin);
  if (histogram.outliers.size() > rows.size())
    print_line(fmt::format("    and {} more", histogram.outliers.size() - rows.size()), indent);
}

/// Keeps a plan if it is among the few that took longest.
void add_if_slow(std::vector<PlanResult>& slowest, const PlanResult& plan) {
  if (slowest.size() == longest_list && !(plan.seconds > slowest.back().seconds)) return;
  const auto behind = std::upper_bound(
      slowest.begin(), slowest.end(), plan.seconds,
      [](double seconds, const PlanResult& other) { return seconds > other.seconds; });
  slowest.insert(behind, plan);
  if (slowest.size() > longest_list) slowest.pop_back();
}

void print_phases(const Summary& summary) {
  double all = 0;
  for (const auto& [name, seconds] : summary.phases) all += seconds;
  if (all == 0) return;
  fmt::print("\nwhere the time of solver threads went\n");
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, seconds] : summary.phases)
    rows.push_back({name, duration_text(seconds), fmt::format("{:.1f} %", 100 * seconds / all)});
  print_table("lrr", rows, table_margin);
}

void print_gpus(const WallTime& wall) {
  const auto& [host, upload, kernel, download, waiting] = wall.on_gpus;
  const double all = wall.on_gpus.all();
  if (!(all > 0)) return;
  fmt::print("\nwhere the time of plans on GPUs went\n");
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, seconds] :
       {std::pair("the host's work", host), std::pair("upload", upload),
        std::pair("kernels", kernel), std::pair("download", download),
        std::pair("waiting for the driver", waiting)})
    rows.push_back({name, duration_text(seconds), fmt::format("{:.1f} %", 100 * seconds / all)});
  print_table("lrr", rows, table_margin);
  fmt::print("{}", wall.kernels);
}

void print_slowest(const Summary& summary) {
  std::vector<std::vector<std::string>> rows;
  for (const PlanResult& plan : summary.slowest) {
    rows.push_back({plan.id, duration_text(plan.seconds),
                    fmt::format("{} iterations", plan.iterations),
                    fmt::format("{} interior cells", plan.interior_cells),
                    fmt::format("{} on {}", plan.device, plan.host)});
  }
  if (!rows.empty()) fmt::print("\nslowest plans\n");
  print_table("lrrrl", rows, table_margin);
}

constexpr std::size_t fact_column = 29;

std::string area_text(std::int64_t cells, double cell_metres) {
  return fmt::format("{:.5g} m²", static_cast<double>(cells) * cell_metres * cell_metres);
}

void print_areas(const Summary& summary, double cell_metres) {
  const auto [above, below] = summary.thresholds;
  const auto print_side = [&](const std::string& side, std::int64_t cells) {
    print_fact("  " + side,
               fmt::format("{}, {:.1f} %", area_text(cells, cell_metres),
                           percent(static_cast<std::size_t>(cells),
                                   static_cast<std::size_t>(summary.interior_cells))),
               fact_column);
  };
  print_fact("area", area_text(summary.interior_cells, cell_metres), fact_column);
  print_side(fmt::format("above {} °C", above), summary.cells_above);
  print_side(fmt::format("below {} °C", below), summary.cells_below);
}

void print_rooms(const RoomSummary& rooms, const Thresholds& thresholds, double cell_metres) {
  print_fact("rooms", std::to_string(rooms.rooms), fact_column);
  if (rooms.rooms == 0) return;
  const auto print_side = [&](const std::string& side, std::size_t count) {
    print_fact("  mean " + side,
               fmt::format("{} rooms, {:.1f} %", count, percent(count, rooms.rooms)), fact_column);
  };
  print_side(fmt::format("above {} °C", thresholds.above), rooms.above);
  print_side(fmt::format("below {} °C", thresholds.below), rooms.below);
  if (rooms.coldest.empty()) return;
  const auto& [id, room, unknown_width] = rooms.coldest.front();
  print_fact(
      "  coldest",
      fmt::format("room {} of plan {}, {:.3f} °C, {}", room.room, printable(id), room.mean_temp,
                  cell_metres > 0 ? area_text(room.cells, cell_metres)
                                  : fmt::format("{} cells", room.cells)),
      fact_column);
}

void print_failed(const Summary& summary) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(summary.failed.size());
  for (const FailedPlan& plan : summary.failed)
    rows.push_back({plan.id, fmt::format("{} attempt(s): {}", plan.attempts, plan.error)});
  if (!rows.empty()) fmt::print("\nfailed plans\n");
  print_table("ll", rows, table_margin);
}

}  // namespace

namespace {

/// Keeps the largest of what a session's ranks held: "0:31244288 1:27000832".
void note_rank_memory(const std::string& text, WallTime& time) {
  std::istringstream words(text);
  int rank = 0;
  char colon = 0;
  for (std::int64_t bytes = 0; words >> rank >> colon >> bytes;)
    if (bytes > time.rank_memory) {
      time.rank_memory = bytes;
      time.rank = rank;
    }
}

}  // namespace

WallTime wall_time(const std::vector<Attributes>& sessions) {
  WallTime time;
  std::vector<std::pair<double, double>> stretches;
  for (const Attributes& session : sessions) {
    if (merged_parts(session)) continue;
    ++time.all_sessions;
    if (!session.contains("seconds")) continue;
    ++time.sessions;
    time.plans += number_in(session, "solved");
    note_rank_memory(text_in(session, "rank_memory"), time);
    for (const auto& [name, part] : gpu_seconds_names)
      time.on_gpus.*part += number_in(session, name);
    if (session.contains("kernels")) time.kernels += "\n" + text_in(session, "kernels") + "\n";
    const double seconds = number_in(session, "seconds");
    if (const auto start = seconds_of_utc(text_in(session, "started_utc"))) {
      stretches.emplace_back(*start, *start + seconds);
    } else {
      time.seconds += seconds;
    }
  }
  std::sort(stretches.begin(), stretches.end());
  double covered = -std::numeric_limits<double>::infinity();
  for (const auto& [start, end] : stretches) {
    time.seconds += std::max(0.0, end - std::max(start, covered));
    covered = std::max(covered, end);
  }
  return time;
}

Summary summary_of(const Rows& rows, const Thresholds& thresholds) {
  Summary summary;
  summary.thresholds = thresholds;
  PhaseSeconds in_phases{};
  double in_plans = 0;
  std::vector<double> stds;
  rows([&](const PlanResult& row) {
    ++summary.plans;
    ++summary.by_status[row.status];
    summary.spent.add(row);
    if (row.peak_memory > summary.peak_memory) {
      summary.peak_memory = row.peak_memory;
      summary.peak_memory_id = row.id;
    }
    if (row.phases.read_s != 0) {  // else its solver did not tell
      in_plans += row.seconds;
      add_phases(row.phases, in_phases);
    }
    if (row.status == PlanStatus::failed)
      summary.failed.push_back({row.id, row.attempts, row.error});
    if (!is_answer(row.status) || row.status == PlanStatus::empty) return;
    summary.means.push_back(row.statistics.mean_temp);
    summary.ids.push_back(row.id);
    const auto cells_of = [&](double pct) {
      return std::isfinite(pct) ? std::llround(pct / 100 * static_cast<double>(row.interior_cells))
                                : 0LL;
    };
    summary.interior_cells += row.interior_cells;
    summary.cells_above += cells_of(row.statistics.pct_above_18);
    summary.cells_below += cells_of(row.statistics.pct_below_15);
    add_if_slow(summary.slowest, row);
    stds.push_back(row.statistics.std_temp);
    summary.half_above += row.statistics.pct_above_18 >= 50 ? 1U : 0U;
    summary.half_below += row.statistics.pct_below_15 >= 50 ? 1U : 0U;
    if (summary.solver.empty()) summary.solver = row.solver;
    const double bound = row.error_bound;
    const bool proven = !std::isnan(summary.largest_error_bound);  // all so far
    if (proven && !(bound <= summary.largest_error_bound)) summary.largest_error_bound = bound;
    if (row.error_estimate > summary.largest_error_estimate)
      summary.largest_error_estimate = row.error_estimate;
    summary.far_from_steady += is_far_from_steady(row) ? 1U : 0U;
    summary.fell_back += row.fell_back != 0 ? 1U : 0U;
    summary.cells_in_doubt += row.cells_in_doubt;
  });
  summary.mean_of_means = mean_of(summary.means);
  summary.median_of_means = median_of(summary.means);
  summary.std_of_means = std_of(summary.means);
  summary.mean_of_stds = mean_of(stds);
  summary.histogram = histogram_of(summary.means);
  for (std::size_t i = 0; in_plans != 0 && i < in_phases.size(); ++i) {
    summary.phases.emplace_back(phases_of_a_plan.at(i).name, in_phases.at(i));
    in_plans -= in_phases.at(i);
  }
  if (!summary.phases.empty()) summary.phases.emplace_back("other", std::max(in_plans, 0.0));
  return summary;
}

namespace {

void add_room(RoomSummary& rooms, const RoomRow& row, const Thresholds& thresholds,
              std::int64_t interior_cells) {
  const double mean = row.room.mean_temp;
  ++rooms.rooms;
  rooms.above += mean > thresholds.above ? 1U : 0U;
  rooms.below += mean < thresholds.below ? 1U : 0U;
  if (std::int64_t{row.room.cells} * 1000 < interior_cells) return;
  constexpr std::size_t most = 20;
  const auto mean_of_row = [](const RoomRow& one) { return one.room.mean_temp; };
  const auto place = std::ranges::upper_bound(rooms.coldest, mean, {}, mean_of_row);
  if (place == rooms.coldest.end() && rooms.coldest.size() == most) return;
  rooms.coldest.insert(place, row);
  if (rooms.coldest.size() > most) rooms.coldest.pop_back();
}

}  // namespace

Summary summary_of(const ResultReader& reader, const Rows& rows, const Thresholds& thresholds) {
  RoomSummary of_rooms;
  Summary summary = summary_of(
      [&](const auto& take) {
        rows([&](const PlanResult& row) {
          take(row);
          for (const RoomResult& room : reader.rooms(row.index))
            add_room(of_rooms, {row.id, room}, thresholds, row.interior_cells);
        });
      },
      thresholds);
  if (reader.has_rooms()) summary.rooms = std::move(of_rooms);
  return summary;
}

std::string rank_memory_text(const WallTime& time) {
  if (time.rank_memory == 0) return "";
  return fmt::format("{}, of rank {}", bytes_text(static_cast<double>(time.rank_memory)),
                     time.rank);
}

std::string peak_memory_text(const Summary& summary) {
  if (summary.peak_memory == 0) return "";
  return fmt::format("{}, for plan {}", bytes_text(static_cast<double>(summary.peak_memory)),
                     printable(summary.peak_memory_id));
}

void print_summary(const Summary& summary, const WallTime* wall, bool closed_well,
                   double cell_metres) {
  fmt::print("plans                        {}\n", summary.plans);
  for (const auto& [status, count] : summary.by_status)
    fmt::print("  {:<26} {}\n", to_string(status), count);
  const std::size_t solved = summary.means.size();
  if (solved > 0) {
    fmt::print("average mean temperature     {:.3f} °C\n", summary.mean_of_means);
    fmt::print("  median                     {:.3f} °C\n", summary.median_of_means);
    print_line(
        fmt::format("  standard deviation         {:.4f} °C, of the means (population; pandas: "
                    "ddof=0)",
                    summary.std_of_means),
        indent);
    print_line(fmt::format("average standard deviation   {:.3f} °C, within a plan (population)",
                           summary.mean_of_stds),
               indent);
    const auto [above, below] = summary.thresholds;
    const auto print_half = [&](const std::string& side, std::size_t plans) {
      print_fact("at least 50 % " + side,
                 fmt::format("{} plans, {:.1f} %", plans, percent(plans, solved)), fact_column);
    };
    print_half(fmt::format("above {} °C", above), summary.half_above);
    print_half(fmt::format("below {} °C", below), summary.half_below);
    if (cell_metres > 0) print_areas(summary, cell_metres);
    if (summary.rooms) print_rooms(*summary.rooms, summary.thresholds, cell_metres);
  }
  if (!summary.solver.empty()) {
    print_line(fmt::format("solver                       {}", summary.solver), indent);
    if (!std::isnan(summary.largest_error_bound))
      fmt::print("largest error bound          {:.3g} °C\n", summary.largest_error_bound);
    if (summary.largest_error_estimate > 0)
      fmt::print("largest error estimate       {:.2g} °C\n", summary.largest_error_estimate);
    if (summary.far_from_steady > 0)
      print_line(fmt::format("stopped early                {} plans, {}", summary.far_from_steady,
                             far_from_steady),
                 indent);
    if (summary.fell_back > 0)
      fmt::print("fell back to jacobi          {} plans\n", summary.fell_back);
    if (summary.cells_in_doubt > 0)
      fmt::print("cells in doubt               {}, near {} or {} °C\n", summary.cells_in_doubt,
                 summary.thresholds.below, summary.thresholds.above);
  }
  print_line(fmt::format("time of solver threads       {}", summary.spent.text()), indent);
  if (summary.peak_memory > 0)
    print_line(fmt::format("peak memory of a solver      {}", peak_memory_text(summary)), indent);
  if (wall != nullptr && wall->rank_memory > 0)
    print_line(fmt::format("peak memory of a rank        {}", rank_memory_text(*wall)), indent);
  if (wall != nullptr && wall->seconds > 0) {
    std::string text =
        fmt::format("wall time                    {}, {}", duration_text(wall->seconds),
                    rate_text(wall->plans / wall->seconds));
    if (wall->all_sessions > 1)
      text += fmt::format(" ({} of {} sessions; one that was killed leaves no figures)",
                          wall->sessions, wall->all_sessions);
    print_line(text, indent);
  }
  if (!closed_well)
    print_line("the file is still being written, or its writer was killed: go on with --resume",
               indent);
  print_means(summary);
  print_phases(summary);
  if (wall != nullptr) print_gpus(*wall);
  print_slowest(summary);
  print_failed(summary);
}

Json to_json(const Summary& summary, const WallTime* wall, bool closed_well, double cell_metres) {
  Json json{{"plans", summary.plans}};
  for (const PlanStatus status :
       {PlanStatus::pending, PlanStatus::converged, PlanStatus::max_iterations, PlanStatus::empty,
        PlanStatus::failed}) {
    const auto found = summary.by_status.find(status);
    json["by_status"][std::string(to_string(status))] =
        found == summary.by_status.end() ? 0 : found->second;
  }
  json["with_temperature"] = summary.means.size();
  json["mean_of_means"] = summary.mean_of_means;
  json["median_of_means"] = summary.median_of_means;
  json["std_of_means"] = summary.std_of_means;
  json["mean_of_stds"] = summary.mean_of_stds;
  json["half_above_18"] = summary.half_above;
  json["half_below_15"] = summary.half_below;
  if (summary.thresholds != Thresholds())
    json["thresholds"] = {{"above", summary.thresholds.above}, {"below", summary.thresholds.below}};
  json["solver"] = summary.solver;
  json["largest_error_bound"] = summary.means.empty() ? unknown : summary.largest_error_bound;
  json["fell_back"] = summary.fell_back;
  json["cells_in_doubt"] = summary.cells_in_doubt;
  json["largest_error_estimate"] = summary.largest_error_estimate;
  json["far_from_steady"] = summary.far_from_steady;
  json["thread_seconds"] = summary.spent.seconds();
  json["cpu_seconds"] = summary.spent.cpu_seconds();
  json["peak_memory"] = nullptr;
  if (summary.peak_memory > 0)
    json["peak_memory"] = {{"bytes", summary.peak_memory}, {"id", summary.peak_memory_id}};
  if (wall != nullptr) {
    json["wall_seconds"] = wall->seconds;
    json["sessions"] = wall->all_sessions;
    json["sessions_with_figures"] = wall->sessions;
    json["rank_memory"] = nullptr;
    if (wall->rank_memory > 0)
      json["rank_memory"] = {{"bytes", wall->rank_memory}, {"rank", wall->rank}};
    for (const auto& [name, part] : gpu_seconds_names)
      if (wall->on_gpus.all() > 0) json[name] = wall->on_gpus.*part;
  }
  json["phases"] = Json::object();
  for (const auto& [name, seconds] : summary.phases) json["phases"][name] = seconds;
  if (cell_metres > 0) {
    const auto area = [&](std::int64_t cells) {
      return static_cast<double>(cells) * cell_metres * cell_metres;
    };
    json["area_m2"] = {{"all", area(summary.interior_cells)},
                       {"above", area(summary.cells_above)},
                       {"below", area(summary.cells_below)}};
  }
  if (summary.rooms) {
    const RoomSummary& rooms = *summary.rooms;
    json["rooms"] = {{"count", rooms.rooms}, {"above", rooms.above}, {"below", rooms.below}};
    json["rooms"]["coldest"] = Json::array();
    for (const RoomRow& row : rooms.coldest)
      json["rooms"]["coldest"].push_back({{"id", row.id},
                                          {"room", row.room.room},
                                          {"mean_temp", row.room.mean_temp},
                                          {"cells", row.room.cells}});
  }
  json["closed_well"] = closed_well;
  json["histogram"] = to_json(summary.histogram);
  json["outliers"] = Json::array();
  for (const std::size_t i : summary.histogram.outliers)
    json["outliers"].push_back({{"id", summary.ids[i]}, {"mean_temp", summary.means[i]}});
  json["slowest"] = Json::array();
  for (const PlanResult& row : summary.slowest)
    json["slowest"].push_back({{"id", row.id},
                               {"seconds", row.seconds},
                               {"iterations", row.iterations},
                               {"interior_cells", row.interior_cells},
                               {"device", row.device},
                               {"host", row.host}});
  json["failed"] = Json::array();
  for (const FailedPlan& plan : summary.failed)
    json["failed"].push_back({{"id", plan.id}, {"attempts", plan.attempts}, {"error", plan.error}});
  return json;
}

Plot histogram_plot(const Summary& summary, const std::string& title, std::size_t wanted_bins) {
  std::vector<double> means = summary.means;
  std::erase_if(means, [](double mean) { return !std::isfinite(mean); });
  if (means.empty()) throw RunError("there is no plan with a temperature to draw");
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  const double span = *high - *low;
  // Narrower bins would be lost in the last digits of their borders.
  const double least = 1e-9 * std::max(std::abs(*low), std::abs(*high));
  double width = 1;
  double origin = 0;  // of the bins
  if (wanted_bins > 0 && span > least) {
    width = span / static_cast<double>(wanted_bins);
    origin = *low;
  } else {
    constexpr double most_bins = 100;
    constexpr double fewest_bins = 3;
    while (span / width > most_bins) width *= 10;
    while (span > least && span / width < fewest_bins) width /= 10;
  }
  std::map<double, double> bins;
  for (const double mean : means) {
    double bin = std::floor((mean - origin) / width);
    if (wanted_bins > 0 && mean > *low) bin = std::min(bin, static_cast<double>(wanted_bins - 1));
    ++bins[bin];
  }
  std::vector<std::vector<double>> bars;
  double highest = 0;
  for (const auto& [number, count] : bins) {
    bars.push_back({origin + (number + 0.5) * width, count});
    highest = std::max(highest, count);
  }
  Plot plot;
  const auto line = [&](double at) { return plot.add_data({{at, 0}, {at, 1.08 * highest}}); };
  const std::string mean = line(summary.mean_of_means);
  const std::string median = line(summary.median_of_means);
  const std::size_t solved = summary.means.size();
  plot.set_heading(fmt::format("{}: {} plans", title, solved));
  plot.add(R"(set title heading."\n".{})",
           Plot::quoted(fmt::format(
               "at least half of the cells below {} °C: {:.1f} %, above {} °C: {:.1f} %",
               summary.thresholds.below, percent(summary.half_below, solved),
               summary.thresholds.above, percent(summary.half_above, solved))));
  plot.add("set xlabel 'mean temperature of a plan, °C'");
  plot.add("set ylabel 'plans in {:.3g} °C'", width);
  plot.add_bars(
      bars, width,
      fmt::format(" title 'plans', {} with lines linetype 2 title {}, {} with lines linetype 3 "
                  "dashtype 2 title {}",
                  mean, Plot::quoted(fmt::format("mean {:#.4g} °C", summary.mean_of_means)), median,
                  Plot::quoted(fmt::format("median {:#.4g} °C", summary.median_of_means))));
  return plot;
}

}  // namespace wallheat
