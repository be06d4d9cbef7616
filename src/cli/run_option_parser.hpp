#pragma once

#include <filesystem>

#include "cli/options.hpp"
#include "run/run_options.hpp"

namespace wallheat {

/// Of 'wallheat run'. Throws UsageError.
[[nodiscard]] RunOptions parse_run_options(Options& options);

/// Declares the options that choose a solver; call finish() after parsing, while these live.
class SolverOptionParser {
 public:
  void declare(Options& options);
  /// `plans` say what --spacing is where it was not given; may be empty. Throws UsageError.
  [[nodiscard]] SolverOptions finish(const std::filesystem::path& plans) const;

 private:
  const Options* options_ = nullptr;
  SolverOptions solver_;
  double spacing_ = 0;
};

}  // namespace wallheat
