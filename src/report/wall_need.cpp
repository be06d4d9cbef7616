#include "report/wall_need.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "core/python_float.hpp"
#include "forecast/listing_line.hpp"
#include "report/histogram.hpp"
#include "report/unknown.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::size_t facts_from = 22;  // the column where the text of a fact begins

std::vector<double> gathered(const std::vector<double>& cells,
                             const std::vector<std::uint32_t>& places) {
  std::vector<double> values;
  values.reserve(places.size());
  for (const std::uint32_t place : places) values.push_back(cells[place]);
  return values;
}

void add_mean(const NeedQuestion& question, const Superposition& linear,
              const std::vector<std::uint32_t>& places, RoomNeed& room) {
  const WallInfluence& wall = linear.walls.front();
  const BoundedValue now = bounded_mean(gathered(linear.now.cells, places), linear.now.bound);
  const BoundedValue rise =
      bounded_mean(gathered(wall.per_degree.cells, places), wall.per_degree.bound);
  room.now = now.value;
  room.per_degree = rise.value;
  room.needed = needed_temperature({wall.kind, now, rise}, question.target);
}

void add_area(const NeedQuestion& question, const Superposition& linear,
              const std::vector<NeededTemperature>& of_cells,
              const std::vector<std::uint32_t>& places, RoomNeed& room) {
  std::vector<NeededTemperature> needed;
  needed.reserve(places.size());
  std::size_t above = 0;
  for (const std::uint32_t place : places) {
    needed.push_back(of_cells[place]);
    above += linear.now.cells[place] > question.target ? 1U : 0U;
  }
  room.now = 100 * static_cast<double>(above) / static_cast<double>(places.size());
  room.per_degree = unknown;
  room.needed = needed_for_count(needed, count_of_share(question.area_share, places.size()));
}

const char* rooms_word(const NeedQuestion& question) {
  return question.whole_plans ? "plans" : "rooms";
}

std::string goal_text(const NeedQuestion& question) {
  const char* one = question.whole_plans ? "a plan" : "a room";
  if (question.area_share > 0)
    return fmt::format("{:.6g} % of {}'s area above {:.6g} °C", 100 * question.area_share, one,
                       question.target);
  return fmt::format("a mean of at least {:.6g} °C in {}", question.target, one);
}

double uncertainty_of(const NeededTemperature& needed) {
  return std::max(needed.most - needed.value, needed.value - needed.least);
}

/// "the wall must be at 63.06 °C for 95 % of the rooms", or why there is no such wall.
std::string answer_text(const NeededTemperature& needed, const NeedQuestion& question) {
  const std::string whom =
      fmt::format("for {:.6g} % of the {}", 100 * question.room_share, rooms_word(question));
  switch (verdict_on(needed, question.limit)) {
    case NeedVerdict::always:
      return fmt::format("the wall may be at any temperature {}", whom);
    case NeedVerdict::never:
      return fmt::format("no temperature of the wall is enough {}", whom);
    case NeedVerdict::above_limit:
      return fmt::format("a wall of {:.6g} °C is not enough {}: it would have to be at {:.2f} °C",
                         question.limit, whom, needed.value);
    case NeedVerdict::reachable:
      break;
  }
  return fmt::format("the wall must be at {:.2f} °C {}", needed.value, whom);
}

double area_of(const RoomNeed& room, const NeedQuestion& question) {
  return static_cast<double>(room.cells) * question.cell_metres * question.cell_metres;
}

std::vector<std::string> need_cells(const RoomNeed& room, const NeedQuestion& question) {
  const auto number = [](double value, int digits) {
    return std::isnan(value) ? std::string("-") : fmt::format("{:.{}f}", value, digits);
  };
  std::vector<std::string> cells{fmt::format("{}", room.room), fmt::format("{}", room.cells)};
  if (question.cell_metres > 0) cells.push_back(number(area_of(room, question), 1));
  cells.push_back(number(room.now, 3));
  if (question.area_share == 0) cells.push_back(number(room.per_degree, 4));
  const NeedVerdict verdict = verdict_on(room.needed, question.limit);
  const bool is_number = std::isfinite(room.needed.value);
  cells.push_back(is_number ? number(room.needed.value, 3) : "-");
  cells.push_back(is_number ? fmt::format("{:.1g}", uncertainty_of(room.needed)) : "-");
  cells.emplace_back(verdict == NeedVerdict::reachable ? "" : to_string(verdict));
  return cells;
}

