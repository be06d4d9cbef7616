#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "isolation/command_process.hpp"
#include "solve/cpu/jacobi.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// A solver that passes plans to the program of a solver command, and checks the fields that it
/// returns. jobs/examples/README.md describes the protocol.
///
/// solve() throws CommandFailure if the program fails, or returns a field that cannot be a result.
/// After a BrokenProgram, this solver cannot be used any more.
class CommandSolver : public Solver {
 public:
  /// Durations of the phases of the latest plan, in s.
  struct Times {
    double start_s = 0;  ///< from the start of the program until it was ready; 0: it was running
    double write_s = 0;  ///< writing the arrays
    double solve_s = 0;  ///< from the request to the reply
    double judge_s = 0;  ///< reading and checking the field
  };

  /// Starts the program and waits until it is ready. Throws RunError or std::system_error if that
  /// fails, or takes longer than Agent::start_timeout.
  explicit CommandSolver(const SolverOptions& options);

  /// Sets the ID of the next plan.
  void begin_plan(const std::string& id) { id_ = id; }
  [[nodiscard]] std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                              const SolveControl& control) override;
  [[nodiscard]] const Times& times() const { return times_; }

 private:
  void write_arrays(const FloorPlan& plan);
  [[nodiscard]] Solution request_solution(const FloorPlan& plan, const SolveParameters& limits,
                                          const SolveControl& control);
  [[nodiscard]] Grid<double> read_field(const FloorPlan& plan) const;
  /// Returns the path of the field of the current request. Each request has another path, so that a
  /// field that a program writes too late is never taken for that of the next plan.
  [[nodiscard]] std::filesystem::path field_path() const;

  DeltaDecay decay_;  // from the field that the program returns
  std::string id_;
  std::uint64_t request_number_ = 0;
  Times times_;
  double start_s_ = 0;  // Times::start_s of the next plan
  CommandProcess process_;
};

/// Returns a solver for the CPU, or for a solver command.
[[nodiscard]] std::unique_ptr<Solver> make_solver(const SolverOptions& options);

}  // namespace wallheat
