#include "report/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/printable.hpp"
#include "core/version.hpp"
#include "report/attributes.hpp"
#include "report/field_picture.hpp"
#include "report/figure.hpp"
#include "report/gnuplot.hpp"
#include "report/html.hpp"
#include "report/row_table.hpp"
#include "report/summary.hpp"
#include "report/thresholds.hpp"
#include "report/time_ledger.hpp"
#include "view/advice.hpp"
#include "view/json.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

/// Values on a grid of bins, so that a page with a million plans is no larger than one with a
/// thousand.
struct Bins {
  static constexpr std::size_t across = 90;
  static constexpr std::size_t up = 50;
  double left, right, bottom, top;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> counts = {};

  void add(double x, double y) {
    const auto bin = [](double value, double low, double high, std::size_t bins) {
      const double place = (value - low) / (high - low) * static_cast<double>(bins);
      return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)));
    };
    ++counts[{bin(x, left, right, across), bin(y, bottom, top, up)}];
  }
  [[nodiscard]] std::vector<std::vector<double>> rows() const {
    std::vector<std::vector<double>> rows;
    for (const auto& [place, count] : counts)
      rows.push_back({left + (static_cast<double>(place.first) + 0.5) * (right - left) /
                                 static_cast<double>(across),
                      bottom + (static_cast<double>(place.second) + 0.5) * (top - bottom) /
                                   static_cast<double>(up),
                      static_cast<double>(count)});
    return rows;
  }
};

void add_binned(Plot& plot, const Bins& bins) {
  plot.add("set palette defined (0 '#c9b8dc', 1 '#4a1c76', 2 '#e96042')");
  std::size_t most = 2;
  for (const auto& [place, count] : bins.counts) most = std::max(most, count);
  std::vector<std::pair<std::string, double>> counts;
  for (std::size_t power = 1; power <= most; power *= 10)
    for (const std::size_t count : {power, 2 * power, 5 * power})
      if (count <= most) counts.emplace_back(std::to_string(count), count);
  plot.add("set logscale cb; set cblabel 'plans'; set cbtics out nomirror " + Plot::ticks(counts));
  plot.add("set cbrange [1:{}]", most);
  plot.add("set xrange [{:.10g}:{:.10g}]; set yrange [{:.10g}:{:.10g}]", bins.left, bins.right,
           bins.bottom, bins.top);
}

using Point = std::pair<double, double>;

/// What the page draws of each plan, without the plans.
struct Points {
  std::vector<Point> temperatures;  ///< mean and standard deviation, finite
  std::vector<Point> times;         ///< seconds, actual and predicted
  /// The few with the lowest and highest means, each with the number of its row.
  std::set<std::pair<double, std::size_t>> coldest, warmest;
};

constexpr std::size_t most_extremes = 5;

Points points_of(const Rows& rows) {
  Points points;
  std::size_t number = 0;
  rows([&](const PlanResult& row) {
    const std::size_t of_row = number++;
    if (row.predicted_s > 0 && row.seconds > 0 && std::isfinite(row.predicted_s) &&
        std::isfinite(row.seconds))
      points.times.emplace_back(row.seconds, row.predicted_s);
    const Statistics& s = row.statistics;
    if (!is_answer(row.status) || row.status == PlanStatus::empty || !std::isfinite(s.mean_temp))
      return;
    if (std::isfinite(s.std_temp)) points.temperatures.emplace_back(s.mean_temp, s.std_temp);
    points.coldest.emplace(s.mean_temp, of_row);
    if (points.coldest.size() > most_extremes) points.coldest.erase(--points.coldest.end());
    points.warmest.emplace(s.mean_temp, of_row);
    if (points.warmest.size() > most_extremes) points.warmest.erase(points.warmest.begin());
  });
  return points;
}

