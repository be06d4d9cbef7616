#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace wallheat {

/// Writes a line to stderr. Ignores errors, such as a full disk or a closed pipe: they are no
/// reason to end the process.
template <class... T>
void print_error(fmt::format_string<T...> format, T&&... values) {
  const std::string line = fmt::format(format, std::forward<T>(values)...) + "\n";
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
  (void)std::fflush(stderr);
}

/// Prepares stdin, stdout and stderr. Call this once, before any file is opened.
///
/// Ignores SIGPIPE: a write to a pipe whose reader has exited fails instead of killing the process.
/// Opens a placeholder for each of the three descriptors that is closed, so that no other file gets
/// its number: output to such a stderr is discarded, and output to such a stdout fails like a write
/// to a full disk.
void prepare_standard_streams();

/// Error message for a failed write to stdout.
inline constexpr const char* stdout_write_error = "cannot write the output to stdout";

/// Returns true if a write to stdout has failed.
[[nodiscard]] bool stdout_failed();

/// Flushes stdout. Throws RunError if this or an earlier write to stdout has failed.
void flush_stdout();

/// If stdout is a pipe whose reader has exited, ends the process without a message, as SIGPIPE
/// would have done: the reader has read as much as it wanted.
void exit_if_stdout_closed();

}  // namespace wallheat
