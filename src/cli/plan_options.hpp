#pragma once

#include <filesystem>

#include "cli/options.hpp"
#include "solve/solver_options.hpp"

// Options that several commands have: how plans are solved, and what is asked of them. The
// variables must live as long as the Options.

namespace wallheat {

/// --data, --id (also as an argument), --ids and --first.
void declare_plans(Options& options, std::filesystem::path& data, std::vector<std::string>& ids,
                   std::filesystem::path& ids_file, std::size_t& first);
void declare_data(Options& options, std::filesystem::path& data);

/// Which solver, and how, --spacing included.
void declare_solver(Options& options, SolverOptions& solver, const std::filesystem::path& plans);
/// If it is not given, `plans` say what it is; may be empty.
void declare_spacing(Options& options, SolverOptions& solver, const std::filesystem::path& plans);

/// Temperatures of walls, thresholds and rooms.
void declare_problem_options(Options& options, SolverOptions& solver);
void declare_thresholds(Options& options, Thresholds& thresholds);
/// --rooms and --door: what divides rooms, if they are asked for.
void declare_rooms(Options& options, std::optional<Door>& door, const char* help);
void declare_door(Options& options, Door& door);
/// Declares --min-cells: the number of cells below which a room does not count. Its default is 1.
void declare_min_cells(Options& options, std::size_t& min_cells);
/// Metres that a cell is wide, above 0.
void declare_cell_size(Options& options, double& metres);

}  // namespace wallheat