std::string scatter(const std::vector<Point>& temperatures) {
  if (temperatures.empty()) return "";
  const auto [left, right] = std::ranges::minmax(temperatures, {}, &Point::first);
  const auto [low, high] = std::ranges::minmax(temperatures, {}, &Point::second);
  Bins bins{std::floor(left.first), std::floor(right.first) + 1, std::floor(low.second),
            std::floor(high.second) + 1};
  for (const auto& [mean, deviation] : temperatures) bins.add(mean, deviation);
  Plot plot;
  const std::string data = plot.add_data(bins.rows());
  add_binned(plot, bins);
  plot.add("set xlabel 'mean temperature, °C'; set ylabel 'standard deviation, °C'");
  plot.add("plot {} using 1:2:3 with points pointtype 5 pointsize 0.8 palette", data);
  return inline_plot(plot, 460);
}

/// Marks of an axis of seconds that goes from one logarithm to another one: 1, 2, 5, 10, ...; more
/// of them where these were few.
std::string ticks_of_seconds(double from, double to) {
  const std::vector<double> leading = to - from > 0.8
                                          ? std::vector<double>{1, 2, 5}
                                          : std::vector<double>{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
  std::vector<std::pair<std::string, double>> ticks;
  for (int power = static_cast<int>(std::floor(from)); power <= static_cast<int>(std::ceil(to));
       ++power) {
    for (const double digit : leading) {
      const double place = power + std::log10(digit);
      if (place < from || place > to) continue;
      ticks.emplace_back(fmt::format("{:g}", digit * std::pow(10, power)), place);
    }
  }
  return Plot::ticks(ticks);
}

std::string predictions(const std::vector<Point>& times) {
  if (times.empty()) return "<p>No plan was predicted: the run was too short.</p>\n";
  const auto [least, most] = std::ranges::minmax(times, {}, &Point::first);
  const auto [least_predicted, most_predicted] = std::ranges::minmax(times, {}, &Point::second);
  constexpr double room = 0.1;
  const double low = std::log10(std::min(least.first, least_predicted.second)) - room;
  const double high = std::log10(std::max(most.first, most_predicted.second)) + room;
  Bins bins{low, high, low, high};
  std::vector<double> ratios;
  for (const auto& [actual, predicted] : times) {
    ratios.push_back(actual / predicted);
    bins.add(std::log10(predicted), std::log10(actual));
  }
  std::sort(ratios.begin(), ratios.end());
  const auto quantile = [&](double share) {
    return ratios[static_cast<std::size_t>(share * static_cast<double>(ratios.size() - 1))];
  };
  std::string html = fmt::format(
      "<p>{} plans were predicted. Half of them took {:.2f} to {:.2f} times as long as foreseen, "
      "nine "
      "of ten {:.2f} to {:.2f} times.</p>\n",
      ratios.size(), quantile(0.25), quantile(0.75), quantile(0.05), quantile(0.95));
  Plot plot;
  const std::string data = plot.add_data(bins.rows());
  const std::string ideal = plot.add_data({{bins.left, bins.left}, {bins.right, bins.right}});
  add_binned(plot, bins);
  plot.add("set xlabel 'predicted, s'; set ylabel 'actual, s'");
  const std::string ticks = ticks_of_seconds(bins.left, bins.right);
  plot.add("set xtics {}; set ytics {}", ticks, ticks);
  plot.add(
      "plot {} with lines linetype 4 dashtype 2, {} using 1:2:3 with points pointtype 5 "
      "pointsize 0.8 palette",
      ideal, data);
  return html + inline_plot(plot, 460);
}

std::string lane_name(const Lane& lane) {
  return fmt::format("rank {} thread {}, {}", lane.rank, lane.thread, lane.device);
}

constexpr double page_width = 900;  // of a plot, in pixels

/// The share of all threads that were at a plan, over time.
void add_utilisation(Plot& plot, std::span<const Lane> lanes, const TimeLedger& ledger) {
  constexpr std::size_t bins = 400;
  std::vector<double> busy(bins, 0.0);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const auto shares = busy_shares(lanes.subspan(lane, 1), ledger.wall_s, bins);
    for (std::size_t i = 0; i < bins; ++i)
      busy[i] += 100 * shares.front()[i] / static_cast<double>(ledger.threads);
  }
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < bins; ++i)
    rows.push_back({(static_cast<double>(i) + 0.5) * ledger.wall_s / bins, busy[i]});
  plot.add("set ylabel 'threads at a plan, %'; set yrange [0:100]; set ytics 0, 25, 100");
  plot.add("set boxwidth {:.10g}", ledger.wall_s / bins);
  plot.add("plot {} using 1:2 with boxes linecolor rgb '#8a6aa8'", plot.add_data(rows));
}

