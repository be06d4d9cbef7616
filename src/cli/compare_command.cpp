#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <optional>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "report/compare.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

/// NAME=SECONDS.
struct GivenTime {
  std::string name;
  double seconds = 0;
};

/// Nothing where the argument is a file, as one with a = in its name may be.
std::optional<GivenTime> given_time(const std::string& argument) {
  const std::size_t sign = argument.rfind('=');
  std::error_code unknown;
  if (sign == std::string::npos || std::filesystem::exists(argument, unknown)) return std::nullopt;
  GivenTime time{argument.substr(0, sign), 0};
  const char* const end = argument.data() + argument.size();
  const auto [stop, error] = std::from_chars(argument.data() + sign + 1, end, time.seconds);
  if (time.name.empty() || error != std::errc() || stop != end || !std::isfinite(time.seconds) ||
      time.seconds <= 0)
    throw UsageError(fmt::format(
        "'{}' is neither a file nor a program's time, as numpy=79 with seconds above 0", argument));
  return time;
}

void require_equal(const CompareReport& report) {
  for (const Comparison& found : report.comparisons) {
    if (found.equal()) continue;
    throw RunError(fmt::format(
        "--require-equal: {} and {} differ: {} of {} plans with an answer in both are identical, "
        "{} have another status, {} are in one only",
        found.first, found.second, found.identical, found.compared, found.statuses.size(),
        found.only_first.size() + found.only_second.size()));
  }
}

}  // namespace

int compare_command(const Arguments& arguments) {
  std::vector<std::string> words;
  std::int64_t plans = 0;
  std::int64_t timed_plans = 0;
  std::int64_t list = 0;
  bool equality = false;
  bool json = false;
  PictureFile picture;
  Options options(
      "compare FIRST OTHER ... [options]",
      "Compares answers and times. Each argument is a result file, a CSV of the reference program "
      "(columns building_id, mean_temp, std_temp, pct_above_18, pct_below_15), or NAME=SECONDS: a "
      "program that took so long for the same plans. All answers are compared with those of the "
      "first file, all times with the first time: what differs in settings, then in each column "
      "and in the stored fields, by absolute value (°C, % of cells, iterations), bits included.\n"
      "Exit status: 0 compared, 1 a file cannot be read or --require-equal finds a difference, 2 "
      "wrong usage.");
  options.add()("what", po::value(&words)->value_name("WHAT"),
                "a result file, a CSV, or NAME=SECONDS (also as an argument); two or more");
  options.add()("plans,n",
                po::value(&plans)->default_value(0, "those of the first file")->value_name("N"),
                "for how many plans to tell seconds and hours");
  options.add()(
      "timed-plans",
      po::value(&timed_plans)->default_value(0, "those of the first file")->value_name("N"),
      "for how many plans the SECONDS of NAME=SECONDS are");
  options.add()("list", po::value(&list)->default_value(5)->value_name("N"),
                "name so many plans of each kind at most");
  options.add()("require-equal", po::bool_switch(&equality),
                "end with status 1 if any answer differs in a bit, or is in one file only");
  picture.declare(
      options, "plot",
      "draw the differences of the mean temperatures and the seconds a plan as PNG, SVG "
      "or PDF, by the file's ending");
  options.add()("json", po::bool_switch(&json), "print one JSON object, with all ids");
  options.positional("what", -1);
  options.require({"what"});
  if (!options.parse(arguments)) return exit_done;
  if (words.size() < 2) throw UsageError("there is one thing only; name what to compare it with");
  for (const auto& [name, value] :
       {std::pair("plans", plans), std::pair("timed-plans", timed_plans)})
    if (options.was_given(name) && value < 1)
      throw UsageError(fmt::format("--{} must be at least 1", name));
  if (list < 0) throw UsageError("--list must be at least 0");

  std::vector<std::optional<GivenTime>> given;
  CommandFiles files;
  for (const std::string& word : words)
    if (!given.emplace_back(given_time(word))) files.reads_store("WHAT", word);
  files.writes("--plot", picture.path());
  files.require_different();
  picture.check();
  const auto file_count = std::count(given.begin(), given.end(), std::nullopt);
  if (equality && file_count < 2) throw UsageError("--require-equal needs two files");
  if (file_count == 0 && timed_plans == 0)
    throw UsageError(
        "without a result file, --timed-plans must tell for how many plans the times are");
  if (options.was_given("timed-plans") && static_cast<std::size_t>(file_count) == words.size())
    throw UsageError("--timed-plans needs NAME=SECONDS");

  std::deque<ResultReader> readers;  // these stay where they are
  std::vector<Answers> answers;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (given[i]) continue;
    answers.push_back(is_reference_csv(words[i])
                          ? read_reference_csv(words[i])
                          : answers_of(words[i], readers.emplace_back(words[i])));
  }
  const std::size_t own_plans = answers.empty() ? 0 : answers.front().rows.size();
  const auto timed = timed_plans > 0 ? static_cast<std::size_t>(timed_plans) : own_plans;
  CompareReport report;
  report.plans = plans > 0 ? static_cast<std::size_t>(plans) : own_plans > 0 ? own_plans : timed;
  for (std::size_t i = 1; i < answers.size(); ++i)
    report.comparisons.push_back(compare(answers.front(), answers[i]));
  auto file = answers.begin();
  for (const auto& time : given) {
    if (time) {
      report.times.push_back({time->name, time->seconds / static_cast<double>(timed), {}, {}});
    } else {
      if (file->reader != nullptr)
        if (const auto found = time_of(file->name, *file->reader)) report.times.push_back(*found);
      ++file;
    }
  }

  if (json) {
    fmt::print("{}", to_json_text(report));
  } else {
    print_report(report, static_cast<std::size_t>(list));
  }
  picture.write([&] { return compare_plot(report); }, 1120, 560);
  if (!json && picture.wanted()) fmt::print("\npicture  {}\n", picture.path().string());
  if (equality) require_equal(report);
  return exit_done;
}

}  // namespace wallheat
