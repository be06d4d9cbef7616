#pragma once

#include <stdexcept>

namespace wallheat {

/// A floor plan cannot be used. The text is one sentence that names the file and the cause; the
/// plan is recorded as failed and the run goes on.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The plan is too much for this device; another may solve it.
struct DeviceTooSmall : InputError {
  using InputError::InputError;
};

/// The run cannot start or go on. The text is one sentence that says what to do. Exit status 1.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command line or a configuration file is wrong. Exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A device cannot be trusted any more, at least not in this process: it reported an error, stopped
/// answering, or gave an answer that cannot be. What it was working on may succeed elsewhere.
struct DeviceFault : RunError {
  using RunError::RunError;
};

/// A device has stopped answering: what asks it for anything more may wait for ever.
struct DeviceSilent : DeviceFault {
  using DeviceFault::DeviceFault;
};

}  // namespace wallheat
