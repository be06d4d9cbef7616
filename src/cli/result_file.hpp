#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "report/file_status.hpp"
#include "report/row_table.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/result_reader.hpp"

// What the commands share that look at result files.

namespace wallheat {

/// Declares FILE, by name and as the first argument; the command cannot do without it.
void declare_result_file(Options& options, std::string& file);

/// Declares --where.
void declare_where(Options& options, std::string& where);
/// Declares --where and --sort, which shells complete by columns of plans and these.
void declare_rows(Options& options, RowSelection& choice,
                  const std::vector<std::string>& more_columns = {});

/// Throws RunError if it is plans, a folder or the reference's CSV: none of them is a result file.
void require_result_file(const std::filesystem::path& file);

/// Throws the RunError that the file has no plan of this id.
[[noreturn]] void throw_unknown_plan(const std::string& file, const ResultReader& reader,
                                     const std::string& id);

/// Opens it and tells of its damage on stderr. Throws RunError as require_result_file.
[[nodiscard]] ResultReader open_result_file(const std::string& file);

[[nodiscard]] PlanCounts counts_of(const ResultReader& reader);

/// Name and version of the solver as the file has them; "?" for what it does not say.
[[nodiscard]] std::string recorded_solver_text(const ResultReader& reader);
/// What the file's plans were solved with, to solve them again. Throws RunError, which ends with
/// `hint`, if this program has another version of the solver.
[[nodiscard]] SolverOptions recorded_solver_options(const std::string& file,
                                                    const ResultReader& reader,
                                                    const std::string& hint);

/// Where the file's last run found its plans. Throws RunError if the file does not say, or nothing
/// is there.
[[nodiscard]] std::filesystem::path recorded_plans(const std::string& file,
                                                   const ResultReader& reader);

/// Throws the RunError that --where fits none.
[[noreturn]] void throw_no_match(const std::string& file, const std::string& where,
                                 std::size_t plans);

/// The numbers of the rows that are chosen. Throws RunError if --where fits none.
[[nodiscard]] std::vector<std::size_t> selected_rows(const std::string& file,
                                                     const ResultReader& reader,
                                                     const RowSelection& choice);

}  // namespace wallheat