/// Rectangles, each as long as its lane was equally busy: {left, lane, left, right, top, bottom,
/// share}, as boxxyerror takes them.
std::vector<std::vector<double>> busy_rectangles(std::span<const Lane> lanes, double wall_s) {
  // Few enough for a page, also with many threads.
  constexpr std::size_t most_rectangles = 20'000;
  const std::size_t bins = std::clamp<std::size_t>(most_rectangles / lanes.size(), 40, 400);
  constexpr double levels = 8;
  constexpr double half = 0.43;  // of a row, with a gap to the next one
  const double width = wall_s / static_cast<double>(bins);
  std::vector<std::vector<double>> rectangles;
  const auto shares = busy_shares(lanes, wall_s, bins);
  for (std::size_t lane = 0; lane < shares.size(); ++lane) {
    const auto at = static_cast<double>(lane);
    for (std::size_t i = 0; i < bins; ++i) {
      const double share = std::ceil(shares[lane][i] * levels) / levels;
      if (share == 0) continue;
      const double left = static_cast<double>(i) * width;
      if (!rectangles.empty()) {
        std::vector<double>& last = rectangles.back();
        if (last[1] == at && last[6] == share && last[3] > left - width / 2) {
          last[3] = left + width;
          continue;
        }
      }
      rectangles.push_back({left, at, left, left + width, at - half, at + half, share});
    }
  }
  return rectangles;
}

struct BySession {
  bool operator()(const Lane& lane, std::uint32_t session) const { return lane.session < session; }
  bool operator()(std::uint32_t session, const Lane& lane) const { return session < lane.session; }
};

/// How busy all threads were over time, and each, a row a thread.
std::string timeline(const std::vector<Lane>& lanes, const TimeLedger& ledger) {
  constexpr std::size_t most_shown = 500;  // rows
  // Lanes are in order of their sessions.
  const auto of_session = std::equal_range(lanes.begin(), lanes.end(), ledger.session, BySession{});
  std::span<const Lane> shown(of_session.first, of_session.second);
  std::string html = "<p>Each row is a solver thread; the darker, the busier.</p>\n";
  Plot plot;
  const std::size_t all = shown.size();
  std::vector<std::pair<std::string, double>> names;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < std::min(all, most_shown); ++i) {
    names.emplace_back(lane_name(shown[i]), i);
    longest = std::max(longest, names.back().first.size());
  }
  constexpr double most_left = 340;
  constexpr double letter = 7;
  constexpr double above = 14;
  constexpr double curve = 120;
  constexpr double between = 22;
  constexpr double below = 68;
  const double each = std::clamp(300 / static_cast<double>(names.size()), 14.0, 28.0);
  const double rows = each * static_cast<double>(names.size());
  const double height = above + curve + between + rows + below;
  const auto place = [&](double from_above, double tall) {
    plot.add("set tmargin at screen {:.6f}; set bmargin at screen {:.6f}", 1 - from_above / height,
             1 - (from_above + tall) / height);
  };
  plot.add("set multiplot");
  plot.add("set lmargin at screen {:.6f}; set rmargin at screen {:.6f}",
           std::min(letter * static_cast<double>(longest) + 24, most_left) / page_width,
           1 - 24 / page_width);
  plot.add("set xrange [0:{:.10g}]; set format x ''", ledger.wall_s);
  place(above, curve);
  add_utilisation(plot, shown, ledger);
  place(above + curve + between, rows);
  if (all > most_shown) {
    html += fmt::format("<p>The first {} of {} threads are drawn.</p>\n", most_shown, all);
    shown = shown.first(most_shown);
  }
  const std::string data = plot.add_data(busy_rectangles(shown, ledger.wall_s));
  plot.add(
      "set palette defined (0 '#d8cce6', 1 '#4a1c76'); set cbrange [0:1]; unset colorbox; unset "
      "grid; unset ylabel; set format x '% h'; set xlabel 's since the session began'");
  plot.add(
      "set object 1 rectangle from graph 0,0 to graph 1,1 fillcolor rgb '#f3f1f6' fillstyle solid "
      "noborder behind; set style fill solid 1 noborder");
  plot.add("set yrange [{}.5:-0.5]; set ytics {}", static_cast<std::int64_t>(names.size()) - 1,
           Plot::ticks(names));
  plot.add("plot {} using 1:2:3:4:5:6:7 with boxxyerror fillcolor palette", data);
  plot.add("unset multiplot");
  return html + inline_plot(plot, static_cast<int>(std::lround(height)));
}

