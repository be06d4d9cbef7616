#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// What a program said, and how it ended.
struct ProgramOutput {
  std::string out;
  std::string messages;  ///< its stderr
  int status = 0;        ///< 0 if it ended with exit status 0, else 1
};

/// Runs a program to its end; what it reads, prints and complains of are files in memory, so that
/// nobody waits for a pipe. `words` are its name, which is looked up in PATH, and its arguments;
/// `environment` (NAME=VALUE) is added to this process's. Nothing if there is no such program.
/// Throws RunError.
[[nodiscard]] std::optional<ProgramOutput> output_of(
    const std::vector<std::string>& words, std::string_view input = {},
    const std::vector<std::string>& environment = {});

/// The same for a program of which only its end matters. What it printed goes to stderr then. It
/// has a process group of its own, which is killed after `limit`. What it leaves running goes on,
/// but does not hold this process's stdout and stderr, for whose end mpirun waits. Returns how it
/// ended if that is not with exit status 0, in words that go on after its name; else an empty text.
/// Throws RunError, also if there is no such program.
[[nodiscard]] std::string failure_of(const std::vector<std::string>& words, std::string_view input,
                                     std::chrono::seconds limit);

}  // namespace wallheat
