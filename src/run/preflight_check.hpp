#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/run_options.hpp"

namespace wallheat {

/// Findings of the preflight check.
struct PreflightReport {
  std::vector<std::pair<std::string, std::string>> facts;  ///< subjects and messages
  std::vector<std::string> warnings;                       ///< messages for a run that can start
  std::vector<std::string> problems;                       ///< each would stop the run
  /// Reason why no plan is left to solve; empty if there is one.
  std::string nothing_to_solve_reason{};
  std::optional<std::size_t> plan_count{};  ///< plans of the shard; nullopt if unknown
};

/// Takes all steps that prepare a run, even after a problem, and checks disk space, memory, solver
/// and devices. Changes nothing.
[[nodiscard]] PreflightReport run_preflight_check(const RunOptions& options);

}  // namespace wallheat
