#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "monitor/file_status.hpp"
#include "report/row_table.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/result_reader.hpp"

// Functions that commands for result files share.

namespace wallheat {

/// Declares the required option FILE, by name and as the first positional argument.
void declare_result_file(Options& options, std::string& file);

/// Declares --where, an SQL condition that selects plans.
void declare_where(Options& options, std::string& where);
/// Declares --where and --sort. Shells complete them with the columns of plans and `more_columns`.
void declare_rows(Options& options, RowSelection& choice,
                  const std::vector<std::string>& more_columns = {});

/// Throws RunError if the file is not a result file, but floor plans, a directory or a CSV of the
/// reference program.
void require_result_file(const std::filesystem::path& file);

/// Throws the RunError that the file does not contain a plan with this ID.
[[noreturn]] void throw_unknown_plan(const std::string& file, const ResultReader& reader,
                                     const std::string& id);

/// Opens a result file, and reports its damage on stderr. Throws RunError as require_result_file()
/// does.
[[nodiscard]] ResultReader open_result_file(const std::string& file);

/// Returns name and version of the solver as recorded in the file; "?" for missing values.
[[nodiscard]] std::string recorded_solver_text(const ResultReader& reader);
/// Returns the recorded solver options of the file, for solving its plans again. Throws RunError,
/// whose message ends with `hint`, if this program has another version of the solver.
[[nodiscard]] SolverOptions recorded_solver_options(const std::string& file,
                                                    const ResultReader& reader,
                                                    const std::string& hint);

/// Returns the width of a cell in m that the latest run with a width has recorded; 0 if there is
/// none.
[[nodiscard]] double cell_size_of_runs(const ResultReader& reader);

/// Returns the plan source of the file's last run. Throws RunError if the file does not record it,
/// or if it does not exist.
[[nodiscard]] std::filesystem::path recorded_plans(const std::string& file,
                                                   const ResultReader& reader);

/// Throws the RunError that --where matches no plan.
[[noreturn]] void throw_no_match(const std::string& file, const std::string& where,
                                 std::size_t plans);

/// Returns the indices of the selected rows. Throws RunError if --where matches no plan.
[[nodiscard]] std::vector<std::size_t> selected_rows(const std::string& file,
                                                     const ResultReader& reader,
                                                     const RowSelection& choice);

}  // namespace wallheat
