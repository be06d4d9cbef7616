#include "report/summary_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/printable.hpp"
#include "report/attributes.hpp"
#include "report/field_picture.hpp"
#include "report/time_ledger.hpp"
#include "store/merge.hpp"
#include "view/advice.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

const Style in_celsius{Form::decimals, 3, "°C"};
const Style share_of_cells{Form::decimals, 1, "%"};

/// What the page draws of each plan, without the plans.
struct Points {
  std::vector<double> means, deviations;             ///< °C, finite
  std::vector<double> predicted, actual;             ///< s, finite
  std::set<std::pair<double, std::size_t>> by_mean;  ///< the coldest and warmest, with their rows
};

constexpr std::size_t most_extremes = 5;

Points points_of(const Rows& rows) {
  Points points;
  rows([&](const PlanResult& row) {
    if (row.predicted_s > 0 && row.seconds > 0 && std::isfinite(row.predicted_s) &&
        std::isfinite(row.seconds)) {
      points.predicted.push_back(row.predicted_s);
      points.actual.push_back(row.seconds);
    }
    const Statistics& s = row.statistics;
    if (!is_answer(row.status) || row.status == PlanStatus::empty || !std::isfinite(s.mean_temp))
      return;
    if (std::isfinite(s.std_temp)) {
      points.means.push_back(s.mean_temp);
      points.deviations.push_back(s.std_temp);
    }
    points.by_mean.emplace(s.mean_temp, row.index);
    if (points.by_mean.size() > 2 * most_extremes)
      points.by_mean.erase(std::next(points.by_mean.begin(), most_extremes));
  });
  return points;
}

/// One axis of a field of bins, which are equally wide, or as logarithms.
struct Binned {
  double low;
  double high;
  std::size_t bins;
  bool is_logarithmic = false;
  [[nodiscard]] std::size_t bin_of(double value) const {
    const double part = is_logarithmic ? std::log(value / low) / std::log(high / low)
                                       : (value - low) / (high - low);
    const auto all = static_cast<double>(bins);
    return static_cast<std::size_t>(std::clamp(part * all, 0.0, all - 1));
  }
  [[nodiscard]] double edge(std::size_t bin) const {
    const double part = static_cast<double>(bin) / static_cast<double>(bins);
    return is_logarithmic ? low * std::pow(high / low, part) : low + part * (high - low);
  }
};

/// How many plans are in each bin of a field, so that a million plans take no more room than a
/// thousand.
void add_bins(Figure& figure, const Binned& along_x, const Binned& along_y,
              const std::vector<double>& x, const std::vector<double>& y) {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> counts;
  for (std::size_t i = 0; i < x.size(); ++i) ++counts[{along_x.bin_of(x[i]), along_y.bin_of(y[i])}];
  constexpr std::array names{"1 plan", "2 to 9 plans", "10 to 99", "100 to 999", "1000 or more"};
  std::vector<Figure::Series> steps(names.size());
  for (const auto& [bin, count] : counts) {
    const std::size_t digits = std::to_string(count).size();
    const std::size_t step = count == 1 ? 0 : std::min(digits, names.size() - 1);
    Figure::Series& of = steps[step];
    of.x.push_back(along_x.edge(bin.first));
    of.x_end.push_back(along_x.edge(bin.first + 1));
    of.y.push_back(along_y.edge(bin.second));
    of.y_end.push_back(along_y.edge(bin.second + 1));
  }
  figure.is_graded = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].x.empty()) continue;
    steps[i].name = names.at(i);
    steps[i].mark = Figure::Mark::rectangles;
    figure.series.push_back(std::move(steps[i]));
  }
}

constexpr std::size_t bins_across = 90;
constexpr std::size_t bins_up = 50;

