#include "bench/gpu_crossover.hpp"

#include <array>
#include <utility>

#include "core/cpu_time.hpp"

namespace wallheat {
namespace {

/// From NVIDIA's data sheets: compute capability, multiprocessors, boost clock.
GpuModel model_of(const char* name, int capability, int multiprocessors, double clock_hz) {
  GpuModel model{name,
                 {.capability = capability,
                  .multiprocessors = multiprocessors,
                  .clock_hz = clock_hz,
                  .memory_bytes_per_second = 0}};
  model.properties.set_cores();
  return model;
}

/// What plans take on this thread, s, and their updates by jacobi.
struct Measured {
  double seconds = 0;
  double updates = 0;
};

Measured solve_all(Solver& solver, const std::vector<FloorPlan>& plans) {
  Measured measured;
  (void)solver.solve(plans.front(), {0, 1}, {});
  for (const FloorPlan& plan : plans) {
    const double start_s = thread_cpu_seconds();
    const Solution solution = solver.solve(plan, {}, {}).value();
    measured.seconds += thread_cpu_seconds() - start_s;
    measured.updates +=
        static_cast<double>(count_interior(plan)) * static_cast<double>(solution.iterations);
  }
  return measured;
}

}  // namespace

std::vector<GpuModel> known_gpu_models() {
  return {model_of("t4", 75, 40, 1.59e9),       model_of("v100", 70, 80, 1.53e9),
          model_of("a100", 80, 108, 1.41e9),    model_of("rtx3090", 86, 82, 1.70e9),
          model_of("rtx4090", 89, 128, 2.52e9), model_of("l40s", 89, 142, 2.52e9),
          model_of("h100", 90, 132, 1.98e9),    model_of("h200", 90, 132, 1.755e9),
          model_of("rtx5090", 120, 170, 2.41e9)};
}

GpuCrossover model_crossover(const GpuModel& model, std::size_t cores, Isa isa,
                             const std::vector<std::size_t>& sides,
                             const std::function<void(const std::string&)>& tell) {
  constexpr std::size_t different_plans = 3;
  GpuCrossover crossover;
  crossover.model = model.name;
  crossover.rates = {.gpu_updates_per_s = expected_gpu_updates_per_s(model.properties),
                     .cores = cores};
  const auto all_cores = static_cast<double>(cores);
  const std::array solvers{make_jacobi_solver(isa), make_fastforward_solver(isa),
                           make_steady_solver(isa)};
  std::vector<SideRate> jacobi;
  std::vector<SideRate> fastforward;
  for (const std::size_t side : sides) {
    tell("plans of " + std::to_string(side) + " x " + std::to_string(side) + " cells on the CPU");
    const auto plans = generate_floor_plans(different_plans, side);
    const Measured own = solve_all(*solvers[0], plans);
    const auto rate = [&](const Measured& measured) {
      return all_cores * different_plans / measured.seconds;
    };
    crossover.rates.core_updates_per_s = own.updates / own.seconds;
    const Offload offload = crossover.rates.offload();
    const double gpu_s = offload.start_s +
                         bytes_a_cell * static_cast<double>(side * side) / offload.bytes_per_s +
                         own.updates / different_plans / offload.gpu_per_s;
    jacobi.push_back({side, 1 / gpu_s, rate(own)});
    fastforward.push_back({side, 1 / gpu_s, rate(solve_all(*solvers[1], plans))});
    crossover.sides.push_back(
        {jacobi.back(), fastforward.back().cpu_plans_per_s, rate(solve_all(*solvers[2], plans))});
  }
  crossover.break_even_side = break_even_side(jacobi);
  crossover.break_even_side_fastforward = break_even_side(fastforward);
  return crossover;
}

}  // namespace wallheat
