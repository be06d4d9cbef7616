#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <set>

#include "cli/commands.hpp"
#include "cli/result_file.hpp"
#include "core/text.hpp"
#include "iterates/iterate_matching.hpp"
#include "plans/plan_source.hpp"
#include "report/compare.hpp"
#include "report/result_csv.hpp"
#include "report/summary.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns nullopt if the argument is an existing file, whose name may contain a "=".
std::optional<GivenTime> given_time(const std::string& argument) {
  const std::size_t sign = argument.rfind('=');
  std::error_code unknown;
  if (sign == std::string::npos || std::filesystem::exists(argument, unknown)) return std::nullopt;
  const auto seconds = parse_number<double>(std::string_view(argument).substr(sign + 1));
  if (sign == 0 || !seconds || !std::isfinite(*seconds) || *seconds <= 0)
    throw UsageError(
        fmt::format("'{}' is neither an existing file nor a time of a program in seconds above 0, "
                    "such as numpy=79",
                    argument));
  return GivenTime{argument.substr(0, sign), *seconds};
}

struct CompareOptions {
  std::vector<std::string> words;
  std::vector<std::optional<GivenTime>> times;  ///< for each argument; nullopt: a file
  std::size_t plans = 0;                        ///< 0: the plans of the first file
  std::size_t timed_plans = 0;                  ///< 0: the plans of the first file
  std::size_t list = 0;
  std::string base;
  bool equality = false;
  std::filesystem::path data;  ///< plans of the printed results in the arguments; or empty
};

/// Throws UsageError unless the names of programs are unique.
void require_own_names(const CompareOptions& compare) {
  std::vector<std::string> names = compare.words;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (compare.times[i]) names[i] = compare.times[i]->name;
  for (const auto& time : compare.times)
    if (time && std::ranges::count(names, time->name) > 1)
      throw UsageError(
          fmt::format("the name '{}' was given more than once; use unique names", time->name));
}

/// Throws UsageError if the arguments or options are inconsistent.
void check_comparison(CompareOptions& compare) {
  const bool is_printed = compare.words.size() > 1 || is_text_file(compare.words.front());
  if (!compare.data.empty() && compare.equality && is_printed)
    throw UsageError(
        "--require-equal with --data requires one result file, which contains the settings that "
        "were requested");
  if (!compare.data.empty()) return;
  if (compare.words.size() < 2)
    throw UsageError("only one argument was given; a comparison requires at least two");
  for (const std::string& word : compare.words) compare.times.push_back(given_time(word));
  require_own_names(compare);
  const auto files = std::count(compare.times.begin(), compare.times.end(), std::nullopt);
  if (compare.equality && files < 2) throw UsageError("--require-equal requires two files");
  if (files == 0 && compare.timed_plans == 0)
    throw UsageError(
        "without a result file, --timed-plans is required: the number of plans of the given times");
  if (compare.timed_plans > 0 && static_cast<std::size_t>(files) == compare.words.size())
    throw UsageError("--timed-plans requires NAME=SECONDS");
}

