#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"
#include "support/terminal.hpp"

namespace wallheat {

/// Runs bash scripts in a directory of its own, where `wallheat` is the program and $mpirun starts
/// it with any number of ranks, whatever the machine: "$mpirun 3 run ...".
class ShellTest : public testing::Test {
 protected:
  /// It must end with this status.
  Finished shell(const std::string& script, int status = 0) const {
    Finished finished = run_script(directory_.path(), WALLHEAT_PROGRAM, with_ranks + script);
    EXPECT_EQ(finished.status, status) << script << "\n" << finished.err;
    return finished;
  }
  /// The lines that it writes at a terminal of so many columns.
  std::vector<std::string> at_terminal(unsigned short columns, const std::string& script) const {
    return lines_at_terminal(
        columns,
        {"/bin/bash", "-c", script_text(directory_.path(), WALLHEAT_PROGRAM, with_ranks + script)});
  }
  /// With this in the one sentence that it says, on stderr.
  void expect_refusal(const std::string& command, int status, const std::string& sentence) const {
    const Finished refused = shell("wallheat " + command, status);
    EXPECT_THAT(refused.err, AllOf(StartsWith("wallheat: "), HasSubstr(sentence))) << command;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_EQ(refused.out, "") << command;
  }
  /// In the folder plans.
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
  /// Every file and what it holds.
  [[nodiscard]] std::map<std::string, std::string> all_files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path()))
      files[entry.path().string()] = entry.is_regular_file() ? file_text(entry.path()) : "";
    return files;
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(directory_ / name);
  }

  TemporaryDirectory directory_;
  // As root Open MPI wants to be told that this is meant.
  const std::string with_ranks =
      "ranks() { OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n $1 "
      "--oversubscribe --bind-to none \"$program\" \"${@:2}\"; }; mpirun=ranks; ";
};

}  // namespace wallheat
