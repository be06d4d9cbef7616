#pragma once

#include <set>
#include <string>

#include "core/system_limits.hpp"

// What to do after a run, in words that are the same wherever they stand.
namespace wallheat {

/// To resume a run. More options may follow.
inline constexpr const char* resume_hint = "run the same command with --resume";

/// If the command of the run is not known.
[[nodiscard]] inline std::string resume_command(const std::string& file) {
  return "wallheat run --data PLANS --out " + file + " --resume";
}

/// What to do about failed plans, by the resources that their errors name.
[[nodiscard]] inline std::string failed_plans_advice(const std::set<ExhaustedResource>& resources) {
  std::string advice;
  for (const ExhaustedResource resource : resources) {
    if (!advice.empty()) advice += ", and ";
    switch (resource) {
      case ExhaustedResource::none:
        advice += "fix the input of the failed plans";
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

/// For an answer that is_far_from_steady().
inline constexpr const char* far_from_steady =
    "far from the steady state, which --solver steady finds with a proven bound";

/// For plans that have sources, if the distance of their cells is not known.
inline constexpr const char* unknown_spacing =
    "plans have sources, but not the distance of their cells, which is taken for 1: say --spacing, "
    "or write it into spacing.txt beside the plans";

/// What solves failed plans again, after one of the two above: --resume alone passes over those
/// that have failed --max-attempts times.
inline constexpr const char* retry_failed_suffix = " --retry-failed";

}  // namespace wallheat
