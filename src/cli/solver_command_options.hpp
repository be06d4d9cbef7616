#pragma once

#include "cli/options.hpp"
#include "solve/solver_options.hpp"

// Options for a program of the user that solves plans. jobs/examples/README.md describes it.

namespace wallheat {

/// Declares --solver-command and --solver-file. If a command is given, it is the solver.
void declare_solver_command(Options& options, SolverOptions& solver);

/// Declares the options for slots and their resources. They require --solver-command.
void declare_command_slots(Options& options, SolverCommand& command);

}  // namespace wallheat
