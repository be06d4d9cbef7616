#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "core/plan_ids.hpp"
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

/// Declares the options for wall overrides, thresholds and rooms. `cell_metres` is as for
/// declare_rooms().
void declare_problem_options(Options& options, SolverOptions& solver, const double& cell_metres,
                             const std::vector<std::string>& implied_by = {});
void declare_thresholds(Options& options, Thresholds& thresholds);
/// Declares --rooms and --door. `door` is set if rooms are requested by --rooms or by one of the
/// options in `implied_by`. `cell_metres` is as for declare_door().
void declare_rooms(Options& options, std::optional<Door>& door, const double& cell_metres,
                   const std::string& help, const std::vector<std::string>& implied_by = {});
/// Declares --door. A width in metres requires `cell_metres`, the width of a cell in m; 0: unknown.
/// Call declare_cell_size() before.
void declare_door(Options& options, Door& door, const double& cell_metres);
/// Warns on stderr if `door` is the default width, the width of a cell is known, and the default is
/// wider than a door, or narrower and leaves the plan as one room that a wider one divides.
void warn_of_default_door(const FloorPlan& plan, const Door& door, double cell_metres);
/// Declares --min-cells, the minimum number of cells of a room that counts. Its default is 1.
void declare_min_cells(Options& options, std::size_t& min_cells);
/// Declares --cell-size, the width of a cell in m, which must be above 0. Its variable is 0 if it
/// is unknown.
void declare_cell_size(Options& options, double& metres);

/// Use of the width of a cell by a command that solves plans.
enum class CellSizeUse {
  areas_and_doors,
  rooms  ///< drawing records, which each rank would read, are read only if --door is in metres
};
/// Declares --cell-size for a command that also has --door. The default is the width in the drawing
/// records of the plans of `data`, if all have the same one. Otherwise a --door in metres is a
/// UsageError, which names a plan without a width or with another one. `requested` returns the
/// plans that the command uses, or throws RunError.
void declare_cell_size(Options& options, double& metres, CellSizeUse use,
                       const std::filesystem::path& data,
                       const std::function<PlanIds()>& requested);

}  // namespace wallheat
