#include "report/time_breakdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <tuple>
#include <utility>

#include "monitor/file_status.hpp"
#include "report/report.hpp"
#include "store/merge.hpp"
#include "view/time_text.hpp"

namespace wallheat {

namespace {

/// Parses the maximum memory of the ranks of a session, "0:31244288 1:27000832", and keeps the
/// largest.
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
    for (const GpuTimeCategory& part : gpu_time_categories)
      time.on_gpus.*part.seconds += number_in(session, part.name);
    if (session.contains("kernels")) time.kernels += "\n" + text_in(session, "kernels") + "\n";
    const double seconds = number_in(session, "seconds");
    if (const auto start = parse_utc(text_in(session, "started_utc"))) {
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

Table table_of_seconds(const char* key, const char* name, const NamedSeconds& entries) {
  Table table{key,
              name,
              {{"name", "where"},
               {"seconds", "time", {ValueFormat::duration}},
               {"percent", "share", {ValueFormat::decimals, 1, "%"}}}};
  double all = 0;
  for (const auto& [entry, seconds] : entries) all += seconds;
  if (!(all > 0)) return table;
  for (const auto& [entry, seconds] : entries)
    table.rows.push_back({entry, seconds, 100 * seconds / all});
  return table;
}

namespace {

/// Returns the times of plans on GPUs by category.
NamedSeconds times_on_gpus(const GpuTimeTotals& times) {
  NamedSeconds entries;
  for (const GpuTimeCategory& part : gpu_time_categories)
    entries.emplace_back(part.text, times.*part.seconds);
  return entries;
}

}  // namespace

void add_gpu_times(const WallTime& wall, Report& report) {
  report.add(
      table_of_seconds("on_gpus", "time breakdown of plans on GPUs", times_on_gpus(wall.on_gpus)));
  if (!wall.kernels.empty()) report.add_note(wall.kernels);
}

namespace {

/// Times of the plans in the slots of a session, and of the gaps between them.
struct SlotTimes {
  std::size_t slots = 0;
  std::size_t plans = 0;
  PhaseSeconds in_plans{};
  double other_in_plans = 0;
  double before_first = 0;
  double between = 0;
  double after_last = 0;
  double last_end = 0;  ///< of all slots
  double cpu = 0;
};

void add_slot(const SlotTimeline& slot, double wall_s, SlotTimes& times) {
  double end = 0;
  for (const SlotInterval& plan : slot.plans) {
    // Clocks of both sides of a message are read, so a plan may appear to start before the previous
    // one ended.
    const double start = std::clamp(plan.started_s, end, wall_s);
    const double stop = std::clamp(plan.started_s + plan.seconds, start, wall_s);
    (&plan == slot.plans.data() ? times.before_first : times.between) += start - end;
    // Scale the phases so that they fit into the clamped interval.
    const double scale = plan.seconds > 0 ? (stop - start) / plan.seconds : 0;
    double left = stop - start;
    PhaseSeconds phases{};
    add_phases(plan.phases, phases);
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const double part = std::min(phases.at(i) * scale, left);
      times.in_plans.at(i) += part;
      left -= part;
    }
    times.other_in_plans += left;
    end = stop;
  }
  times.after_last += wall_s - end;
  times.last_end = std::max(times.last_end, end);
  times.cpu += slot.cpu_s;
  times.plans += slot.plans.size();
  ++times.slots;
}

/// Adds the time of solving, divided into the time on GPUs and the other time.
void add_solving(const Attributes& facts, double solving, NamedSeconds& seconds) {
  GpuTimeTotals on_gpus;
  double all = 0;
  for (const GpuTimeCategory& part : gpu_time_categories)
    all += on_gpus.*part.seconds = std::max(number_in(facts, part.name), 0.0);
  // Limit the time on GPUs to the time of solving: it includes plans of slots without times, and
  // the clocks differ.
  const double scale = all > 0 ? std::min(solving / all, 1.0) : 0;
  seconds.emplace_back("solving", solving - all * scale);
  for (const auto& [name, part_s] : times_on_gpus(on_gpus))
    seconds.emplace_back("solving on GPUs: " + name, part_s * scale);
}

}  // namespace

std::vector<SlotTimeline> slot_timelines(const Rows& rows) {
  std::map<std::tuple<std::uint32_t, std::int32_t, std::int32_t>, SlotTimeline> slots;
  std::size_t number = 0;
  rows([&](const PlanResult& row) {
    const std::size_t of_row = number++;
    if (row.thread < 0 || !std::isfinite(row.started_s)) return;
    SlotTimeline& slot = slots[{row.session, row.rank, row.thread}];
    if (slot.plans.empty()) {
      slot.session = row.session;
      slot.rank = row.rank;
      slot.thread = row.thread;
      slot.host = row.host;
      slot.device = row.device;
    }
    slot.plans.push_back({of_row, row.started_s, row.seconds, row.phases});
    if (!std::isnan(row.cpu_s)) slot.cpu_s += row.cpu_s;
  });
  std::vector<SlotTimeline> all;
  for (auto& [key, slot] : slots) {
    std::ranges::stable_sort(slot.plans, {}, &SlotInterval::started_s);
    all.push_back(std::move(slot));
  }
  return all;
}

std::vector<TimeBreakdown> time_breakdowns(const std::vector<SlotTimeline>& slots,
                                           const std::vector<Attributes>& sessions) {
  std::vector<TimeBreakdown> breakdowns;
  for (std::uint32_t session = 0; session < sessions.size(); ++session) {
    const Attributes& facts = sessions[session];
    TimeBreakdown breakdown{session, 0, number_in(facts, "seconds")};
    SlotTimes sum;
    for (const SlotTimeline& slot : slots)
      if (slot.session == session) add_slot(slot, breakdown.wall_s, sum);
    if (sum.slots == 0 || !(breakdown.wall_s > 0)) continue;
    breakdown.cpu_s = sum.cpu;
    breakdown.threads = std::max(sum.slots, static_cast<std::size_t>(number_in(facts, "threads")));
    const auto idle = static_cast<double>(breakdown.threads - sum.slots) * breakdown.wall_s;
    const double end_of_run = (breakdown.wall_s - sum.last_end) * static_cast<double>(sum.slots);
    // Failed attempts, duplicate results and aborted plans have no rows. Their time is in the gaps
    // between and after the plans of a slot.
    double gaps = sum.between + std::max(sum.after_last - end_of_run, 0.0) + idle;
    const auto taken = [&](const char* name) {
      const double seconds = std::min(number_in(facts, name), gaps);
      gaps -= seconds;
      return seconds;
    };
    const double failed = taken("failed_seconds");
    const double repeated = taken("repeated_seconds");
    const double abandoned = taken("abandoned_seconds");
    const double between = std::min(sum.between, gaps);
    breakdown.start_s = sum.before_first / static_cast<double>(sum.slots);
    breakdown.end_s = breakdown.wall_s - sum.last_end;
    breakdown.between_s = between;
    breakdown.gaps = sum.plans - sum.slots;
    const auto& [reading, hashing, solving, statistics, compressing] = sum.in_plans;
    add_solving(facts, solving, breakdown.seconds);
    breakdown.seconds.insert(breakdown.seconds.end(),
                             {{"reading", reading},
                              {"hashing", hashing},
                              {"statistics", statistics},
                              {"compressing", compressing},
                              {"other work on plans", sum.other_in_plans},
                              {"start: until a thread's first plan", sum.before_first},
                              {"between plans: waiting for rank 0", between},
                              {"no plans left for the thread", gaps - between},
                              {"end of the run", std::min(end_of_run, sum.after_last)},
                              {"failed attempts", failed},
                              {"duplicate results", repeated},
                              {"aborted at the end", abandoned}});
    breakdowns.push_back(breakdown);
  }
  return breakdowns;
}

NamedSeconds sum_of(const std::vector<TimeBreakdown>& breakdowns) {
  NamedSeconds sum;
  for (const TimeBreakdown& breakdown : breakdowns) {
    sum.resize(breakdown.seconds.size());
    for (std::size_t entry = 0; entry < sum.size(); ++entry) {
      sum[entry].first = breakdown.seconds[entry].first;
      sum[entry].second += breakdown.seconds[entry].second;
    }
  }
  return sum;
}

std::optional<RunOverheads> overheads_of(const std::vector<TimeBreakdown>& breakdowns) {
  if (breakdowns.empty()) return std::nullopt;
  RunOverheads mean;
  std::size_t gaps = 0;
  for (const TimeBreakdown& breakdown : breakdowns) {
    mean.start_s += breakdown.start_s / static_cast<double>(breakdowns.size());
    mean.end_s += breakdown.end_s / static_cast<double>(breakdowns.size());
    mean.wait_per_plan_s += breakdown.between_s;
    gaps += breakdown.gaps;
  }
  mean.wait_per_plan_s /= static_cast<double>(std::max<std::size_t>(gaps, 1));
  return mean;
}

std::vector<double> busy_shares(const SlotTimeline& slot, double wall_s, std::size_t bins) {
  std::vector<double> shares(bins);
  const double width = wall_s / static_cast<double>(bins);
  for (const SlotInterval& plan : slot.plans) {
    const double start = std::clamp(plan.started_s, 0.0, wall_s);
    const double stop = std::clamp(plan.started_s + plan.seconds, start, wall_s);
    const auto first = static_cast<std::size_t>(start / width);
    for (std::size_t bin = first; bin < bins && static_cast<double>(bin) * width < stop; ++bin) {
      const double from = std::max(start, static_cast<double>(bin) * width);
      const double to = std::min(stop, static_cast<double>(bin + 1) * width);
      shares[bin] = std::min(shares[bin] + std::max(to - from, 0.0) / width, 1.0);
    }
  }
  return shares;
}

namespace {

/// Adds the sum of all time breakdowns, which is 100 % of the time of their slots.
void add_time_breakdowns(const std::vector<TimeBreakdown>& breakdowns, Report& page) {
  Table& table = page.add(Table{"thread_time",
                                "time breakdown",
                                {{"name", "where"},
                                 {"seconds", "thread time", {ValueFormat::duration}},
                                 {"percent", "share", {ValueFormat::decimals, 2, "%"}}}});
  double total_s = 0;
  double cpu_s = 0;
  for (const TimeBreakdown& breakdown : breakdowns) {
    total_s += breakdown.total_s();
    cpu_s += breakdown.cpu_s;
  }
  const auto add_row = [&](const std::string& name, double seconds) {
    if (seconds > 0) table.rows.push_back({name, seconds, 100 * seconds / total_s});
  };
  for (const auto& [name, seconds] : sum_of(breakdowns)) add_row(name, seconds);
  const TimeBreakdown& first = breakdowns.front();
  add_row(breakdowns.size() > 1
              ? fmt::format("all: {} sessions", breakdowns.size())
              : fmt::format("all: {} threads x {}", first.threads, duration_text(first.wall_s)),
          total_s);
  add_row("CPU time of plans", cpu_s);
}

/// Adds a figure of the load of each slot over time, with one row per slot.
void add_threads(std::span<const SlotTimeline> slots, const TimeBreakdown& breakdown,
                 const std::string& suffix, Report& page) {
  constexpr std::size_t max_shown = 500;
  constexpr std::size_t max_rectangles = 20'000;  // limits the size of a page
  // Half of the height of a row, which leaves a gap to the next one.
  constexpr double half = 0.43;
  constexpr std::array names{"busy up to 25 %", "up to 50 %", "up to 75 %", "up to 100 %"};
  const std::size_t shown = std::min(slots.size(), max_shown);
  if (shown < slots.size())
    page.add_note(fmt::format("The first {} of {} threads are shown.", shown, slots.size()));
  Figure& figure =
      page.add(Figure{"threads" + suffix,
                      "threads over time" + suffix,
                      {"s since the start of the session", {}, {}, 0.0, breakdown.wall_s}});
  figure.is_sequential = true;
  for (const char* name : names)
    figure.series.push_back({.name = name, .mark = Figure::Mark::rectangles});
  const std::size_t bins = std::clamp<std::size_t>(max_rectangles / shown, 40, 400);
  const auto edge = [&](std::size_t bin) {
    return breakdown.wall_s * static_cast<double>(bin) / static_cast<double>(bins);
  };
  for (std::size_t row = 0; row < shown; ++row) {
    // The first slot is drawn on top.
    const SlotTimeline& slot = slots[shown - 1 - row];
    figure.y.names.push_back(
        fmt::format("rank {} thread {}, {}", slot.rank, slot.thread, slot.device));
    const std::vector<double> shares = busy_shares(slot, breakdown.wall_s, bins);
    const auto level = [&](std::size_t bin) {
      return bin < bins ? static_cast<int>(std::ceil(shares[bin] * names.size())) : -1;
    };
    for (std::size_t from = 0, to = 0; from < bins; from = to) {
      while (level(to) == level(from)) ++to;
      if (level(from) == 0) continue;
      figure.series[static_cast<std::size_t>(level(from) - 1)].add_rectangle(
          edge(from), edge(to), static_cast<double>(row) - half, static_cast<double>(row) + half);
    }
  }
}

}  // namespace

void add_session_times(const std::vector<TimeBreakdown>& breakdowns,
                       const std::vector<SlotTimeline>& slots, Report& page) {
  if (breakdowns.empty()) return;
  add_time_breakdowns(breakdowns, page);
  constexpr std::size_t few = 3;
  if (breakdowns.size() > few) {
    page.add_note(
        fmt::format("The threads of {} sessions are not shown. The page of a shard file "
                    "shows its threads.",
                    breakdowns.size()));
    return;
  }
  for (const TimeBreakdown& breakdown : breakdowns) {
    // Slots are sorted by session.
    const auto of_session =
        std::ranges::equal_range(slots, breakdown.session, {}, &SlotTimeline::session);
    add_threads({of_session.begin(), of_session.end()}, breakdown,
                breakdowns.size() > 1 ? fmt::format(", session {}", breakdown.session) : "", page);
  }
}

}  // namespace wallheat
