#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/compare.hpp"
#include "report/unknown.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr double seconds_an_hour = 3600;

/// "3: a, b, ..."
std::string list_text(const std::vector<std::string>& ids, std::size_t longest) {
  if (ids.empty()) return "0";
  const std::size_t shown = std::min(ids.size(), longest);
  if (shown == 0) return fmt::format("{}", ids.size());
  return fmt::format("{}: {}{}", ids.size(),
                     fmt::join(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     ids.size() > shown ? ", ..." : "");
}

void print_histograms_of_both(const Comparison& found) {
  const Histogram histogram = found.histogram();
  if (histogram.bins.empty()) return;
  fmt::print("\n");
  print_line(fmt::format("plans by difference of mean_temp, {} less {}", found.second, found.first),
             4);
  constexpr int digits = 6;
  print_histogram(histogram, digits);
  if (histogram.outliers.empty()) return;
  std::vector<std::string> outliers;
  for (const std::size_t i : histogram.outliers)
    outliers.push_back(fmt::format("{} ({:.6g} °C)", found.plans[i], found.means[i]));
  constexpr std::size_t most = 10;
  print_line(fmt::format("  far from the others: {}", list_text(outliers, most)), 4);
}

void print(const TextTable& table) {
  if (!table.rows.empty()) print_table(table.alignment, table.rows, 0);
}

Json to_json(const Comparison::Column& column) {
  return {{"column", column.name},
          {"plans", column.differing},
          {"largest", column.largest},
          {"mean", column.mean},
          {"plan", column.plan.empty() ? Json(nullptr) : Json(column.plan)}};
}

Json to_json(const Comparison& found) {
  Json json{{"first", found.first},
            {"second", found.second},
            {"equal", found.equal()},
            {"settings", Json::array()},
            {"compared", found.compared},
            {"identical", found.identical},
            {"other_inputs", found.other_inputs},
            {"only_first", found.only_first},
            {"only_second", found.only_second},
            {"statuses", Json::array()},
            {"columns", Json::array()},
            {"left_out", found.left_out}};
  for (const auto& [name, first, second] : found.settings)
    json["settings"].push_back({{"name", name}, {"first", first}, {"second", second}});
  for (const auto& [id, first, second] : found.statuses)
    json["statuses"].push_back(
        {{"id", id}, {"first", to_string(first)}, {"second", to_string(second)}});
  for (const Comparison::Column& column : found.columns) json["columns"].push_back(to_json(column));
  json["fields"] = found.fields ? to_json(*found.fields) : Json(nullptr);
  json["compared_fields"] = found.compared_fields;
  const Histogram histogram = found.histogram();
  json["histogram"] = to_json(histogram);
  json["outliers"] = Json::array();
  for (const std::size_t i : histogram.outliers)
    json["outliers"].push_back(
        {{"id", std::string(found.plans[i])}, {"mean_temp_difference", found.means[i]}});
  return json;
}

void add_histogram_panel(Plot& plot, const Comparison& found) {
  const Histogram histogram = found.histogram();
  std::vector<std::vector<double>> bars;
  for (const auto& [from, to, plans] : histogram.bins)
    bars.push_back({(from + to) / 2, static_cast<double>(plans)});
  const double width = histogram.bins.front().to - histogram.bins.front().from;
  std::string title = fmt::format("{} less {}", found.second, found.first);
  if (!histogram.outliers.empty())
    title += fmt::format(" ({} plan(s) beyond)", histogram.outliers.size());
  plot.add("set title " + Plot::quoted(title));
  plot.add("set xlabel 'difference of mean temperature, °C'");
  plot.add("set ylabel 'plans'");
  plot.add("set format x '%g'");
  plot.add("set xtics {:.10g}", width * std::ceil(static_cast<double>(bars.size()) / 5));
  plot.add_bars(bars, width);
}

/// Against the base: 1 and more where that is the slowest.
std::string speedup_text(const CompareReport& report, const ProgramTime& time) {
  const ProgramTime& base = report.base_time();
  if (&time == &base) return "1 (base)";
  const double speedup = base.seconds_a_plan / time.seconds_a_plan;
  constexpr double two_decimals_suffice = 0.1;
  return speedup < two_decimals_suffice ? fmt::format("{:.2g} x", speedup)
                                        : fmt::format("{:.2f} x", speedup);
}

/// Names stand aslant where they would have more than so many letters side by side.
void add_times_panel(Plot& plot, const std::vector<ProgramTime>& times, std::size_t room) {
  std::vector<std::vector<double>> rows;
  std::vector<std::pair<std::string, double>> names;
  double highest = 0;
  double lowest = std::numeric_limits<double>::infinity();
  std::size_t longest = 0;
  for (const ProgramTime& time : times) {
    longest = std::max(longest, time.name.size());
    const auto place = static_cast<double>(rows.size());
    names.emplace_back(time.name, place);
    plot.add("set label {} {} at {},{:.10g} center offset 0,0.7", rows.size() + 1,
             Plot::quoted(seconds_text(time.seconds_a_plan)), place, time.seconds_a_plan);
    rows.push_back({place, time.seconds_a_plan});
    highest = std::max(highest, time.seconds_a_plan);
    lowest = std::min(lowest, time.seconds_a_plan);
  }
  constexpr double most_on_linear_axis = 20;  // beyond, a bar cannot be seen
  const bool logarithmic = highest > most_on_linear_axis * lowest;
  const std::string data = plot.add_data(rows);
  plot.add("set title 'seconds a plan, wall time'");
  plot.add("unset xlabel");
  plot.add("set ylabel 'seconds a plan'; set ytics autofreq");
  plot.add("set xtics {} rotate by {}", Plot::ticks(names),
           times.size() * (longest + 1) > room ? -25 : 0);
  plot.add("set xrange [-0.6:{:.10g}]", static_cast<double>(rows.size()) - 0.4);
  if (logarithmic) {
    plot.add("set logscale y");
    plot.add("set format y '%g'");
    plot.add("set ylabel 'seconds a plan (logarithmic)'");
    plot.add("set yrange [{:.10g}:{:.10g}]", lowest / 4, 3 * highest);
  } else {
    plot.add("set yrange [0:{:.10g}]", 1.15 * highest);
  }
  plot.add("set boxwidth 0.7");
  plot.add("plot " + data + " with boxes linetype 1");
  plot.add("unset label");
  plot.add("unset logscale");
}

}  // namespace

