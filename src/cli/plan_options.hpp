#pragma once

#include <filesystem>

#include "cli/options.hpp"
#include "solve/solver_options.hpp"

// Options that several commands share: how plans are solved, and which results are computed. The
// variables must live as long as the Options.

namespace wallheat {

/// Declares --data, --id (also as a positional argument), --ids and --first.
void declare_plans(Options& options, std::filesystem::path& data, std::vector<std::string>& ids,
                   std::filesystem::path& ids_file, std::size_t& first);
void declare_data(Options& options, std::filesystem::path& data);

/// Declares the options that select and configure the solver, including --spacing.
void declare_solver(Options& options, SolverOptions& solver, const std::filesystem::path& plans);
/// Declares the option of one setting of the table in solver_settings.hpp, with this help text or
/// that of the table.
void declare_setting(Options& options, SolverOptions& solver, const std::string& name,
                     const char* help = nullptr);
/// Declares --spacing. If it is not given, the grid spacing of `plans` is used; `plans` may be
/// empty.
void declare_spacing(Options& options, SolverOptions& solver, const std::filesystem::path& plans);

/// Declares the options for wall overrides, thresholds and rooms.
void declare_problem_options(Options& options, SolverOptions& solver);
void declare_thresholds(Options& options, Thresholds& thresholds);
/// Declares --rooms and --door. `door` is set if rooms are requested.
void declare_rooms(Options& options, std::optional<Door>& door, const char* help);
void declare_door(Options& options, Door& door);
/// Declares --min-cells, the minimum number of cells of a room that counts. Its default is 1.
void declare_min_cells(Options& options, std::size_t& min_cells);
/// Declares --cell-size, the width of a cell in m, which must be above 0.
void declare_cell_size(Options& options, double& metres);

}  // namespace wallheat
