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
/// `environment` (NAME=VALUE) is added to this process's. Nothing where there is no such program.
/// Throws RunError.
[[nodiscard]] std::optional<ProgramOutput> output_of(
    const std::vector<std::string>& words, std::string_view input = {},
    const std::vector<std::string>& environment = {});

/// The same for a program of which only its end matters: what it prints goes to stderr, it hears no
/// signal that stops a job, and it is killed after `limit`. Returns how it ended where that is not
/// with exit status 0, in words that go on after its name; empty where it is. Throws RunError, also
/// where there is no such program.
[[nodiscard]] std::string failure_of(const std::vector<std::string>& words, std::string_view input,
                                     std::chrono::seconds limit);

}  // namespace wallheat
