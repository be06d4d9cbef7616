#pragma once

#include <filesystem>
#include <string>

#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"

namespace wallheat {

/// Runs bash scripts in a directory of its own, where `wallheat` is the program and $mpirun starts
/// it with any number of ranks, whatever the machine: "$mpirun 3 run ...".
class ShellTest : public testing::Test {
 protected:
  /// It must end with this status.
  Finished shell(const std::string& script, int status = 0) const {
    Finished finished = run_script(
        directory_.path(), WALLHEAT_PROGRAM,
        "ranks() { mpirun -n $1 --oversubscribe --bind-to none \"$program\" \"${@:2}\"; }; "
        "mpirun=ranks; " +
            script);
    EXPECT_EQ(finished.status, status) << script << "\n" << finished.err;
    return finished;
  }
  /// With this in what it says on stderr.
  void expect_refusal(const std::string& command, int status, const std::string& sentence) const {
    EXPECT_THAT(shell("wallheat " + command, status).err, testing::HasSubstr(sentence)) << command;
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
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(directory_ / name);
  }

  TemporaryDirectory directory_;
};

}  // namespace wallheat