std::string ledger_table(const TimeLedger& ledger) {
  std::vector<std::vector<std::string>> rows{{"where", "thread time", "share"}};
  for (const auto& [name, seconds] : ledger.entries)
    rows.push_back(
        {name, duration_text(seconds), fmt::format("{:.2f} %", 100 * seconds / ledger.total_s())});
  rows.push_back({fmt::format("all: {} threads x {}", ledger.threads, duration_text(ledger.wall_s)),
                  duration_text(ledger.total_s()), "100.00 %"});
  if (ledger.cpu_s > 0)
    rows.push_back({"of it on a core, for plans", duration_text(ledger.cpu_s),
                    fmt::format("{:.2f} %", 100 * ledger.cpu_s / ledger.total_s())});
  return table("lrr", rows);
}

std::string facts(const Summary& summary, const WallTime& wall, const ResultReader& reader) {
  std::vector<std::vector<std::string>> rows{{"", ""}};
  rows.push_back({"plans", std::to_string(summary.plans)});
  for (const auto& [status, count] : summary.by_status)
    rows.push_back({"  " + std::string(to_string(status)), std::to_string(count)});
  const auto [above, below] = summary.thresholds;
  if (!summary.means.empty()) {
    const auto share = [&](std::size_t count) {
      return fmt::format(
          "{} ({:.1f} %)", count,
          100 * static_cast<double>(count) / static_cast<double>(summary.means.size()));
    };
    rows.push_back({"average mean temperature", fmt::format("{:.3f} °C", summary.mean_of_means)});
    rows.push_back(
        {"standard deviation of the means", fmt::format("{:.4f} °C", summary.std_of_means)});
    rows.push_back({"average standard deviation within a plan",
                    fmt::format("{:.3f} °C", summary.mean_of_stds)});
    rows.push_back(
        {fmt::format("plans with at least half above {} °C", above), share(summary.half_above)});
    rows.push_back(
        {fmt::format("plans with at least half below {} °C", below), share(summary.half_below)});
  }
  if (summary.rooms) {
    const auto of_rooms = [&](std::size_t count) {
      return fmt::format("{} ({:.1f} %)", count,
                         100 * static_cast<double>(count) /
                             static_cast<double>(std::max<std::size_t>(summary.rooms->rooms, 1)));
    };
    rows.push_back({"rooms", std::to_string(summary.rooms->rooms)});
    rows.push_back(
        {fmt::format("  with a mean above {} °C", above), of_rooms(summary.rooms->above)});
    rows.push_back(
        {fmt::format("  with a mean below {} °C", below), of_rooms(summary.rooms->below)});
  }
  if (summary.largest_error_estimate > 0)
    rows.push_back(
        {"largest error estimate", fmt::format("{:.2g} °C", summary.largest_error_estimate)});
  if (summary.far_from_steady > 0)
    rows.push_back(
        {"stopped early", fmt::format("{} plans, {}", summary.far_from_steady, far_from_steady)});
  rows.push_back({"time of solver threads", summary.spent.text()});
  if (summary.peak_memory > 0)
    rows.push_back({"peak memory of a solver", peak_memory_text(summary)});
  if (wall.rank_memory > 0) rows.push_back({"peak memory of a rank", rank_memory_text(wall)});
  if (wall.seconds > 0)
    rows.push_back({"wall time", fmt::format("{}, {:.2f} plans/s", duration_text(wall.seconds),
                                             wall.plans / wall.seconds)});
  if (!reader.closed_well())
    rows.push_back({"state", "still being written, or killed: go on with --resume"});
  for (const auto& [name, value] : reader.settings()) rows.push_back({name, value});
  return table("lr", rows);
}

