#pragma once

#include <stdexcept>

namespace wallheat {

/// A floor plan cannot be used. The text is one sentence that names the file and the cause; the
/// plan is recorded as failed and the run goes on.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The run cannot start or go on. The text is one sentence that says what to do. Exit status 1.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command line or a configuration file is wrong. Exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace wallheat
