#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "app/commands.hpp"
#include "app/options.hpp"
#include "app/time_text.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_store.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

constexpr std::size_t longest_list = 5;

void print_histogram(const std::vector<const PlanResult*>& plans) {
  std::map<int, std::size_t> bins;
  for (const PlanResult* plan : plans)
    ++bins[static_cast<int>(std::floor(plan->statistics.mean_temp))];
  if (bins.empty()) return;
  std::size_t highest = 0;
  for (const auto& [degree, count] : bins) highest = std::max(highest, count);
  fmt::print("\nplans by mean temperature\n");
  for (int degree = bins.begin()->first; degree <= bins.rbegin()->first; ++degree) {
    const std::size_t count = bins.contains(degree) ? bins[degree] : 0;
    constexpr std::size_t width = 50;
    // Round up: a bin with a plan in it shows at least one mark.
    const std::size_t bar = (count * width + highest - 1) / highest;
    fmt::print("  {:>4} to {:<4} °C {:>6}  {}\n", degree, degree + 1, count, std::string(bar, '#'));
  }
}

void print_slowest(std::vector<const PlanResult*> plans) {
  const std::size_t count = std::min(plans.size(), longest_list);
  std::partial_sort(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(count), plans.end(),
                    [](const auto* a, const auto* b) { return a->seconds > b->seconds; });
  if (count > 0) fmt::print("\nslowest plans\n");
  for (std::size_t i = 0; i < count; ++i) {
    fmt::print("  {:<16} {:>9}  {:>6} iterations  {:>8} interior cells  {} on {}\n", plans[i]->id,
               duration_text(plans[i]->seconds), plans[i]->iterations, plans[i]->interior_cells,
               plans[i]->device, plans[i]->host);
  }
}

void print_failed(const std::vector<const PlanResult*>& failed) {
  if (!failed.empty()) fmt::print("\nfailed plans\n");
  for (const PlanResult* plan : failed) {
    fmt::print("  {:<16} {} attempt(s): {}\n", plan->id, plan->attempts, plan->error);
  }
}

/// What the sessions that ended by themselves took; a killed one leaves no figures.
struct WallTime {
  std::size_t sessions = 0;
  double seconds = 0;
  double plans = 0;  ///< tried in that time
};

/// The time in which any session ran: those of merged parts ran at the same time.
WallTime wall_time(const std::vector<Attributes>& sessions) {
  const auto number = [](const Attributes& session, const char* name) {
    const auto found = session.find(name);
    return found == session.end() ? 0.0 : std::strtod(found->second.c_str(), nullptr);
  };
  WallTime time;
  std::vector<std::pair<double, double>> stretches;
  for (const Attributes& session : sessions) {
    if (!session.contains("seconds")) continue;
    ++time.sessions;
    time.plans += number(session, "solved") + number(session, "failed");
    const double seconds = number(session, "seconds");
    const auto begin = session.find("started_utc");
    const auto start = begin == session.end() ? std::nullopt : seconds_of_utc(begin->second);
    if (start) {
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

}  // namespace

int summary_command(const Arguments& arguments) {
  std::string file;
  Options options("summary FILE", "Answers the questions that a data set is solved for.");
  options.add()("file", po::value(&file)->value_name("FILE"),
                "the result file (also as an argument)");
  options.positional("file", 1);
  options.require({"file"});
  if (!options.parse(arguments)) return exit_done;

  const ResultReader reader(file);
  for (const std::string& sentence : reader.damage())
    fmt::print(stderr, "wallheat: {}\n", sentence);
  std::vector<const PlanResult*> solved;  // with a temperature
  std::vector<const PlanResult*> failed;
  std::map<PlanStatus, std::size_t> counts;
  double core_seconds = 0;
  for (const PlanResult& row : reader.rows()) {
    ++counts[row.status];
    core_seconds += row.seconds;
    if (row.status == PlanStatus::failed) failed.push_back(&row);
    if (is_answer(row.status) && row.status != PlanStatus::empty) solved.push_back(&row);
  }

  fmt::print("plans                        {}\n", reader.rows().size());
  for (const auto& [status, count] : counts) fmt::print("  {:<26} {}\n", to_string(status), count);
  const auto total = [&](auto value) {
    double sum = 0;
    for (const PlanResult* plan : solved) sum += value(plan->statistics);
    return sum;
  };
  const auto at_least_half = [&](auto share) {
    return std::count_if(solved.begin(), solved.end(),
                         [&](const PlanResult* plan) { return share(plan->statistics) >= 50; });
  };
  const auto count = static_cast<double>(solved.size());
  if (!solved.empty()) {
    fmt::print("average mean temperature     {:.3f} °C\n",
               total([](const Statistics& s) { return s.mean_temp; }) / count);
    fmt::print("average standard deviation   {:.3f} °C\n",
               total([](const Statistics& s) { return s.std_temp; }) / count);
    fmt::print("at least 50 % above 18 °C    {} plans\n",
               at_least_half([](const Statistics& s) { return s.pct_above_18; }));
    fmt::print("at least 50 % below 15 °C    {} plans\n",
               at_least_half([](const Statistics& s) { return s.pct_below_15; }));
  }
  fmt::print("core time                    {}\n", duration_text(core_seconds));
  const WallTime wall = wall_time(reader.sessions());
  if (wall.seconds > 0) {
    fmt::print("wall time                    {}, {:.2f} plans/s", duration_text(wall.seconds),
               wall.plans / wall.seconds);
    if (reader.sessions().size() > 1) {
      fmt::print(" ({} of {} sessions; one that was killed leaves no figures)", wall.sessions,
                 reader.sessions().size());
    }
    fmt::print("\n");
  }
  if (!reader.closed_well())
    fmt::print("the file is still being written, or its writer was killed: go on with --resume\n");
  print_histogram(solved);
  print_slowest(solved);
  print_failed(failed);
  return exit_done;
}

}  // namespace wallheat
