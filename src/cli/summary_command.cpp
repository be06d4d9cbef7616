#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "store/results/merge.hpp"
#include "store/results/result_store.hpp"
#include "view/histogram.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

constexpr std::size_t longest_list = 5;

constexpr std::size_t margin = 2;
constexpr std::size_t indent = 6;  // of what goes on in a further line

void print_histogram(const std::vector<const PlanResult*>& plans) {
  if (plans.empty()) return;
  std::vector<double> means;
  means.reserve(plans.size());
  for (const PlanResult* plan : plans) means.push_back(plan->statistics.mean_temp);
  const Histogram histogram = histogram_of(means);
  std::size_t highest = 1;
  for (const Histogram::Bin& bin : histogram.bins) highest = std::max(highest, bin.count);
  fmt::print("\nplans by mean temperature\n");
  std::vector<std::vector<std::string>> rows;
  for (const Histogram::Bin& bin : histogram.bins) {
    constexpr std::size_t width = 30;
    // Round up: a bin with a plan in it shows at least one mark.
    const std::size_t bar = (bin.count * width + highest - 1) / highest;
    rows.push_back({fmt::format("{:.15g}", bin.from), fmt::format("to {:.15g} °C", bin.to),
                    fmt::format("{}", bin.count), std::string(bar, '#')});
  }
  print_table("rlrl", rows, margin);

  if (!histogram.outliers.empty()) print_line("  far from the others", indent);
  constexpr std::size_t most_outliers = 10;
  rows.clear();
  for (const std::size_t i : histogram.outliers) {
    if (rows.size() < most_outliers)
      rows.push_back({plans[i]->id, fmt::format("{:.6g} °C", means[i])});
  }
  print_table("lr", rows, 2 * margin);
  if (histogram.outliers.size() > rows.size())
    print_line(fmt::format("    and {} more", histogram.outliers.size() - rows.size()), indent);
}

void print_slowest(std::vector<const PlanResult*> plans) {
  const std::size_t count = std::min(plans.size(), longest_list);
  std::partial_sort(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(count), plans.end(),
                    [](const auto* a, const auto* b) { return a->seconds > b->seconds; });
  if (count > 0) fmt::print("\nslowest plans\n");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back({plans[i]->id, duration_text(plans[i]->seconds),
                    fmt::format("{} iterations", plans[i]->iterations),
                    fmt::format("{} interior cells", plans[i]->interior_cells),
                    fmt::format("{} on {}", plans[i]->device, plans[i]->host)});
  }
  print_table("lrrrl", rows, margin);
}

void print_failed(const std::vector<const PlanResult*>& failed) {
  if (!failed.empty()) fmt::print("\nfailed plans\n");
  std::vector<std::vector<std::string>> rows;
  rows.reserve(failed.size());
  for (const PlanResult* plan : failed)
    rows.push_back({plan->id, fmt::format("{} attempt(s): {}", plan->attempts, plan->error)});
  print_table("ll", rows, margin);
}

/// What the sessions that ended by themselves took; a killed one leaves no figures.
struct WallTime {
  std::size_t sessions = 0;
  std::size_t all_sessions = 0;
  double seconds = 0;
  double plans = 0;  ///< solved in that time
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
    if (merged_parts(session)) continue;
    ++time.all_sessions;
    if (!session.contains("seconds")) continue;
    ++time.sessions;
    time.plans += number(session, "solved");
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
    print_error("wallheat: {}", printable(sentence));
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
    std::string text = fmt::format("wall time                    {}, {:.2f} plans/s",
                                   duration_text(wall.seconds), wall.plans / wall.seconds);
    if (wall.all_sessions > 1)
      text += fmt::format(" ({} of {} sessions; one that was killed leaves no figures)",
                          wall.sessions, wall.all_sessions);
    print_line(text, indent);
  }
  if (!reader.closed_well())
    print_line("the file is still being written, or its writer was killed: go on with --resume",
               indent);
  print_histogram(solved);
  print_slowest(solved);
  print_failed(failed);
  return exit_done;
}

}  // namespace wallheat
