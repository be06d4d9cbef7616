#pragma once

#include <stdexcept>

namespace wallheat {

// Exceptions of the library. Their messages name the file, the problem and, if there is one, the
// remedy.

/// Thrown if a floor plan is invalid. The plan is recorded as failed, and the run continues.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown if a run or a command cannot start or continue. The program exits with status 1.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown if the command line or a configuration file is invalid. The program exits with status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace wallheat
