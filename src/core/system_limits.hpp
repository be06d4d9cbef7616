#pragma once

#include <exception>
#include <string>

namespace wallheat {

/// Returns the limit that a system error is about, in parentheses after a blank: its current value,
/// and the command that shows it. Returns an empty string for an error that is not about a limit.
/// `error` is an errno.
[[nodiscard]] std::string limit_note(int error);

/// Returns the system's text for an errno, with the limit_note().
[[nodiscard]] std::string system_error_text(int error);

/// Returns the message of an exception. For std::bad_alloc, for a thread that cannot be started and
/// for an error of std::filesystem, the message names the cause, the file, and the limit.
[[nodiscard]] std::string exception_text(const std::exception& error);

}  // namespace wallheat
