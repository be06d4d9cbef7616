#pragma once

#include "cli/options.hpp"
#include "run/run_options.hpp"

namespace wallheat {

/// The options of 'wallheat run'. Throws UsageError.
[[nodiscard]] RunOptions parse_run_options(Options& options);

}  // namespace wallheat
