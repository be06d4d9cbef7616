#include "report/choices_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>

#include "report/unknown.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

/// "14:10", with the day where that is another one.
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

std::string wait_text(const std::optional<double>& wait_s) {
  if (!wait_s) return "-";
  return std::isinf(*wait_s) ? "unknown" : duration_text(*wait_s);
}

std::string choice_limit_text(const Choice& choice) {
  const std::string text =
      fmt::format("{}:{:02}", choice.limit_s / 3600, choice.limit_s % 3600 / 60);
  return choice.starts > 1 ? fmt::format("{} x {}", choice.starts, text) : text;
}

template <class Member>
bool any(const std::vector<Choice>& choices, Member member) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const Choice& choice) { return (choice.*member).has_value(); });
}

}  // namespace

void print_choices(const ChoicesReport& report, std::size_t first) {
  constexpr std::size_t column = 10;  // where the facts stand
  print_line(std::isnan(report.core_hours)
                 ? fmt::format("plans     {} to solve", report.plans)
                 : fmt::format("plans     {} to solve, {:.3g} core hours, {}", report.plans,
                               report.core_hours, report.speed_source),
             column);
  for (const std::string& note : report.notes) print_line("note      " + note, column);
  fmt::print("\n");
  const bool with_gpus = std::any_of(report.choices.begin(), report.choices.end(),
                                     [](const Choice& choice) { return choice.gpus > 0; });
  const bool with_energy = any(report.choices, &Choice::energy_kwh);
  const bool with_price = any(report.choices, &Choice::price);
  std::string alignment = "llrrrrrr";
  std::vector<std::vector<std::string>> rows{
      {"", "choice", "time limit", "run", "median wait <", "95 % wait <", "done by", "95 % by"}};
  const auto add_column = [&](const char* name) {
    rows[0].emplace_back(name);
    alignment += 'r';
  };
  add_column("core hours");
  if (with_gpus) add_column("GPU hours");
  if (with_energy) add_column("kWh");
  if (with_price) add_column("price");
  for (std::size_t i = 0; i < std::min(first, report.choices.size()); ++i) {
    const Choice& choice = report.choices[i];
    rows.push_back({fmt::format("{}", i + 1), choice_text(choice), choice_limit_text(choice),
                    duration_text(choice.run_s), wait_text(choice.wait_s),
                    wait_text(choice.wait_95_s), clock_text(report.now_s, choice.done_s()),
                    clock_text(report.now_s, choice.done_95_s()),
                    fmt::format("{:.2f}", choice.core_hours)});
    const auto add = [&](const std::optional<double>& value) {
      rows.back().push_back(value ? fmt::format("{:.3g}", *value) : "-");
    };
    if (with_gpus) rows.back().push_back(fmt::format("{:.2f}", choice.gpu_hours));
    if (with_energy) add(choice.energy_kwh);
    if (with_price) add(choice.price);
  }
  print_table(alignment, rows, 0);
  fmt::print("\n");
  print_line(report.reason, 2);
}

std::string to_json_text(const ChoicesReport& report) {
  Json json{{"plans", report.plans},        {"core_hours", report.core_hours},
            {"speed", report.speed_source}, {"notes", report.notes},
            {"reason", report.reason},      {"choices", Json::array()}};
  for (const Choice& choice : report.choices)
    json["choices"].push_back({{"partition", choice.partition},
                               {"nodes", choice.nodes},
                               {"gpus_per_node", choice.gpus},
                               {"jobs", choice.jobs},
                               {"at_a_time", choice.at_a_time},
                               {"cores", choice.cores},
                               {"time_limit_s", choice.limit_s},
                               {"starts", choice.starts},
                               {"run_s", choice.run_s},
                               {"wait_median_bound_s", choice.wait_s.value_or(unknown)},
                               {"wait_bound_95_s", choice.wait_95_s.value_or(unknown)},
                               {"done_median_s", choice.done_s().value_or(unknown)},
                               {"done_95_s", choice.done_95_s().value_or(unknown)},
                               {"core_hours", choice.core_hours},
                               {"gpu_hours", choice.gpu_hours},
                               {"energy_kwh", choice.energy_kwh.value_or(unknown)},
                               {"price", choice.price.value_or(unknown)},
                               {"submit_options", submit_options(choice)}});
  return json_text(json);
}

std::string submit_options(const Choice& choice) {
  std::string text = fmt::format("--partition {} --nodes {}", choice.partition, choice.nodes);
  if (choice.gpus > 0) text += fmt::format(" --gpus {}", choice.gpus);
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
