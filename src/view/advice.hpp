#pragma once

#include <set>
#include <string>

#include "core/system_limits.hpp"

// Hints: what the user can do after a run. They are shared, so that every command words them alike.
namespace wallheat {

/// Quotes a word of a command line for a POSIX shell if necessary.
[[nodiscard]] inline std::string quote_shell_word(const std::string& word) {
  const bool is_plain = word.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "_-+=./,:@%") == std::string::npos;
  if (is_plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char each : word) quoted += each == '\'' ? "'\\''" : std::string(1, each);
  return quoted + "'";
}

/// Hint on resuming a run. The caller may append further options.
inline constexpr const char* resume_hint = "run the same command with --resume";

/// Returns the command that resumes a run; for callers that do not know how the run was started.
/// `data` are the plans, quoted for a shell.
[[nodiscard]] inline std::string resume_command(const std::string& file,
                                                const std::string& data = "PLANS") {
  return "wallheat run --data " + data + " --out " + file + " --resume";
}

/// Returns what to do about failed plans, depending on the resources that their errors name.
/// `has_solver_command`: a program of the user solves the plans.
[[nodiscard]] inline std::string failed_plans_advice(const std::set<ExhaustedResource>& resources,
                                                     bool has_solver_command) {
  std::string advice;
  for (const ExhaustedResource resource : resources) {
    if (!advice.empty()) advice += ", and ";
    switch (resource) {
      case ExhaustedResource::none:
        advice += has_solver_command
                      ? "fix the program (and add --allow-changed-solver), or the input files"
                      : "fix the input files of the failed plans";
        break;
      case ExhaustedResource::memory:
        advice += "give the job more memory, or solve fewer plans at a time with --threads";
        break;
      case ExhaustedResource::processor_time:
        advice += "raise the limit of processor time (ulimit -t)";
        break;
    }
  }
  return advice;
}

/// Returns a remark about a result for which is_far_from_steady() is true. `has_solver_command`: a
/// program of the user computed it.
[[nodiscard]] inline const char* far_from_steady_remark(bool has_solver_command) {
  return has_solver_command
             ? "far from the steady state; check the program, --tolerance and --max-iterations"
             : "far from the steady state, which --solver steady finds with a proven bound";
}

/// Hint for plans with heat sources if their grid spacing is unknown.
inline constexpr const char* unknown_spacing =
    "plans have heat sources, but their grid spacing is unknown; assuming 1: use --spacing, or "
    "write it to spacing.txt next to the plans";

/// Append this to resume_hint or resume_command() if failed plans should be solved again: --resume
/// alone skips plans that have failed --max-attempts times.
inline constexpr const char* retry_failed_suffix = " --retry-failed";

}  // namespace wallheat