/// By which command, where and when.
std::string origin(const std::vector<Lane>& lanes, const std::vector<Attributes>& sessions) {
  std::vector<std::vector<std::string>> rows{{"", ""}};
  for (const Attributes& session : sessions)
    if (const std::string command = text_in(session, "command_line");
        rows.back().back() != command && command != "?")
      rows.push_back({"command", command});
  std::set<std::string> hosts;
  for (const Lane& lane : lanes) hosts.insert(lane.host);
  if (!hosts.empty())
    rows.push_back({hosts.size() == 1 ? "host" : fmt::format("{} hosts", hosts.size()),
                    fmt::format("{}", fmt::join(hosts, ", "))});
  if (!sessions.empty())
    rows.push_back({"time", fmt::format("{} to {}", text_in(sessions.front(), "started_utc"),
                                        text_in(sessions.back(), "ended_utc"))});
  return rows.size() > 1 ? table("ll", rows) : "";
}

std::string sessions_table(const ResultReader& reader) {
  std::vector<std::vector<std::string>> rows{
      {"session", "started", "ended", "end", "solved", "failed", "wall time"}};
  const auto& sessions = reader.sessions();
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const auto text = [&](const char* name) { return text_in(sessions[i], name); };
    const bool ended = sessions[i].contains("seconds");
    rows.push_back({std::to_string(i), text("started_utc"), text("ended_utc"),
                    sessions[i].contains("end") ? text("end") : "killed, or still running",
                    text("solved"), text("failed"),
                    ended ? duration_text(number_in(sessions[i], "seconds")) : "?"});
  }
  return table("llllrrr", rows);
}

std::string failures(const Summary& summary, const std::string& file) {
  if (summary.failed.empty()) return "<p>None.</p>\n";
  std::map<std::string, std::vector<const FailedPlan*>> by_cause;
  for (const FailedPlan& plan : summary.failed) {
    // The sentence without the plan's name is the cause.
    std::string cause = plan.error;
    if (const auto at = cause.find(plan.id); at != std::string::npos)
      cause.replace(at, plan.id.size(), "ID");
    by_cause[cause].push_back(&plan);
  }
  std::vector<std::vector<std::string>> rows{{"plans", "cause", "such as", "to try again"}};
  for (const auto& [cause, plans] : by_cause) {
    std::string ids;
    for (std::size_t i = 0; i < std::min<std::size_t>(plans.size(), 3); ++i)
      ids += (i > 0 ? ", " : "") + plans[i]->id;
    rows.push_back({std::to_string(plans.size()), cause, ids,
                    fmt::format("wallheat solve {} --data PLANS", plans.front()->id)});
  }
  return table("rlll", rows) +
         fmt::format("<p>All again, once their input is mended: <code>{}{}</code></p>\n",
                     escaped(resume_command(file)), and_retry_failed);
}

std::string extremes(const Points& points, const ResultReader& reader) {
  auto shown = points.coldest;
  shown.insert(points.warmest.begin(), points.warmest.end());
  const auto [above, below] = recorded_thresholds(reader);
  std::vector<std::vector<std::string>> rows{{"plan", "mean", fmt::format("below {} °C", below),
                                              fmt::format("above {} °C", above), "iterations"}};
  FieldPicture picture;
  for (const auto& [mean, number] : shown) {
    const PlanResult plan = reader.row(number);
    const Statistics& s = plan.statistics;
    rows.push_back({plan.id, fmt::format("{:.3f} °C", s.mean_temp),
                    fmt::format("{:.1f} %", s.pct_below_15),
                    fmt::format("{:.1f} %", s.pct_above_18), std::to_string(plan.iterations)});
    if (auto field = reader.field(number))
      picture.panels.push_back({fmt::format("{} mean {:.2f} °C", printable(plan.id), s.mean_temp),
                                without_ground(*std::move(field))});
  }
  std::string html = table("lrrrr", rows);
  if (!picture.panels.empty()) {
    picture.columns = most_extremes;
    picture.side = 160;
    html += inline_svg(picture.draw(PlotFormat::svg));
  }
  return html;
}

