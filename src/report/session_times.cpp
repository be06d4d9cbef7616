#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "report/report.hpp"
#include "report/time_ledger.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

/// The sum of all ledgers, which add up to 100 % of their threads' time.
void add_ledgers(const std::vector<TimeLedger>& ledgers, Report& page) {
  Table& table = page.add(Table{"thread_time",
                                "where the time went",
                                {{"name", "where"},
                                 {"seconds", "thread time", {Form::duration}},
                                 {"percent", "share", {Form::decimals, 2, "%"}}}});
  double total_s = 0;
  double cpu_s = 0;
  for (const TimeLedger& ledger : ledgers) {
    total_s += ledger.total_s();
    cpu_s += ledger.cpu_s;
  }
  const auto add_row = [&](const std::string& name, double seconds) {
    if (seconds > 0) table.rows.push_back({name, seconds, 100 * seconds / total_s});
  };
  const LedgerSeconds sum = sum_of(ledgers);
  for (std::size_t entry = 0; entry < sum.size(); ++entry)
    add_row(ledger_names.at(entry), sum.at(entry));
  const TimeLedger& first = ledgers.front();
  add_row(ledgers.size() > 1
              ? fmt::format("all: {} sessions", ledgers.size())
              : fmt::format("all: {} threads x {}", first.threads, duration_text(first.wall_s)),
          total_s);
  add_row("of it on a core, for plans", cpu_s);
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
    page.add_note(fmt::format("The first {} of {} threads are drawn.", shown, lanes.size()));
  Figure& figure = page.add(Figure{"threads" + suffix,
                                   "threads over time" + suffix,
                                   {"s since the session began", {}, {}, 0.0, ledger.wall_s}});
  figure.is_graded = true;
  for (const char* name : names)
    figure.series.push_back({.name = name, .mark = Figure::Mark::rectangles});
  const std::size_t bins = std::clamp<std::size_t>(most_rectangles / shown, 40, 400);
  const auto edge = [&](std::size_t bin) {
    return ledger.wall_s * static_cast<double>(bin) / static_cast<double>(bins);
  };
  for (std::size_t row = 0; row < shown; ++row) {
    // The first one on top.
    const Lane& lane = lanes[shown - 1 - row];
    figure.y.names.push_back(
        fmt::format("rank {} thread {}, {}", lane.rank, lane.thread, lane.device));
    const std::vector<double> shares = busy_shares(lane, ledger.wall_s, bins);
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

void add_session_times(const std::vector<TimeLedger>& ledgers, const std::vector<Lane>& lanes,
                       Report& page) {
  if (ledgers.empty()) return;
  add_ledgers(ledgers, page);
  constexpr std::size_t few = 3;
  if (ledgers.size() > few) {
    page.add(
        Note{fmt::format("The threads of {} sessions are not drawn. The page of a part draws "
                         "its own.",
                         ledgers.size())});
    return;
  }
  for (const TimeLedger& ledger : ledgers) {
    // Lanes are in order of their sessions.
    const auto of_session = std::ranges::equal_range(lanes, ledger.session, {}, &Lane::session);
    add_threads({of_session.begin(), of_session.end()}, ledger,
                ledgers.size() > 1 ? fmt::format(", session {}", ledger.session) : "", page);
  }
}

}  // namespace wallheat
