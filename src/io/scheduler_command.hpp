#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace wallheat {

/// Output of a command of Slurm or LSF.
struct SchedulerOutput {
  std::string text;
  /// Why there is no text: "scontrol: no answer within 5 s"; empty if there is.
  std::string failure;
  bool is_installed = true;  ///< false if the command was not found
};

/// Runs a command of Slurm or LSF. Kills it after `limit`, because schedulers may be slow or hang.
/// The command prints times in seconds since 1970 (Slurm) or with their year (LSF), and all text in
/// English, whatever the environment of the user requests.
[[nodiscard]] SchedulerOutput run_scheduler_command(
    const std::vector<std::string>& command, std::chrono::seconds limit = std::chrono::seconds(5));

}  // namespace wallheat
