#pragma once

#include <string>
#include <vector>

#include "core/machine.hpp"
#include "node/processor.hpp"
#include "solve/gpu/device.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// What this machine offers to a run, within the cores that this process may use.
struct DevicesReport {
  struct GpuEntry {
    Gpu gpu;
    GpuProperties properties;
  };
  /// A solver on the CPU.
  struct SolverRate {
    SolverKind kind;
    double plans_per_s =
        0;  ///< of sample_side (bench/solver_bench.hpp); all threads, as one of them was measured
  };
  std::string mpi;
  Machine machine;
  Processor processor;
  int threads = 0;           ///< that a run on the CPU would have
  std::string thread_limit;  ///< why not one a core; may be empty
  std::vector<Isa> isas;     ///< the last is used
  std::vector<SolverRate> solvers;
  std::vector<GpuEntry> gpus;
  std::string gpu_driver;
  std::string no_gpu;  ///< why no GPU is used, if none is

  [[nodiscard]] std::size_t sockets() const;
  /// Doubles in a vector register.
  [[nodiscard]] int lanes() const;
  /// Of all cores: a multiplication and an addition in each lane and cycle of one vector unit.
  [[nodiscard]] double fp64_per_second() const;
};

/// Prints it to stdout.
void print_text(const DevicesReport& report);
void print_json(const DevicesReport& report);

}  // namespace wallheat