struct RoomOfPlan {
  const PlanNeed* plan;
  const RoomNeed* room;
};

/// All rooms, those that need the most first.
std::vector<RoomOfPlan> by_need(const WallNeed& need) {
  std::vector<RoomOfPlan> rooms;
  for (const PlanNeed& plan : need.plans)
    for (const RoomNeed& room : plan.rooms) rooms.push_back({&plan, &room});
  std::stable_sort(rooms.begin(), rooms.end(), [](const RoomOfPlan& a, const RoomOfPlan& b) {
    return a.room->needed.value > b.room->needed.value;
  });
  return rooms;
}

void print_needs_of_rooms(const WallNeed& need) {
  const NeedQuestion& question = need.question;
  const bool one = need.plans.size() == 1;
  std::vector<RoomOfPlan> rooms = by_need(need);
  constexpr std::size_t most_rooms = 10;
  if (!one) {
    std::erase_if(rooms, [&](const RoomOfPlan& room) {
      return verdict_on(room.room->needed, question.limit) != NeedVerdict::reachable;
    });
    if (rooms.empty()) return;
  }
  const std::size_t shown = one ? rooms.size() : std::min(rooms.size(), most_rooms);
  if (question.whole_plans && one) return;
  std::vector<std::string> head{"room", "cells"};
  if (question.cell_metres > 0) head.emplace_back("m²");
  if (question.area_share > 0) {
    head.emplace_back("% above now");
  } else {
    head.insert(head.end(), {"mean °C now", "°C per °C"});
  }
  head.insert(head.end(), {"needs °C", "± °C", ""});
  std::string alignment(head.size() - 1, 'r');
  alignment += 'l';
  if (!one) {
    head.insert(head.begin(), "plan");
    alignment.insert(alignment.begin(), 'l');
  }
  std::vector<std::vector<std::string>> table{head};
  for (const auto& [plan, room] : std::span(rooms).first(shown)) {
    auto cells = need_cells(*room, question);
    if (!one) cells.insert(cells.begin(), plan->id);
    table.push_back(std::move(cells));
  }
  fmt::print("\n{}\n", one ? "its rooms, by what they need"
                           : fmt::format("the {} that need most within the limit of {:.6g} °C",
                                         rooms_word(question), question.limit));
  print_table(alignment, table, table_margin);
}

/// What rooms need that reach their goal within the limit.
std::vector<double> reachable_needs(const WallNeed& need) {
  std::vector<double> values;
  for (const PlanNeed& plan : need.plans)
    for (const RoomNeed& room : plan.rooms)
      if (verdict_on(room.needed, need.question.limit) == NeedVerdict::reachable)
        values.push_back(room.needed.value);
  return values;
}

/// How many rooms have each verdict, in the order of NeedVerdict.
std::vector<std::size_t> verdicts_in(const WallNeed& need) {
  std::vector<std::size_t> counts(4);
  for (const PlanNeed& plan : need.plans)
    for (const RoomNeed& room : plan.rooms)
      ++counts[static_cast<std::size_t>(verdict_on(room.needed, need.question.limit))];
  return counts;
}

/// How many rooms reach the goal while the wall is as it is.
std::size_t reached_now(const WallNeed& need) {
  std::size_t count = 0;
  for (const PlanNeed& plan : need.plans)
    for (const RoomNeed& room : plan.rooms)
      count += room.needed.value <= need.question.wall ? 1U : 0U;
  return count;
}