void add_spread(const Points& points, Report& page) {
  if (points.means.empty()) return;
  const auto [left, right] = std::ranges::minmax(points.means);
  const auto [low, high] = std::ranges::minmax(points.deviations);
  Figure& figure = page.add(Figure{"spread",
                                   "mean and spread of each plan",
                                   {"mean temperature, °C"},
                                   {"standard deviation, °C"}});
  add_bins(figure, {std::floor(left), std::floor(right) + 1, bins_across},
           {std::floor(low), std::floor(high) + 1, bins_up}, points.means, points.deviations);
}

void add_predictions(const Points& points, Report& page) {
  const std::size_t plans = points.actual.size();
  if (plans == 0) {
    page.add(Note{"No plan's time was predicted: the run was too short."});
    return;
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < plans; ++i) ratios.push_back(points.actual[i] / points.predicted[i]);
  std::ranges::sort(ratios);
  const auto quantile = [&](double share) {
    return ratios[static_cast<std::size_t>(share * static_cast<double>(plans - 1))];
  };
  constexpr std::size_t few = 20;
  page.add(Note{
      plans < few
          ? fmt::format("{} plans were predicted. They took {:.2f} to {:.2f} times as long as "
                        "foreseen.",
                        plans, ratios.front(), ratios.back())
          : fmt::format("{} plans were predicted. Half of them took {:.2f} to {:.2f} times as long "
                        "as foreseen, nine of ten {:.2f} to {:.2f} times.",
                        plans, quantile(0.25), quantile(0.75), quantile(0.05), quantile(0.95))});
  const auto [least, most] = std::ranges::minmax(points.actual);
  const auto [least_predicted, most_predicted] = std::ranges::minmax(points.predicted);
  constexpr double margin = 1.25;
  const double low = std::min(least, least_predicted) / margin;
  const double high = std::max(most, most_predicted) * margin;
  Figure& figure = page.add(Figure{"predicted",
                                   "predicted and actual time of plans",
                                   {"predicted", Figure::Scale::time, {}, low, high},
                                   {"actual", Figure::Scale::time, {}, low, high}});
  add_bins(figure, {low, high, bins_across, true}, {low, high, bins_up, true}, points.predicted,
           points.actual);
  figure.series.push_back({.name = "as predicted",
                           .mark = Figure::Mark::line,
                           .x = {low, high},
                           .y = {low, high},
                           .is_dashed = true});
}

/// A few plans as a table, and as pictures if their fields are stored.
template <class Range>
void add_extremes(const char* key, const char* name, const Range& by_mean, const SummaryPage& of,
                  Report& page) {
  Table table{key,
              name,
              {{"id", "plan"},
               {"mean_temp", "mean", in_celsius},
               {"pct_below", fmt::format("below {} °C", of.thresholds.below), share_of_cells},
               {"pct_above", fmt::format("above {} °C", of.thresholds.above), share_of_cells},
               {"iterations", "iterations"}}};
  FieldPicture picture;
  for (const auto& [mean, index] : by_mean) {
    const PlanResult plan = of.reader.row(index);
    table.rows.push_back({plan.id, mean, plan.statistics.pct_below_15, plan.statistics.pct_above_18,
                          plan.iterations});
    if (auto field = of.reader.field(index))
      picture.panels.push_back({fmt::format("{} mean {:.2f} °C", printable(plan.id), mean),
                                without_ground(*std::move(field))});
  }
  if (table.rows.empty()) return;
  page.add(std::move(table));
  if (picture.panels.empty()) return;
  picture.columns = 3;
  picture.side = 200;
  page.add(Figure{.key = std::string(key) + "_fields",
                  .name = std::string(name) + ": temperatures",
                  .fields = std::make_shared<const FieldPicture>(std::move(picture))});
}

