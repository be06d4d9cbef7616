#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run/run_options.hpp"

namespace wallheat {

/// What can be told of a run before it starts.
struct Readiness {
  std::vector<std::pair<std::string, std::string>> facts;  ///< what about, and a sentence
  std::vector<std::string> warnings;  ///< the run can start, but somebody should know
  std::vector<std::string> problems;  ///< each would stop the run
  std::string done;                   ///< a sentence if no plan is left to solve; else empty
};

/// Takes all steps of a run's preparation, also after a problem, and looks at disk, memory, solver
/// and devices. Changes nothing.
[[nodiscard]] Readiness examine_readiness(const RunOptions& options);

}  // namespace wallheat
