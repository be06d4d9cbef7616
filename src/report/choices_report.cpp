#include "report/choices_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>

namespace wallheat {
namespace {

/// "14:10", with the day if that is another one.
std::string clock_text(std::int64_t now_s, const std::optional<double>& after_s) {
  if (!after_s) return "-";
  if (std::isinf(*after_s)) return "unknown";
  const std::time_t now = now_s;
  const std::time_t then = now_s + static_cast<std::int64_t>(std::ceil(*after_s));
  std::tm today{};
  std::tm day{};
  (void)::localtime_r(&now, &today);
  (void)::localtime_r(&then, &day);
  const bool same_day = today.tm_yday == day.tm_yday && today.tm_year == day.tm_year;
  char text[32];
  (void)std::strftime(text, sizeof text, same_day ? "%H:%M" : "%b %d %H:%M", &day);
  return text;
}

std::string choice_limit_text(const Choice& choice) {
  const std::string text =
      fmt::format("{}:{:02}", choice.limit_s / 3600, choice.limit_s % 3600 / 60);
  return choice.starts > 1 ? fmt::format("{} x {}", choice.starts, text) : text;
}

}  // namespace

Report report_of(const Advice& advice, std::size_t first) {
  Report report{"where to run"};
  std::string work = " to solve";
  if (!std::isnan(advice.core_hours))
    work += fmt::format(", {:.3g} core hours, {}", advice.core_hours, advice.speed_source);
  report.add_fact("plans", "plans", advice.plans, {}, work);
  report.add_data("core_hours", advice.core_hours);
  report.add_data("speed", advice.speed_source);
  for (const std::string& note : advice.notes) report.add_line("note", note);
  report.add_data("notes", fmt::format("{}", fmt::join(advice.notes, "; ")));
  const std::vector<Choice>& choices = advice.choices;
  const Style duration{Form::duration};
  const Style hours{Form::decimals, 2};
  Table& table = report.add(Table{"choices",
                                  "",
                                  {{"choice", "choice"},
                                   {"partition", ""},
                                   {"nodes", ""},
                                   {"jobs", ""},
                                   {"at_a_time", ""},
                                   {"cores", ""},
                                   {"time_limit_s", ""},
                                   {"starts", ""},
                                   {"", "time limit"},
                                   {"run_s", "run", duration},
                                   {"wait_median_bound_s", "median wait <", duration},
                                   {"wait_bound_95_s", "95 % wait <", duration},
                                   {"done_median_s", ""},
                                   {"", "done by"},
                                   {"done_95_s", ""},
                                   {"", "95 % by"},
                                   {"core_hours", "core hours", hours},
                                   {"submit_options", ""}}});
  table.most_shown = first;
  for (const Choice& choice : choices)
    table.rows.push_back({choice_text(choice), choice.partition, choice.nodes, choice.jobs,
                          choice.at_a_time, choice.cores, choice.limit_s, choice.starts,
                          choice_limit_text(choice), choice.run_s, choice.wait_s, choice.wait_95_s,
                          choice.done_s(), clock_text(advice.now_s, choice.done_s()),
                          choice.done_95_s(), clock_text(advice.now_s, choice.done_95_s()),
                          choice.core_hours, submit_options(choice)});
  report.add_note(advice.reason);
  report.add_data("reason", advice.reason);
  return report;
}

std::string submit_options(const Choice& choice) {
  std::string text = fmt::format("--partition {} --nodes {}", choice.partition, choice.nodes);
  if (choice.jobs > 1) text += fmt::format(" --array {}", choice.jobs);
  if (choice.at_a_time < choice.jobs) text += fmt::format(" --running {}", choice.at_a_time);
  // Whole minutes, and no fewer.
  const std::int64_t minutes = std::max<std::int64_t>(choice.limit_s / 60, 1);
  const std::int64_t hours = minutes / 60;
  text += hours > 0 ? fmt::format(" --time {}h", hours) : " --time ";
  if (minutes % 60 > 0) text += fmt::format("{}m", minutes % 60);
  return text;
}

}  // namespace wallheat
