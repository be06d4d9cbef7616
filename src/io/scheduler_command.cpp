#include "io/scheduler_command.hpp"

#include <fmt/format.h>

#include "io/child_process.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

SchedulerOutput run_scheduler_command(const std::vector<std::string>& command,
                                      std::chrono::seconds limit) {
  const std::string& program = command.front();
  try {
    const auto output = run_and_capture(
        command, {}, {"SLURM_TIME_FORMAT=%s", "LSB_DISPLAY_YEAR=Y", "LC_ALL=C"}, limit);
    if (!output) return {{}, program + ": not found", false};
    if (output->timed_out)
      return {{}, fmt::format("{}: no answer within {} s", program, limit.count())};
    if (output->status == 0) return {output->stdout_text, {}};
    const std::string& reason = output->stderr_text;
    return {{}, fmt::format("{} failed: {}", program, reason.substr(0, reason.find('\n')))};
  } catch (const RunError& error) {
    return {{}, error.what()};
  }
}

}  // namespace wallheat
