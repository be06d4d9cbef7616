#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

// Limits of the operating system, and messages for the errors that they cause.

namespace wallheat {

/// Returns the limit that a system error is about, in parentheses after a blank: its current value,
/// and the command that shows it. Returns an empty string for an error that is not about a limit.
/// `error` is an errno.
[[nodiscard]] std::string limit_note(int error);

/// Returns the hard limit of processor time of this process and its children in s; nullopt if it is
/// unlimited. The kernel kills a process at this limit.
[[nodiscard]] std::optional<double> processor_time_limit_s();

/// A resource of the host or the job that ran out, as an error message names it.
enum class ExhaustedResource { none, memory, processor_time };

/// Returns the resource that an error message of wallheat mentions, so that the hint can mention
/// it, too.
[[nodiscard]] ExhaustedResource exhausted_resource(std::string_view error);

inline constexpr const char* by_out_of_memory_killer = "by the kernel's out-of-memory killer";
inline constexpr const char* at_processor_time_limit = "at the limit of processor time";

/// Returns the operating system's message for an errno, followed by the limit_note().
[[nodiscard]] std::string system_error_text(int error);

/// Returns the message of an exception. For std::bad_alloc, for a thread that cannot be started and
/// for an error of std::filesystem, the message contains the cause, the file, and the limit.
[[nodiscard]] std::string exception_text(const std::exception& error);

}  // namespace wallheat
