#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/gpu_bench.hpp"
#include "solve/worth_a_gpu.hpp"

namespace wallheat {

/// A kind of GPU of which data sheets tell what `--device auto` goes by.
struct GpuModel {
  std::string name;  ///< as users write it: "h200"
  GpuProperties properties;
};
[[nodiscard]] std::vector<GpuModel> known_gpu_models();

/// From which size of plans on a GPU that is not here would pay: its rates by the model of
/// worth_a_gpu.hpp, those of the CPU measured.
struct GpuCrossover {
  /// Plans a second. The CPU's are those of all cores, as one was measured.
  struct Side {
    SideRate jacobi;
    double fastforward = 0;  ///< on the CPU, as steady
    double steady = 0;
  };
  std::string model;
  DeviceRates rates;  ///< the core's for the largest side
  std::vector<Side> sides;
  double break_even_side = 0;              ///< of jacobi on both, as break_even_side() tells it
  double break_even_side_fastforward = 0;  ///< of jacobi on the GPU against that on the CPU
};

/// Solves three generated plans of each side by each solver on this thread. `tell` hears what is
/// measured next.
[[nodiscard]] GpuCrossover model_crossover(const GpuModel& model, std::size_t cores, Isa isa,
                                           const std::vector<std::size_t>& sides,
                                           const std::function<void(const std::string&)>& tell);

}  // namespace wallheat