/// The sum of all ledgers, which add up to 100 % of their threads' time.
void add_ledgers(const std::vector<TimeLedger>& ledgers, const std::string& name, Report& page) {
  std::vector<std::pair<std::string, double>> sums;
  double total_s = 0;
  double cpu_s = 0;
  for (const TimeLedger& ledger : ledgers) {
    for (const auto& entry : ledger.entries) {
      const auto found = std::ranges::find(sums, entry.first, &decltype(sums)::value_type::first);
      if (found == sums.end())
        sums.push_back(entry);
      else
        found->second += entry.second;
    }
    total_s += ledger.total_s();
    cpu_s += ledger.cpu_s;
  }
  const TimeLedger& first = ledgers.front();
  sums.emplace_back(ledgers.size() > 1 ? fmt::format("all: {} sessions", ledgers.size())
                                       : fmt::format("all: {} threads x {}", first.threads,
                                                     duration_text(first.wall_s)),
                    total_s);
  if (cpu_s > 0) sums.emplace_back("of it on a core, for plans", cpu_s);
  Table& table = page.add(Table{"",
                                name,
                                {{"name", "where"},
                                 {"seconds", "thread time", {Form::duration}},
                                 {"percent", "share", {Form::decimals, 2, "%"}}}});
  for (const auto& [entry, seconds] : sums)
    table.rows.push_back({entry, seconds, 100 * seconds / total_s});
}

/// The share of all threads that were at a plan, over time.
void add_utilisation(std::span<const Lane> lanes, const TimeLedger& ledger,
                     const std::string& suffix, Report& page) {
  constexpr std::size_t bins = 100;
  std::vector<double> busy(bins, 0.0);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const auto shares = busy_shares(lanes.subspan(lane, 1), ledger.wall_s, bins);
    for (std::size_t i = 0; i < bins; ++i)
      busy[i] += 100 * shares.front()[i] / static_cast<double>(ledger.threads);
  }
  Figure& figure = page.add(Figure{"utilisation" + suffix,
                                   "threads at a plan" + suffix,
                                   {"s since the session began", {}, {}, 0.0, ledger.wall_s},
                                   {"threads at a plan, %", {}, {}, 0.0, 100.0}});
  Figure::Series& bars = figure.series.emplace_back();
  bars.mark = Figure::Mark::bars;
  const Binned time{0, ledger.wall_s, bins};
  for (std::size_t i = 0; i < bins; ++i) {
    bars.x.push_back(time.edge(i));
    bars.x_end.push_back(time.edge(i + 1));
    bars.y.push_back(busy[i]);
  }
}

/// How busy each thread was over time, a row a thread.
void add_threads(std::span<const Lane> lanes, const TimeLedger& ledger, const std::string& suffix,
                 Report& page) {
  constexpr std::size_t most_shown = 500;
  constexpr std::size_t most_rectangles = 20'000;  // few enough for a page
  constexpr double half = 0.43;                    // of a row, with a gap to the next one
  constexpr std::array names{"busy up to 25 %", "up to 50 %", "up to 75 %", "up to 100 %"};
  const std::size_t shown = std::min(lanes.size(), most_shown);
  if (shown < lanes.size())
    page.add(Note{fmt::format("The first {} of {} threads are drawn.", shown, lanes.size())});
  Figure& figure = page.add(Figure{"threads" + suffix,
                                   "threads over time" + suffix,
                                   {"s since the session began", {}, {}, 0.0, ledger.wall_s}});
  figure.is_graded = true;
  for (const char* name : names)
    figure.series.push_back({.name = name, .mark = Figure::Mark::rectangles});
  const std::size_t bins = std::clamp<std::size_t>(most_rectangles / shown, 40, 400);
  const Binned time{0, ledger.wall_s, bins};
  for (std::size_t row = 0; row < shown; ++row) {
    // The first one on top.
    const Lane& lane = lanes[shown - 1 - row];
    figure.y.names.push_back(
        fmt::format("rank {} thread {}, {}", lane.rank, lane.thread, lane.device));
    const std::vector<double> shares = busy_shares({&lane, 1}, ledger.wall_s, bins).front();
    const auto level = [&](std::size_t bin) {
      return bin < bins ? static_cast<int>(std::ceil(shares[bin] * names.size())) : -1;
    };
    for (std::size_t from = 0, to = 0; from < bins; from = to) {
      while (level(to) == level(from)) ++to;
      if (level(from) == 0) continue;
      Figure::Series& of = figure.series[static_cast<std::size_t>(level(from) - 1)];
      of.x.push_back(time.edge(from));
      of.x_end.push_back(time.edge(to));
      of.y.push_back(static_cast<double>(row) - half);
      of.y_end.push_back(static_cast<double>(row) + half);
    }
  }
}