std::string coldest_rooms(const Summary& summary) {
  const auto [above, below] = summary.thresholds;
  std::vector<std::vector<std::string>> rows{{"plan", "room", "mean", "least", "largest", "cells",
                                              fmt::format("below {} °C", below), "rows",
                                              "columns"}};
  for (const RoomRow& row : summary.rooms->coldest) {
    const RoomResult& room = row.room;
    rows.push_back({row.id, std::to_string(room.room), fmt::format("{:.3f} °C", room.mean_temp),
                    fmt::format("{:.2f} °C", room.min_temp),
                    fmt::format("{:.2f} °C", room.max_temp), std::to_string(room.cells),
                    fmt::format("{:.1f} %", row.pct_below()),
                    fmt::format("{} to {}", room.first_row, room.last_row),
                    fmt::format("{} to {}", room.first_col, room.last_col)});
  }
  return table("lrrrrrrrr", rows);
}

/// All plans: the first ones in a table, and all as text that the page's script sorts and shows.
/// Written row by row, as there may be millions.
void write_plans(const std::string& file, const ResultReader& reader, std::size_t plans,
                 std::ostream& out) {
  constexpr std::size_t first = 200;
  const auto [above, below] = recorded_thresholds(reader);
  std::vector<std::vector<std::string>> top{
      {"plan", "status", "mean, °C", "deviation, °C", fmt::format("below {} °C, %", below),
       fmt::format("above {} °C, %", above), "iterations", "seconds"}};
  const auto number = [](double value) {
    return std::isfinite(value) ? fmt::format("{:#.5g}", value) : std::string();
  };
  const auto cells_of = [&](const PlanResult& row) {
    const Statistics& s = row.statistics;
    return std::vector<std::string>{row.id,
                                    std::string(to_string(row.status)),
                                    number(s.mean_temp),
                                    number(s.std_temp),
                                    number(s.pct_below_15),
                                    number(s.pct_above_18),
                                    std::to_string(row.iterations),
                                    number(row.seconds)};
  };
  for (std::size_t i = 0; i < std::min(first, plans); ++i) top.push_back(cells_of(reader.row(i)));
  out << "<section id=plans><h2>Plans</h2>\n";
  if (plans > first)
    out << fmt::format(
        "<p id=plans-shown>The first {} of {}; with JavaScript the page shows and sorts all. "
        "<code>wallheat list {}</code> prints them.</p>\n",
        first, plans, escaped(file));
  out << table("llrrrrrr", top) << "<pre id=plans-all hidden>\n";
  reader.for_each_row([&](const PlanResult& row) {
    const char* separator = "";
    for (const std::string& cell : cells_of(row))
      out << std::exchange(separator, "\t") << escaped(cell);
    out << '\n';
  });
  out << "</pre></section>\n";
}

}  // namespace

void write_report_page(const std::string& file, const ResultReader& reader, std::ostream& out) {
  const Summary summary = summary_of(reader, rows_of(reader), recorded_thresholds(reader));
  const std::vector<Lane> lanes = lanes_of(rows_of(reader));
  const std::vector<TimeLedger> ledgers = ledgers_of(lanes, reader.sessions());
  const Points points = points_of(rows_of(reader));
  out << page_beginning(std::filesystem::path(file).filename().string())
      << origin(lanes, reader.sessions());
  out << section("Answers", facts(summary, wall_time(reader.sessions()), reader));
  if (!summary.means.empty()) {
    out << section("Mean temperatures",
                   inline_svg(draw(histogram_figure(summary, "plans by mean temperature"),
                                   PlotFormat::svg, {{}, 900, 480})));
    out << section("Mean and spread of each plan", scatter(points.temperatures));
    out << section("Coldest and warmest plans", extremes(points, reader));
  }
  if (summary.rooms && summary.rooms->rooms > 0)
    out << section("Coldest rooms", coldest_rooms(summary));
  out << section("Failed plans", failures(summary, file));
  for (const TimeLedger& ledger : ledgers) {
    const std::string of = ledgers.size() > 1 ? fmt::format(", session {}", ledger.session) : "";
    out << section("Where the time went" + of, ledger_table(ledger));
    if (!ledger.kernels.empty())
      out << section("The kernels" + of, "<pre>" + escaped(ledger.kernels) + "</pre>\n");
    out << section("Threads over time" + of, timeline(lanes, ledger));
  }
  out << section("Predicted and actual time of plans", predictions(points.times));
  out << section("Sessions", sessions_table(reader));
  write_plans(file, reader, summary.plans, out);
  for (const std::string& sentence : reader.damage())
    out << fmt::format("<p>{}</p>\n", escaped(sentence));
  out << fmt::format("<p class=small>wallheat {}</p>\n", version()) << page_end();
}

