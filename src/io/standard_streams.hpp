#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace wallheat {

/// A line on stderr. A full disk behind it, or nobody who reads, is no reason to end anything: what
/// cannot be said is lost.
template <class... T>
void print_error(fmt::format_string<T...> format, T&&... values) {
  const std::string line = fmt::format(format, std::forward<T>(values)...) + "\n";
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
  (void)std::fflush(stderr);
}

/// To be called once, before anything is opened. A write to a pipe whose reader has left fails
/// instead of killing: what is said there is lost, and ends nothing. A stream that is
/// closed keeps its place, so that no file takes it: what goes to stderr is lost, and stdout fails
/// as a full disk does.
void prepare_standard_streams();

/// What there is to say if something that was printed cannot be written.
inline constexpr const char* stdout_write_error = "the output cannot be written to stdout";

/// True if something that was printed could not be written.
[[nodiscard]] bool stdout_failed();

/// Pushes out what was printed. Throws RunError if that, or what was printed before, cannot be
/// written.
void flush_stdout();

/// If stdout is a pipe whose reader has left, ends the process without a word, as SIGPIPE would
/// have done: the reader has what it wanted.
void exit_if_stdout_closed();

}  // namespace wallheat
