#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"

namespace wallheat {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Returns the number of characters of a line of UTF-8.
inline std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char byte) { return (byte & 0xc0) != 0x80; }));
}

/// Runs bash scripts in a temporary directory. In the scripts, `wallheat` starts the program, and
/// $mpirun starts it with the given number of ranks: "$mpirun 3 run ...". That works on any
/// machine, because it permits more ranks than cores.
class ShellTest : public testing::Test {
 protected:
  /// Runs a script and expects that it ends with this exit status.
  Finished shell(const std::string& script, int status = 0) const {
    Finished finished = run_script(directory_.path(), WALLHEAT_PROGRAM, with_ranks + script);
    EXPECT_EQ(finished.status, status) << script << "\n" << finished.err;
    return finished;
  }
  /// Returns the lines that a script writes to a terminal with this number of columns, including
  /// lines that it overwrites.
  [[nodiscard]] std::vector<std::string> at_terminal(int columns, const std::string& script) const {
    std::ofstream(directory_ / "at_terminal")
        << script_text(directory_.path(), WALLHEAT_PROGRAM, with_ranks + script);
    return lines_of(shell("export TERM=xterm; unset COLUMNS; script -qec 'stty rows 24 cols " +
                          std::to_string(columns) +
                          "; bash at_terminal' /dev/null < /dev/null | tr '\\r' '\\n' | "
                          "sed 's/\\x1b\\[K//g' | grep .")
                        .out);
  }
  /// Expects that the command fails with this status, prints nothing on stdout, and prints exactly
  /// one message on stderr, of one line, which mentions all facts.
  void expect_error(const std::string& command, int status, const Facts& facts) const {
    const Finished failed = shell("wallheat " + command, status);
    EXPECT_THAT(failed.err, AllOf(StartsWith("wallheat: "), Mentions(facts))) << command;
    EXPECT_EQ(std::count(failed.err.begin(), failed.err.end(), '\n'), 1) << failed.err;
    EXPECT_EQ(failed.out, "") << command;
  }
  /// Generates floor plans in the directory `plans`.
  void generate(int count, int size = 32) const {
    shell("wallheat generate --out plans --seed 3 --count " + std::to_string(count) + " --size " +
          std::to_string(size));
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  [[nodiscard]] std::string bytes(const std::string& name) const {
    return file_text(directory_ / name);
  }
  /// Returns the contents of all files by path. Omits the status files of runs, because they record
  /// the exit status of the last run even if it was rejected.
  [[nodiscard]] std::map<std::string, std::string> all_files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path()))
      if (!entry.path().native().ends_with(".h5.status"))
        files[entry.path().string()] = entry.is_regular_file() ? file_text(entry.path()) : "";
    return files;
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(directory_ / name);
  }

  TemporaryDirectory directory_;
  // Open MPI runs as root only with these variables.
  const std::string with_ranks =
      "ranks() { OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n $1 "
      "--oversubscribe --bind-to none \"$program\" \"${@:2}\"; }; mpirun=ranks; ";
};

}  // namespace wallheat