namespace {

/// A slice of Chrome's trace format, in s.
Json slice(const char* name, std::int64_t process, std::int32_t thread, double at_s,
           double seconds) {
  constexpr double us = 1e6;
  return {{"ph", "X"},     {"name", name},    {"pid", process},
          {"tid", thread}, {"ts", at_s * us}, {"dur", seconds * us}};
}

/// What host and GPU did in a solve that began at `at_s` and took so long.
std::vector<Json> device_slices(const DeviceTimes& times, std::int64_t process, std::int32_t thread,
                                double at_s, double solve_s) {
  std::vector<Json> slices;
  double left_s = solve_s;
  for (const auto& [name, seconds] : {std::pair{"host", solve_s - times.wait_s},
                                      {"upload", times.upload_s},
                                      {"kernel", times.kernel_s},
                                      {"download", times.download_s}}) {
    const double part_s = std::clamp(seconds, 0.0, left_s);
    slices.push_back(slice(name, process, thread, at_s + solve_s - left_s, part_s));
    left_s -= part_s;
    if (name == std::string_view("host")) continue;
    slices.back()["args"] = {{"stream", times.stream}};
    if (name == std::string_view("kernel"))
      slices.back()["args"].update(
          {{"kernel", times.kernel}, {"grid", times.blocks}, {"block", times.threads}});
  }
  return slices;
}

}  // namespace

void write_trace(const ResultReader& reader, const PlanDeviceTimes& on_gpus, std::ostream& out) {
  out << "{\"traceEvents\":[";
  const char* separator = "";
  const auto write = [&](const Json& event) {
    out << std::exchange(separator, ",") << json_line(event);
  };
  constexpr double us = 1e6;
  for (const Lane& lane : lanes_of(rows_of(reader))) {
    // Chrome's ids are numbers: a process for each rank of each session.
    const auto process = static_cast<std::int64_t>(lane.session) * 1'000'000 + lane.rank;
    write({{"ph", "M"},
           {"name", "process_name"},
           {"pid", process},
           {"args",
            {{"name", fmt::format("session {} rank {}: {} on {}", lane.session, lane.rank,
                                  lane.device, lane.host)}}}});
    for (const LanePlan& times : lane.plans) {
      const PlanResult plan = reader.row(times.row);
      write({{"ph", "X"},
             {"name", plan.id},
             {"cat", std::string(to_string(plan.status))},
             {"pid", process},
             {"tid", lane.thread},
             {"ts", plan.started_s * us},
             {"dur", plan.seconds * us},
             {"args", {{"iterations", plan.iterations}, {"cells", plan.interior_cells}}}});
      const auto on_gpu = on_gpus.find({plan.id, plan.seconds});
      double at = plan.started_s;
      for (const Phase& phase : phases_of_a_plan) {
        const auto seconds = static_cast<double>(plan.phases.*phase.seconds);
        if (seconds > 0) write(slice(phase.step, process, lane.thread, at, seconds));
        if (phase.seconds == &PlanPhases::solve_s && on_gpu != on_gpus.end())
          for (const Json& part : device_slices(on_gpu->second, process, lane.thread, at, seconds))
            write(part);
        at += seconds;
      }
    }
  }
  out << "],\"displayTimeUnit\":\"ms\"}\n";
}

}  // namespace wallheat
