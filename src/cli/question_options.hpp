#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solve/solver_options.hpp"

namespace wallheat {

class Options;

/// The options that say what is asked of a plan: thresholds, its walls' temperatures, rooms. Call
/// finish() after parsing, while this and the Options live.
class QuestionOptions {
 public:
  void declare(Options& options);
  void declare_thresholds(Options& options);
  void declare_walls(Options& options);
  void declare_door(Options& options, const char* help);
  /// Puts what was asked into `solver`. Throws UsageError.
  void finish(SolverOptions& solver) const;
  /// The thresholds, by default those. Throws UsageError.
  [[nodiscard]] Thresholds thresholds(const Thresholds& usual) const;
  /// Throws UsageError.
  [[nodiscard]] Door door() const;

 private:
  const Options* options_ = nullptr;
  Thresholds thresholds_;
  std::vector<std::string> walls_;
  bool rooms_ = false;
  std::string door_;
};

/// Metres that a cell is wide, as --cell-size says; 0: unknown.
class CellSizeOption {
 public:
  void declare(Options& options);
  /// Throws UsageError.
  [[nodiscard]] double metres() const;

 private:
  const Options* options_ = nullptr;
  double metres_ = 0;
};

}  // namespace wallheat
