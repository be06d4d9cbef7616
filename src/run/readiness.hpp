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

/// Looks at all that a run needs, without starting it: plans, ids, result file, room on the disk,
/// solver, GPU. What a run would refuse is a problem, and all of them are told, not the first one
/// only. Nothing is changed; the result file's lock is held for a moment.
[[nodiscard]] Readiness examine_readiness(const RunOptions& options);

}  // namespace wallheat