void add_times_of_sessions(const std::vector<TimeLedger>& ledgers, const std::vector<Lane>& lanes,
                           Report& page) {
  constexpr std::size_t few = 3;
  const std::string name = "where the time went";
  if (ledgers.size() > few) {
    add_ledgers(ledgers, name, page);
    page.add(
        Note{fmt::format("The threads of {} sessions are not drawn. The page of a part draws "
                         "its own.",
                         ledgers.size())});
    return;
  }
  for (const TimeLedger& ledger : ledgers) {
    const std::string suffix =
        ledgers.size() > 1 ? fmt::format(", session {}", ledger.session) : "";
    add_ledgers({ledger}, name + suffix, page);
    // Lanes are in order of their sessions.
    const auto of_session = std::ranges::equal_range(lanes, ledger.session, {}, &Lane::session);
    const std::span<const Lane> shown(of_session.begin(), of_session.end());
    add_utilisation(shown, ledger, suffix, page);
    add_threads(shown, ledger, suffix, page);
  }
}

/// "26 Nov 2026, 01:12:10 UTC"; what is no time as it is.
std::string time_of_day(const std::string& utc) {
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (!seconds_of_utc(utc)) return utc;
  const auto month = static_cast<std::size_t>(std::stoi(utc.substr(5, 2)));
  return fmt::format("{} {} {}, {} UTC", std::stoi(utc.substr(8, 2)), months.at(month - 1),
                     utc.substr(0, 4), utc.substr(11, 8));
}

/// By which command, where and when.
void add_origin(const std::vector<Attributes>& sessions, const std::vector<Lane>& lanes,
                Report& page) {
  std::set<std::string> commands;
  std::size_t parts = 0;
  for (const Attributes& session : sessions) {
    if (const auto merged = merged_parts(session)) parts += *merged;
    if (session.contains("command_line")) commands.insert(session.at("command_line"));
  }
  if (parts > 0) page.add(Fact{"", "merged from", parts, {.unit = "parts"}});
  if (commands.size() == 1) page.add(Fact{"", "command", *commands.begin()});
  if (commands.size() > 1)
    page.add(Fact{"", "commands", commands.size(), {}, ", listed under sessions"});
  std::set<std::string> hosts;
  for (const Lane& lane : lanes) hosts.insert(lane.host);
  constexpr std::size_t few = 8;
  if (hosts.size() == 1) page.add(Fact{"", "host", *hosts.begin()});
  if (hosts.size() > 1)
    page.add(Fact{"",
                  "hosts",
                  hosts.size(),
                  {},
                  hosts.size() > few ? "" : fmt::format(": {}", fmt::join(hosts, ", "))});
  if (sessions.empty()) return;
  // Times in this form sort as they follow each other; a merge has none.
  std::string first = text_in(sessions.front(), "started_utc");
  std::string last;
  for (const Attributes& session : sessions)
    last = std::max(last, text_in(session, "ended_utc", ""));
  for (const Attributes& session : sessions)
    first = std::min(first, text_in(session, "started_utc"));
  page.add(Fact{"", "time",
                fmt::format("{} to {}", time_of_day(first),
                            last.empty() ? "an end that is not known" : time_of_day(last))});
}