double percent_of(std::size_t part, std::size_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

/// Shares that are told beside the one that is asked for.
constexpr double usual_shares[] = {0.5, 0.75, 0.9, 1};

void print_other_shares(const WallNeed& need) {
  constexpr std::size_t few = 8;
  if (need.rooms() < few) return;
  std::string text;
  for (const double share : usual_shares) {
    const NeededTemperature needed = need.for_share(share);
    const NeedVerdict verdict = verdict_on(needed, need.question.limit);
    text += fmt::format("{}{:.6g} %: {}", text.empty() ? "" : ", ", 100 * share,
                        verdict == NeedVerdict::reachable ? fmt::format("{:.2f} °C", needed.value)
                                                          : to_string(verdict));
  }
  print_fact("other shares", text, facts_from);
}

void print_unreached(const WallNeed& need) {
  const NeedQuestion& question = need.question;
  const auto counts = verdicts_in(need);
  const std::size_t above = counts[static_cast<std::size_t>(NeedVerdict::above_limit)];
  const std::size_t never = counts[static_cast<std::size_t>(NeedVerdict::never)];
  if (above + never == 0) return;
  std::string why;
  if (above > 0) why = fmt::format("{} would need more than {:.6g} °C", above, question.limit);
  if (never > 0)
    why +=
        fmt::format("{}for {} no temperature of this wall is enough", above > 0 ? ", " : "", never);
  print_fact("out of reach",
             fmt::format("{} of {} {} ({:.1f} %): {}", above + never, need.rooms(),
                         rooms_word(question), percent_of(above + never, need.rooms()), why),
             facts_from);
}

/// {temperature, % of all rooms that reach their goal with it}, over a range.
std::vector<std::vector<double>> reached_shares(const WallNeed& need, double first, double last) {
  std::vector<double> needs;
  for (const PlanNeed& plan : need.plans)
    for (const RoomNeed& room : plan.rooms) needs.push_back(room.needed.value);
  std::sort(needs.begin(), needs.end());
  std::vector<std::vector<double>> shares;
  constexpr int points = 400;
  for (int i = 0; i <= points; ++i) {
    const double at = first + (last - first) * i / points;
    const auto reached = std::upper_bound(needs.begin(), needs.end(), at) - needs.begin();
    shares.push_back({at, percent_of(static_cast<std::size_t>(reached), needs.size())});
  }
  return shares;
}

/// The bins of a histogram, up to the largest need; they are wider where it is far from the others.
std::vector<Histogram::Bin> drawn_bins(const std::vector<double>& needs) {
  std::vector<Histogram::Bin> bins = histogram_of(needs).bins;
  if (bins.empty()) return bins;
  const double first = bins.front().from;
  double width = bins.front().to - first;
  const double last = *std::max_element(needs.begin(), needs.end());
  constexpr double most_drawn = 60;
  while ((last - first) / width >= most_drawn) width *= 2;
  bins.resize(static_cast<std::size_t>((last - first) / width) + 1);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double from = first + static_cast<double>(i) * width;
    const auto count = std::count_if(needs.begin(), needs.end(), [&](double value) {
      return value >= from && value < from + width;
    });
    bins[i] = {from, from + width, static_cast<std::size_t>(count)};
  }
  return bins;
}

Json needed_json(const NeededTemperature& needed, double limit) {
  return {{"verdict", to_string(verdict_on(needed, limit))},
          {"temperature", needed.value},
          {"least", needed.least},
          {"most", needed.most}};
}

}  // namespace

std::vector<RoomNeed> needs_of_rooms(const NeedQuestion& question, const Superposition& linear,
                                     const std::vector<std::vector<std::uint32_t>>& rooms) {
  std::vector<NeededTemperature> of_cells;
  if (question.area_share > 0) of_cells = needed_of_cells(linear, 0, question.target);
  std::vector<RoomNeed> needs;
  for (const auto& places : rooms) {
    if (places.size() < question.min_cells) continue;
    RoomNeed room;
    room.room = static_cast<std::uint32_t>(&places - rooms.data() + 1);
    room.cells = places.size();
    if (question.area_share > 0) {
      add_area(question, linear, of_cells, places, room);
    } else {
      add_mean(question, linear, places, room);
    }
    needs.push_back(room);
  }
  return needs;
}

NeedVerdict verdict_on(const NeededTemperature& needed, double limit) {
  if (std::isinf(needed.value)) return needed.value > 0 ? NeedVerdict::never : NeedVerdict::always;
  return needed.value > limit ? NeedVerdict::above_limit : NeedVerdict::reachable;
}