TextTable settings_table(const Comparison& found) {
  if (found.settings.empty()) return {};
  TextTable table{"lll", {{"what differs", found.first, found.second}}};
  for (const auto& [name, first, second] : found.settings)
    table.rows.push_back({name, first, second});
  return table;
}

TextTable plans_table(const Comparison& found, std::size_t longest_list) {
  TextTable table{"ll",
                  {{"plans with an answer in both", fmt::format("{}", found.compared)},
                   {"  identical to the last bit", fmt::format("{}", found.identical)}}};
  auto& rows = table.rows;
  if (!found.other_inputs.empty())
    rows.push_back({"  of other floor plans", list_text(found.other_inputs, longest_list)});
  rows.push_back({"plans only in " + found.first, list_text(found.only_first, longest_list)});
  rows.push_back({"plans only in " + found.second, list_text(found.only_second, longest_list)});
  if (found.has_settings) {  // a CSV tells no status
    std::vector<std::string> statuses;
    statuses.reserve(found.statuses.size());
    for (const auto& [id, first, second] : found.statuses)
      statuses.push_back(fmt::format("{} ({}, then {})", id, to_string(first), to_string(second)));
    rows.push_back({"plans with another status", list_text(statuses, longest_list)});
  }
  return table;
}

TextTable columns_table(const Comparison& found) {
  if (found.compared == 0) return {};
  TextTable table{"lrrrl",
                  {{"absolute difference", "plans", "largest", "mean", "largest in plan"}}};
  const auto add = [&](const Comparison::Column& column) {
    const auto number = [](double value) {
      return std::isnan(value) ? "-" : fmt::format("{:.6g}", value);
    };
    table.rows.push_back({column.name, fmt::format("{}", column.differing), number(column.largest),
                          number(column.mean), column.plan.empty() ? "-" : column.plan});
  };
  for (const Comparison::Column& column : found.columns) add(column);
  if (found.fields) add(*found.fields);
  return table;
}

const ProgramTime& CompareReport::base_time() const {
  const auto named = std::ranges::find(times, base, &ProgramTime::name);
  if (named != times.end()) return *named;
  return *std::ranges::max_element(times, {}, &ProgramTime::seconds_a_plan);
}

