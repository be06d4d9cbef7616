#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isolation/task_runner.hpp"

// A solver process solves plans for a worker. It is a separate process so that a crash, a lack of
// memory or a blocked device ends only this process, and not the rank. The protocol is described in
// message_channel.hpp.

namespace wallheat {

/// Runs the solver process: opens a device with `open`, and solves the tasks that arrive on stdin
/// until the worker closes the connection. Returns an exit status. Throws DecodeError if a message
/// is invalid.
int run_solver_process(const std::function<OpenDevice(const SolveConfig&)>& open);

/// Runs the command `wallheat solver-process`, which `wallheat run` starts if it does not find the
/// program wallheat-solver-process of the same build. Returns an exit status. Throws UsageError if
/// stdin is not a socket, because a user has started it. Ignores its arguments.
int solver_process_command(const std::vector<std::string>& arguments);

/// The main() of the program wallheat-solver-process: prepares this process, and then does the same
/// as solver_process_command(). Prints errors to stderr.
int solver_process_main(const std::vector<std::string>& arguments);

}  // namespace wallheat
