#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "wallheat/solver.hpp"

namespace wallheat {

/// Which solver answers, and how it runs.
struct SolverOptions {
  Limits limits;
  bool reference = false;  ///< the sequential oracle instead of the vectorised back end of jacobi
  Isa isa = Isa::baseline;
  std::optional<int> gpu{};  ///< CUDA's number of the GPU to solve on; the CPU otherwise
  SolverKind kind = SolverKind::jacobi;
  bool spacing_is_known = true;  ///< the user or the plans said limits.spacing

  /// A solver for the CPU.
  [[nodiscard]] std::unique_ptr<Solver> make() const;
  /// The CPU's: "cpu avx512", "cpu reference".
  [[nodiscard]] std::string device_text() const;
  /// "jacobi 1": name and version.
  [[nodiscard]] std::string solver_text() const;
  /// Everything that decides the answers, as result files keep it.
  [[nodiscard]] std::map<std::string, std::string> settings() const;
};

/// The solver that a result file with these settings was made with, with the best instruction set
/// here. Throws RunError where they do not tell.
[[nodiscard]] SolverOptions recorded_solver(const std::string& file,
                                            const std::map<std::string, std::string>& settings);

}  // namespace wallheat