void add_sessions(const ResultReader& reader, Report& page) {
  Table& table = page.add(Table{"",
                                "sessions",
                                {{"", "session"},
                                 {"", "started"},
                                 {"", "ended"},
                                 {"", "end"},
                                 {"", "solved"},
                                 {"", "failed"},
                                 {"", "wall time"},
                                 {"", "command"}}});
  const auto& sessions = reader.sessions();
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const auto text = [&](const char* name) { return text_in(sessions[i], name, "-"); };
    table.rows.push_back(
        {i, time_of_day(text("started_utc")), time_of_day(text("ended_utc")),
         sessions[i].contains("end") ? text("end") : "killed, or still running", text("solved"),
         text("failed"),
         sessions[i].contains("seconds") ? duration_text(number_in(sessions[i], "seconds")) : "-",
         text("command_line")});
  }
  constexpr std::size_t few = 10;
  table.is_folded = sessions.size() > few;
  if (table.is_folded) table.name = fmt::format("{} sessions", sessions.size());
  Table& settings = page.add(Table{"", "settings of the run", {{"", "name"}, {"", "value"}}});
  settings.is_folded = true;
  for (const auto& [name, value] : reader.settings()) settings.rows.push_back({name, value});
}

/// All plans, one after the other, as there may be millions.
void add_plan_rows(const SummaryPage& of, Report& page) {
  const Style number{Form::digits, 5};
  const Style share{Form::digits, 4, "%"};
  Table& table = page.add(Table{"",
                                "plans",
                                {{"", "plan"},
                                 {"", "status"},
                                 {"", "mean", {Form::digits, 5, "°C"}},
                                 {"", "deviation", {Form::digits, 5, "°C"}},
                                 {"", fmt::format("below {} °C", of.thresholds.below), share},
                                 {"", fmt::format("above {} °C", of.thresholds.above), share},
                                 {"", "iterations"},
                                 {"", "seconds", number}}});
  table.source = [rows = of.rows](const std::function<void(const Table::Row&)>& take) {
    rows([&](const PlanResult& row) {
      const Statistics& s = row.statistics;
      take({row.id, to_string(row.status), s.mean_temp, s.std_temp, s.pct_below_15, s.pct_above_18,
            row.iterations, row.seconds});
    });
  };
  page.add(Note{fmt::format("wallheat list {} prints all of them.", of.file)});
}

}  // namespace

Report page_of(const Report& summary, const SummaryPage& of) {
  const Points points = points_of(of.rows);
  const std::vector<Lane> lanes = of.are_all_rows ? lanes_of(of.rows) : std::vector<Lane>{};
  Report page{summary.title};
  for (const auto& part : summary.parts)
    if (std::holds_alternative<Fact>(part)) page.parts.push_back(part);
  add_origin(of.reader.sessions(), lanes, page);
  for (const std::string& sentence : of.reader.damage()) page.add(Note{sentence});
  // The histogram stands for its table.
  for (const auto& part : summary.parts)
    if (const auto* figure = std::get_if<Figure>(&part))
      page.add(*figure).name = "plans by mean temperature";
  add_spread(points, page);
  const std::size_t coldest = std::min(most_extremes, (points.by_mean.size() + 1) / 2);
  const auto middle = std::next(points.by_mean.begin(), static_cast<std::ptrdiff_t>(coldest));
  add_extremes("coldest", "coldest plans", std::ranges::subrange(points.by_mean.begin(), middle),
               of, page);
  add_extremes("warmest", "warmest plans",
               std::ranges::subrange(middle, points.by_mean.end()) | std::views::reverse, of, page);
  const std::vector<TimeLedger> ledgers = ledgers_of(lanes, of.reader.sessions());
  for (const auto& part : summary.parts) {
    const auto* const table = std::get_if<Table>(&part);
    // A ledger tells more than the phases of plans.
    if (table != nullptr && (table->key != "phases" || ledgers.empty())) page.add(*table);
    if (table != nullptr && table->key == "failures" && !table->rows.empty())
      page.add(Note{"All of them again, once their input is mended: " + resume_command(of.file) +
                    and_retry_failed});
    if (const auto* note = std::get_if<Note>(&part)) page.add(*note);
  }
  add_times_of_sessions(ledgers, lanes, page);
  add_predictions(points, page);
  add_sessions(of.reader, page);
  add_plan_rows(of, page);
  return page;
}

}  // namespace wallheat