std::string_view to_string(NeedVerdict verdict) {
  switch (verdict) {
    case NeedVerdict::always:
      return "always";
    case NeedVerdict::reachable:
      return "reachable";
    case NeedVerdict::above_limit:
      return "above limit";
    case NeedVerdict::never:
      break;
  }
  return "never";
}

std::size_t WallNeed::rooms() const {
  std::size_t count = 0;
  for (const PlanNeed& plan : plans) count += plan.rooms.size();
  return count;
}

NeededTemperature WallNeed::for_share(double share) const {
  std::vector<NeededTemperature> all;
  for (const PlanNeed& plan : plans)
    for (const RoomNeed& room : plan.rooms) all.push_back(room.needed);
  return needed_for_count(all, count_of_share(share, all.size()));
}

NeededTemperature WallNeed::for_plan(const PlanNeed& plan) const {
  std::vector<NeededTemperature> all;
  for (const RoomNeed& room : plan.rooms) all.push_back(room.needed);
  return needed_for_count(all, count_of_share(question.room_share, all.size()));
}

void print_wall_need(const WallNeed& need) {
  const NeedQuestion& question = need.question;
  const std::size_t rooms = need.rooms();
  std::size_t with_wall = 0;
  for (const PlanNeed& plan : need.plans) with_wall += plan.has_wall ? 1U : 0U;
  if (need.plans.size() == 1) {
    print_fact("plan", need.plans.front().id, facts_from);
  } else {
    print_fact("plans",
               fmt::format("{}, {} of them with a wall at {:.6g} °C", need.plans.size(), with_wall,
                           question.wall),
               facts_from);
  }
  if (!question.whole_plans) print_fact("rooms", fmt::format("{}", rooms), facts_from);
  print_fact("goal", goal_text(question), facts_from);
  if (rooms == 0) return;
  const std::size_t now = reached_now(need);
  print_fact(fmt::format("wall at {:.6g} °C", question.wall),
             fmt::format("{} of {} {} reach it, {:.1f} %", now, rooms, rooms_word(question),
                         percent_of(now, rooms)),
             facts_from);
  print_fact("answer", answer_text(need.for_share(question.room_share), question), facts_from);
  print_other_shares(need);
  print_unreached(need);
  const Histogram histogram = histogram_of(reachable_needs(need));
  if (need.plans.size() > 1 && !histogram.bins.empty()) {
    fmt::print("\n{} by the wall's temperature that they need\n", rooms_word(question));
    constexpr int all_digits = 15;
    print_histogram(histogram, all_digits);
    if (!histogram.outliers.empty())
      print_line(fmt::format("  and {} far from these", histogram.outliers.size()), facts_from);
  }
  print_needs_of_rooms(need);
}

Json to_json(const WallNeed& need) {
  const NeedQuestion& question = need.question;
  const std::size_t rooms = need.rooms();
  Json json{{"wall", question.wall},
            {"goal", question.area_share > 0 ? "area" : "mean"},
            {"target", question.target},
            {"area_share", question.area_share > 0 ? question.area_share : unknown},
            {"share", question.room_share},
            {"limit", question.limit},
            {"whole_plans", question.whole_plans},
            {"min_cells", question.min_cells},
            {"rooms", rooms},
            {"reached_now", reached_now(need)}};
  const auto counts = verdicts_in(need);
  for (std::size_t verdict = 0; verdict < counts.size(); ++verdict)
    json["verdicts"][std::string(to_string(static_cast<NeedVerdict>(verdict)))] = counts[verdict];
  json["needed"] =
      rooms == 0 ? Json() : needed_json(need.for_share(question.room_share), question.limit);
  json["other_shares"] = Json::array();
  for (const double share : usual_shares) {
    if (rooms == 0) break;
    json["other_shares"].push_back(needed_json(need.for_share(share), question.limit));
    json["other_shares"].back()["share"] = share;
  }
  json["histogram"] = Json::array();
  for (const auto& [from, to, count] : histogram_of(reachable_needs(need)).bins)
    json["histogram"].push_back({{"from", from}, {"to", to}, {"rooms", count}});
  json["plans"] = Json::array();
  for (const PlanNeed& plan : need.plans) {
    Json one{{"id", plan.id},
             {"has_wall", plan.has_wall},
             {"error_bound", plan.bound},
             {"rooms", plan.rooms.size()}};
    one["needed"] = plan.rooms.empty() ? Json() : needed_json(need.for_plan(plan), question.limit);
    json["plans"].push_back(std::move(one));
  }
  if (need.plans.size() != 1) return json;
  json["each_room"] = Json::array();
  for (const RoomNeed& room : need.plans.front().rooms) {
    Json one{{"room", room.room},
             {"cells", room.cells},
             {"now", room.now},
             {"per_degree", room.per_degree},
             {"needed", needed_json(room.needed, question.limit)}};
    if (question.cell_metres > 0) one["area_m2"] = area_of(room, question);
    json["each_room"].push_back(std::move(one));
  }
  return json;
}

