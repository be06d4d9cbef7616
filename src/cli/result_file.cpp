#include "cli/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "monitor/file_status.hpp"
#include "plans/plan_source.hpp"
#include "report/histogram.hpp"
#include "report/result_csv.hpp"
#include "run/plan_selection.hpp"
#include "store/result_path.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns true if `wallheat run --data` accepts the path.
bool holds_plans(const std::filesystem::path& path) {
  try {
    return !open_plan_source(path)->ids().ids.empty();
  } catch (const RunError&) {
    return false;
  }
}

}  // namespace

void declare_result_file(Options& options, std::string& file) {
  options.add("file", wallheat::file(file, FileRole::results_in_use).positional().required(),
              "result file (also as an argument)");
}

void declare_where(Options& options, std::string& where) {
  options.add("where", value(where, "FORMULA"),
              "select plans by a condition in SQL syntax, such as: pct_below > 50 and mean_temp < "
              "14; status = 'failed'; host like '%gpu%'; id in ('00001', '00003')");
}

void declare_rows(Options& options, RowSelection& choice,
                  const std::vector<std::string>& more_columns) {
  std::vector<std::string> columns = names_of(all_columns());
  std::ranges::copy_if(more_columns, std::back_inserter(columns), [&](const std::string& column) {
    return std::ranges::count(columns, column) == 0;
  });
  declare_where(options, choice.where);
  options.add("sort", value(choice.sort, "FORMULA").completed_by(columns),
              "sort by this column or formula; a leading - sorts in descending order");
}

void require_result_file(const std::filesystem::path& file) {
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(file, unknown);
  if (!is_folder && !std::filesystem::is_regular_file(file, unknown)) return;
  if (holds_plans(file))
    throw RunError(
        fmt::format("{} is a {} of plans, not a result file; to solve them: wallheat run --data {} "
                    "--out results.h5",
                    file.string(), is_folder ? "directory" : "zip archive", file.string()));
  if (is_folder)
    throw RunError(
        fmt::format("{} is a directory, not a result file; specify a file", file.string()));
  if (is_reference_csv(file))
    throw RunError(
        fmt::format("{} is a CSV file, which only 'wallheat compare' accepts; specify the result "
                    "file from which it was exported",
                    file.string()));
}

void throw_unknown_plan(const std::string& file, const ResultReader& reader,
                        const std::string& id) {
  StringList plans;
  reader.for_each_row([&](const PlanResult& row) { plans.push_back(row.id); });
  throw RunError(unknown_plan_message(file, id, plans));
}

ResultReader open_result_file(const std::string& file) {
  require_result_file(file);
  if (const std::size_t shards = has_results(file) ? 0 : shards_next_to(file).size(); shards > 0)
    throw RunError(fmt::format(
        "{0} does not exist, but {1}; combine them: wallheat merge --out {0} {2}.part-*{3}", file,
        count_text(shards, "shard file does", "shard files do"),
        std::filesystem::path(file).replace_extension().string(),
        std::filesystem::path(file).extension().string()));
  ResultReader reader(file);
  for (const std::string& message : reader.damage_messages())
    print_error("wallheat: {}", escape_control_chars(message));
  return reader;
}

std::string recorded_solver_text(const ResultReader& reader) {
  return text_in(reader.settings(), "solver") + " " + text_in(reader.settings(), "solver_version");
}

SolverOptions recorded_solver_options(const std::string& file, const ResultReader& reader,
                                      const std::string& hint) {
  SolverOptions solver = recorded_solver(file, reader.settings());
  const std::string recorded = recorded_solver_text(reader);
  if (recorded != solver.solver_text())
    throw RunError(fmt::format("{} was solved by {}, but this wallheat has {}: {}", file, recorded,
                               solver.solver_text(), hint));
  return solver;
}

double cell_size_of_runs(const ResultReader& reader) {
  double metres = 0;
  for (const Attributes& session : reader.sessions())
    if (session.contains("cell_size")) metres = number_in(session, "cell_size");
  return metres;
}

std::filesystem::path recorded_plans(const std::string& file, const ResultReader& reader) {
  std::filesystem::path plans;
  for (const Attributes& session : reader.sessions())
    if (const std::string data = text_in(session, "data", ""); !data.empty()) plans = data;
  std::error_code unknown;
  if (plans.empty() || !std::filesystem::exists(plans, unknown))
    throw RunError(fmt::format(
        "{} was created from plans {}; specify them with --data", file,
        plans.empty() ? "whose location is not recorded"
                      : escape_control_chars("in " + plans.string() + ", which does not exist")));
  return plans;
}

void throw_no_match(const std::string& file, const std::string& where, std::size_t plans) {
  throw RunError(
      fmt::format("--where '{}' matches none of the {} plans of {}", where, plans, file));
}

std::vector<std::size_t> selected_rows(const std::string& file, const ResultReader& reader,
                                       const RowSelection& choice) {
  auto rows = select_rows(rows_of(reader), choice);
  if (rows.empty() && !choice.where.empty()) throw_no_match(file, choice.where, reader.count());
  return rows;
}

}  // namespace wallheat
