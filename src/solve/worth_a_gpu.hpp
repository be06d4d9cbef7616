#pragma once

#include <string>
#include <vector>

#include "solve/gpu/device.hpp"
#include "solve/offload.hpp"
#include "wallheat/grid.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Cell updates a second that a GPU's kernels are expected to make: FP64 cores x clock, by the
/// three additions and the multiplication of an update, and of that the share that the model of
/// gpu/README.md foresees for an H200. 0 where the GPU's FP64 cores are not known.
[[nodiscard]] double expected_gpu_updates_per_s(const GpuProperties& properties);

/// CPU seconds that a solver takes for one generated plan of sample_side x sample_side cells, on
/// the calling thread: the best of three.
constexpr std::size_t sample_side = 256;
[[nodiscard]] double measure_sample_plan_s(Solver& solver);

/// Cell updates a second of jacobi on the calling thread's core; takes some 10 ms. With all cores
/// at work a core may be slower, as their clock falls.
[[nodiscard]] double measure_core_updates_per_s(Isa isa);

/// A GPU, and the cores that would solve in its place.
struct DeviceRates {
  double gpu_updates_per_s = 0;  ///< 0: not known
  bool gpu_measured = false;     ///< by the plans that it solved, not foreseen from its properties
  double core_updates_per_s = 0;
  std::size_t cores = 0;

  /// With what a plan costs a GPU beside its sweeps: 15 GB/s over PCIe, and 10,000 plans a second
  /// that it can start. Estimates: `wallheat bench --device gpu` measures both.
  [[nodiscard]] Offload offload() const;
};

/// What both make of some plans, and who is to solve them.
struct DeviceVerdict {
  DeviceRates rates;
  double gpu_plans_per_s = 0;  ///< NaN where the GPU's rate is not known
  double cpu_plans_per_s = 0;
  /// A GPU of unknown rate is taken, as it always was.
  [[nodiscard]] bool takes_gpu() const { return !(gpu_plans_per_s < cpu_plans_per_s); }
  /// Both figures and where they are from, in one clause without a subject.
  [[nodiscard]] std::string why() const;
};

/// What `--device auto` goes by for jacobi, the only solver that GPUs have: the sum of what plans
/// of these shapes usually take. Where there are none, one of 512 x 512 cells stands for them.
[[nodiscard]] DeviceVerdict compare_devices(const DeviceRates& rates,
                                            const std::vector<GridShape>& shapes);

}  // namespace wallheat