TextTable times_table(const CompareReport& report) {
  if (report.times.empty()) return {};
  TextTable table{"lrrrrrr",
                  {{"program", "workers", "CPU s a plan", "s a plan", "speed-up",
                    fmt::format("s for {} plans", report.plans), "hours"}}};
  for (const ProgramTime& time : report.times) {
    const double all_s = time.seconds_a_plan * static_cast<double>(report.plans);
    table.rows.push_back({time.name, time.workers ? fmt::format("{}", *time.workers) : "-",
                          time.cpu_seconds_a_plan ? seconds_text(*time.cpu_seconds_a_plan) : "-",
                          seconds_text(time.seconds_a_plan), speedup_text(report, time),
                          fmt::format("{:.1f}", all_s),
                          fmt::format("{:.2f}", all_s / seconds_an_hour)});
  }
  return table;
}

TextTable gpu_times_table(const CompareReport& report) {
  TextTable table{"lrrrrr",
                  {{"GPU s a plan", "host's work", "upload", "kernels", "download", "waiting"}}};
  for (const ProgramTime& time : report.times) {
    if (!time.gpu_seconds_a_plan) continue;
    table.rows.push_back({time.name});
    for (const auto& [name, part] : gpu_seconds_names)
      table.rows.back().push_back(seconds_text((*time.gpu_seconds_a_plan).*part));
  }
  return table.rows.size() > 1 ? table : TextTable{};
}

void print_report(const CompareReport& report, std::size_t longest_list) {
  for (const Comparison& found : report.comparisons) {
    print_line(fmt::format("{} against {}", found.second, found.first), 4);
    if (found.has_settings) {
      print(settings_table(found));
      if (found.settings.empty()) print_line("settings, version and devices are the same", 4);
    }
    print(plans_table(found, longest_list));
    if (found.compared > 0) fmt::print("\n");
    print(columns_table(found));
    if (found.fields)
      print_line(fmt::format("field: over all cells of the {} plans whose fields both files hold",
                             found.compared_fields),
                 4);
    if (!found.left_out.empty())
      print_line(
          fmt::format("not compared, as the solvers differ: {}", fmt::join(found.left_out, ", ")),
          4);
    print_histograms_of_both(found);
    fmt::print("\n");
  }
  print(times_table(report));
  print(gpu_times_table(report));
}

Json to_json(const CompareReport& report) {
  Json json{{"comparisons", Json::array()}, {"times", Json::array()}, {"plans", report.plans}};
  for (const Comparison& found : report.comparisons) json["comparisons"].push_back(to_json(found));
  for (const ProgramTime& time : report.times) {
    const double all_s = time.seconds_a_plan * static_cast<double>(report.plans);
    json["times"].push_back({{"name", time.name},
                             {"workers", time.workers ? Json(*time.workers) : Json(nullptr)},
                             {"cpu_seconds_a_plan", time.cpu_seconds_a_plan.value_or(unknown)},
                             {"seconds_a_plan", time.seconds_a_plan},
                             {"speedup", report.base_time().seconds_a_plan / time.seconds_a_plan},
                             {"seconds", all_s},
                             {"hours", all_s / seconds_an_hour}});
    if (!time.gpu_seconds_a_plan) continue;
    Json& parts = json["times"].back()["gpu_seconds_a_plan"];
    for (const auto& [name, part] : gpu_seconds_names)
      parts[name] = (*time.gpu_seconds_a_plan).*part;
  }
  json["base"] = report.times.empty() ? Json(nullptr) : Json(report.base_time().name);
  return json;
}

Plot compare_plot(const CompareReport& report) {
  std::vector<const Comparison*> histograms;
  for (const Comparison& found : report.comparisons)
    if (!found.histogram().bins.empty()) histograms.push_back(&found);
  const bool times = report.times.size() > 1;
  const std::size_t panels = histograms.size() + (times ? 1 : 0);
  if (panels == 0)
    throw RunError(
        "there is nothing to draw: all mean temperatures are equal, and fewer than two times are "
        "known");
  Plot plot;
  const std::size_t columns = std::min<std::size_t>(panels, 2);
  const std::string layout =
      fmt::format("set multiplot layout {},{}", (panels + columns - 1) / columns, columns);
  // An empty title would take room, too.
  plot.add("if (heading eq '') {{ {} }} else {{ {} title heading font ',14' }}", layout, layout);
  for (const Comparison* found : histograms) add_histogram_panel(plot, *found);
  if (times) add_times_panel(plot, report.times, panels == 1 ? 110 : 50);
  plot.add("unset multiplot");
  return plot;
}

}  // namespace wallheat
