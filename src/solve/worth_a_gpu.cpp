#include "solve/worth_a_gpu.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "core/cpu_time.hpp"
#include "core/generator.hpp"

namespace wallheat {
namespace {

std::string three_digits(double number) {
  std::array<char, 32> text{};
  const char* format = number >= 1e6 || number < 0.01 ? "%.1e" : number >= 100 ? "%.0f" : "%.3g";
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

/// CPU seconds of a solve: the best of three, as something else may be at work.
double best_solve_s(Solver& solver, const FloorPlan& plan, const Limits& limits) {
  double best = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const double start_s = thread_cpu_seconds();
    (void)solver.solve(plan, limits, {});
    best = std::min(best, thread_cpu_seconds() - start_s);
  }
  return best;
}

}  // namespace

double expected_gpu_updates_per_s(const GpuProperties& properties) {
  constexpr double operations_an_update = 4;
  constexpr double efficiency = 0.35;
  return efficiency * properties.fp64_cores * properties.clock_hz / operations_an_update;
}

double measure_sample_plan_s(Solver& solver) {
  return best_solve_s(solver, generate_floor_plan(1, 0, sample_side), {});
}

double measure_core_updates_per_s(Isa isa) {
  const FloorPlan plan = generate_floor_plan(1, 0, sample_side);
  constexpr Limits limits{0, 400};
  const double updates =
      static_cast<double>(count_interior(plan)) * static_cast<double>(limits.max_iterations);
  return updates / best_solve_s(*make_jacobi_solver(isa), plan, limits);
}

Offload DeviceRates::offload() const {
  return {.bytes_per_s = 15e9,
          .cpu_per_s = static_cast<double>(cores) * core_updates_per_s,
          .gpu_per_s = gpu_updates_per_s,
          .start_s = 1e-4};
}

DeviceVerdict compare_devices(const DeviceRates& rates, const std::vector<GridShape>& shapes) {
  constexpr std::size_t usual_side = 512;
  const Offload offload = rates.offload();
  double gpu_s = 0;
  double cpu_s = 0;
  const auto add = [&](const GridShape& shape) {
    const double cells = static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
    const double updates = usual_updates(cells);
    gpu_s +=
        offload.start_s + bytes_a_cell * cells / offload.bytes_per_s + updates / offload.gpu_per_s;
    cpu_s += updates / offload.cpu_per_s;
  };
  for (const GridShape& shape : shapes) add(shape);
  if (shapes.empty()) add({usual_side, usual_side});
  const double plans = shapes.empty() ? 1.0 : static_cast<double>(shapes.size());
  const bool known = rates.gpu_updates_per_s > 0;
  return {rates, known ? plans / gpu_s : std::numeric_limits<double>::quiet_NaN(), plans / cpu_s};
}

std::string DeviceVerdict::why() const {
  const std::string cores = std::to_string(rates.cores) + " core" + (rates.cores == 1 ? "" : "s") +
                            " " + three_digits(cpu_plans_per_s) +
                            " (measured: " + three_digits(rates.core_updates_per_s) +
                            " updates/s a core)";
  if (!(rates.gpu_updates_per_s > 0))
    return "solves such plans at a rate that is not known, as wallheat does not know its FP64 "
           "cores; " +
           cores;
  return "solves about " + three_digits(gpu_plans_per_s) + " such plans a second (" +
         (rates.gpu_measured ? "measured: " : "expected: ") +
         three_digits(rates.gpu_updates_per_s) + " updates/s), " + cores;
}

}  // namespace wallheat