/// Declares and parses the options. Throws UsageError.
void parse_comparison(Options& options, CompareOptions& compare) {
  options.describe(
      "WHAT ... [--data PLANS] [options]",
      "Compares results and times. Each argument is a result file, the printed results of another "
      "program, or NAME=SECONDS: the time of another program for the same plans. Results are "
      "compared bit by bit with those of the first file: settings, columns and stored fields. "
      "Times are compared with the slowest (or --base WHAT).\nWith --data, the results are "
      "compared "
      "with the iterates of the plans, which identifies the algorithm of the program. The argument "
      "is one result file, or the arguments are the printed results of one program, in one or "
      "several files, possibly rounded or with a subset of the columns. Plans that --data does not "
      "contain are ignored. Up to 20000 sweeps are compared. For a result file, the report ends "
      "with whether the results are as requested, that is, whether each plan stopped at the "
      "tolerance or the limit of iterations in the settings of the file, and after the reported "
      "number of iterations. The command recognises:\n- stops at any tolerance in °C and any limit "
      "of sweeps, by the largest change, "
      "or by the 2-norm or root mean square of change or residual; checked in every sweep, or in "
      "every 10th to 5000th; the field before the last update, or one sweep later\n- any fixed "
      "number of sweeps, also of a batch that stops with its slowest plan\n- single precision, "
      "with the neighbours added in any order; updates in place (Gauss-Seidel); a second buffer of "
      "zeros; sweeps without the last row and column; the steady state\n- averages over the "
      "interior, over the grid with or without its border, or over cells that are not 0, 5 or 25; "
      "in double or single precision\nIf a plan contradicts an explanation, or if there are too "
      "few digits to exclude other explanations, the report states this. --json contains each "
      "explanation with its parameters, the range of values that produce the same results, and the "
      "numbers of plans that fit and contradict.\nPrinted results are a CSV file or the output of "
      "a job: one line per plan with building_id, mean_temp, std_temp, pct_above_18, pct_below_15. "
      "A header specifies other columns, another order or other names, such as mean, std, pct>18, "
      "'% below 15'. Commas, semicolons, tabs or spaces separate the values. Lines that are not "
      "results are skipped and counted; a line that resembles a result but is not one is an "
      "error.\nExit status: 0 compared, 1 a file cannot be read, no plan has a result in both "
      "files, or --require-equal finds a difference or a result that is not as requested, 2 usage "
      "error.",
      {"wallheat compare results.h5 steady.h5",
       "wallheat compare job_1.out job_2.out --data plans"});
  options.add("what", file(compare.words, FileRole::results_in_use, "WHAT").positional().required(),
              "result file, printed results or NAME=SECONDS (also as an argument); two or more, or "
              "with --data at least one");
  options.add("require-equal", flag(compare.equality),
              "exit with status 1 if a result differs in any bit, or is in one file only; with "
              "--data, which requires a result file, if a result is missing or not as requested");
  options.add("list", value(compare.list, "N", 5),
              "show at most N plans that differ; JSON and CSV contain all");
  options.add("plans", value(compare.plans, "N", 0, "those of the first file").at_least(1),
              "show seconds and hours for N plans");
  options.add("timed-plans",
              value(compare.timed_plans, "N", 0, "those of the first file").at_least(1),
              "number of plans to which the SECONDS of NAME=SECONDS apply");
  options.add("base", value(compare.base, "WHAT"),
              "file or NAME that speed-ups are relative to (default: the slowest)");
  options.add("data,d", file(compare.data, FileRole::plans, "PLANS"),
              "floor plans of the results, to find out how they were computed");
  options.add_conflict("data", {"list", "plans", "timed-plans", "base"});
  options.check([&] { check_comparison(compare); });
  options.parse();
}

/// Opens or reads the files. The readers must outlive the result.
std::vector<ComparedItem> compared_items(const CompareOptions& compare,
                                         std::deque<ResultReader>& readers) {
  std::vector<ComparedItem> items;
  for (std::size_t i = 0; i < compare.words.size(); ++i) {
    const std::string& word = compare.words[i];
    if (compare.times[i]) {
      items.emplace_back(*compare.times[i]);
    } else if (is_text_file(word)) {
      items.emplace_back(read_reference_csv(word));
    } else {
      require_result_file(word);
      items.emplace_back(ResultSet{word, {}, &readers.emplace_back(word)});
    }
  }
  return items;
}

/// Throws UsageError if --base does not name one of the programs with a time.
void check_base(const std::string& base, const std::vector<ProgramTime>& times) {
  std::vector<std::string> names;
  for (const ProgramTime& time : times) names.push_back(time.name);
  if (!base.empty() && std::ranges::count(names, base) == 0)
    throw_invalid_value("base", base, names);
}