void write_csv(std::ostream& out, const WallNeed& need) {
  const bool area = need.question.area_share > 0;
  out << need_csv_beginning << (area ? "pct_above_now" : "mean_now,per_degree")
      << ",needed,least,most,verdict" << (need.question.cell_metres > 0 ? ",area_m2" : "") << '\n';
  const auto number = [](double value) {
    return std::isfinite(value) ? python_float(value) : std::string();
  };
  for (const PlanNeed& plan : need.plans) {
    for (const RoomNeed& room : plan.rooms) {
      out << csv_cell(plan.id) << ',' << room.room << ',' << room.cells << ',' << number(room.now);
      if (!area) out << ',' << number(room.per_degree);
      for (const double value : {room.needed.value, room.needed.least, room.needed.most})
        out << ',' << number(value);
      out << ',' << to_string(verdict_on(room.needed, need.question.limit));
      if (need.question.cell_metres > 0) out << ',' << number(area_of(room, need.question));
      out << '\n';
    }
  }
}

Plot need_plot(const WallNeed& need) {
  const NeedQuestion& question = need.question;
  const NeededTemperature answer = need.for_share(question.room_share);
  const std::vector<Histogram::Bin> bins = drawn_bins(reachable_needs(need));
  if (bins.empty())
    throw RunError(
        fmt::format("there is no room to draw that reaches its goal with a wall of up "
                    "to {:.6g} °C",
                    question.limit));
  std::vector<std::vector<double>> bars;
  double highest = 0;
  for (const auto& [from, to, count] : bins) {
    bars.push_back({(from + to) / 2, static_cast<double>(count)});
    highest = std::max(highest, bars.back()[1]);
  }
  const double first = bins.front().from;
  const double last = bins.back().to;
  const double width = bins.front().to - first;
  Plot plot;
  plot.set_heading(
      fmt::format("walls that are at {:.6g} °C, for {}", question.wall, goal_text(question)));
  plot.add(R"(set title heading."\n".{})", Plot::quoted(answer_text(answer, question)));
  plot.add("set xlabel 'temperature of the wall, °C'");
  plot.add("set ylabel '{} that need it, in {:.3g} °C'", rooms_word(question), width);
  plot.add("set y2label 'share of all {} that reach it, %'", rooms_word(question));
  plot.add("set y2range [0:115]");  // as far above the highest as the bars
  plot.add("set y2tics 0,20,100");
  plot.add("set border 11 linecolor rgb '#686e7a'");
  plot.add("set key outside below center horizontal");
  plot.add("set bmargin 6");
  std::string more =
      fmt::format(" title {}, {} axes x1y2 with lines linetype 3 title 'share that reaches it'",
                  Plot::quoted(fmt::format("{} by need", rooms_word(question))),
                  plot.add_data(reached_shares(need, first, last)));
  const auto add_line = [&](double at, int line_type, const std::string& title) {
    if (!(at >= first && at <= last)) return;
    more +=
        fmt::format(", {} with lines linetype {} dashtype 2 title {}",
                    plot.add_data({{at, 0}, {at, 1.08 * highest}}), line_type, Plot::quoted(title));
  };
  add_line(question.wall, 4, fmt::format("now {:.6g} °C", question.wall));
  add_line(answer.value, 2,
           fmt::format("{:.6g} % at {:.2f} °C", 100 * question.room_share, answer.value));
  plot.add_bars(bars, width, more);
  return plot;
}

}  // namespace wallheat
