#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isolation/task_runner.hpp"

// A process that solves plans for a worker, and may die of it. What they say to each other:
// message_channel.hpp.

namespace wallheat {

/// What a solver process does: solves with the jobs of what `open` gives until the other side is
/// gone. Returns an exit status. Throws DecodeError if what it hears makes no sense.
int run_solver_process(const std::function<OpenDevice(const SolveConfig&)>& open);

/// The command that 'wallheat run' starts for itself. Returns an ExitStatus; throws UsageError if
/// anybody else does. The arguments mean nothing.
int solver_process_command(const std::vector<std::string>& arguments);

}  // namespace wallheat