/// Adds the time per plan of a solver command, and that of wallheat's jacobi on one core of this
/// machine, which solves the first plans of the file again that are available in `plans`. For short
/// plans this is the shortest of three times, because other programs may use the core, too.
void add_time_per_plan(const std::string& file, const ResultReader& reader,
                       const std::set<std::string>& unavailable, const PlanSource& plans,
                       Report& report) {
  constexpr std::size_t max_timed = 10;
  const SolverOptions recorded = recorded_solver(file, reader.settings());
  const auto jacobi = make_jacobi_solver(recorded.isa);
  std::size_t count = 0;
  double program_s = 0;
  double jacobi_s = 0;
  for (std::size_t index = 0; index < reader.count() && count < max_timed; ++index) {
    const PlanResult row = reader.row(index);
    if (!is_solved(row.status) || row.status == PlanStatus::empty || unavailable.contains(row.id))
      continue;
    FloorPlan plan = plans.load(row.id);
    apply_wall_overrides(plan, recorded.walls);
    constexpr double long_s = 0.1;
    double shortest_s = std::numeric_limits<double>::infinity();
    for (int repetition = 0; repetition < 3; ++repetition) {
      const auto start = std::chrono::steady_clock::now();
      (void)jacobi->solve(plan, recorded.limits, {});
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      shortest_s = std::min(shortest_s, passed.count());
      if (passed.count() > long_s) break;
    }
    jacobi_s += shortest_s;
    program_s += static_cast<double>(row.phases.solve_s);
    ++count;
  }
  if (count == 0) return;
  const auto timed = static_cast<double>(count);
  const ValueStyle style{ValueFormat::digits, 3, "s"};
  report.add_fact("timed_plans", "timed plans", count);
  report.add_fact("seconds_per_plan", "wall time of the program per plan", program_s / timed,
                  style);
  report.add_fact("jacobi_seconds_per_plan", "of jacobi, on a core here", jacobi_s / timed, style);
}

}  // namespace

Report compare_command(Options& options) {
  CompareOptions compare;
  parse_comparison(options, compare);
  if (!compare.data.empty()) {
    const SharedPlanSource plans = open_plan_source(compare.data);
    const std::string& file = compare.words.front();
    if (compare.words.size() > 1 || !is_hdf5_file(file)) {
      ResultCsv results = read_result_csv(compare.words);
      remove_unavailable_plans(results, *plans);
      return identify_iterates(results, *plans);
    }
    require_result_file(file);
    const ResultReader reader(file);
    const SolverOptions requested = recorded_solver(file, reader.settings());
    ResultCsv results = results_as_csv(file, reader);
    remove_unavailable_plans(results, *plans);
    Report report = identify_iterates(results, *plans, &requested);
    if (requested.kind == SolverKind::command)
      add_time_per_plan(file, reader, {results.unavailable.begin(), results.unavailable.end()},
                        *plans, report);
    if (const PlansBySolver solvers = plans_by_solver(reader); solvers.size() > 1)
      report.add_note(
          fmt::format("the results are of {}", solvers_text(solvers, reader.settings())));
    const std::string verdict = value_text(value_of(report, "request"));
    report.add_note(verdict);
    if (compare.equality && value_of(report, "as_requested") != Value(true)) {
      report.error = fmt::format("--require-equal: {} is {}", file, verdict);
      report.exit_status = exit_failed;
    }
    return report;
  }
  std::deque<ResultReader> readers;  // a deque, because its elements are not moved
  CompareResults found =
      compare_items(compared_items(compare, readers), compare.plans, compare.timed_plans);
  check_base(compare.base, found.times);
  found.base = compare.base;
  const std::string error = comparison_error(found.comparisons, compare.equality);
  Report report = make_report(std::move(found), compare.list);
  report.title = fmt::format("{} compared", fmt::join(compare.words, ", "));
  report.error = error;
  report.exit_status = error.empty() ? exit_done : exit_failed;
  return report;
}

}  // namespace wallheat
