#include "solve/gpu/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/generator.hpp"
#include "solve/gpu/solver.hpp"
#include "solve/gpu/stream.hpp"

namespace wallheat {

// The functions that do not depend on CUDA.

namespace {

constexpr const char* queues_variable = "CUDA_DEVICE_MAX_CONNECTIONS";

}  // namespace

void use_all_gpu_queues() { (void)::setenv(queues_variable, "32", 0); }

std::size_t gpu_queues() {
  constexpr std::size_t default_queues = 8;
  constexpr int max_queues = 32;
  const char* const text = std::getenv(queues_variable);
  const int number = text == nullptr ? 0 : std::atoi(text);
  return number < 1 ? default_queues : static_cast<std::size_t>(std::min(number, max_queues));
}

std::size_t max_plans_in_flight(int multiprocessors, std::size_t queues) {
  // A plan of 512 x 512 cells occupies about 6 multiprocessors. For each plan that is being solved,
  // another is being read, and the results of a third are being processed.
  constexpr int multiprocessors_per_plan = 6;
  const int solved = std::max(multiprocessors / multiprocessors_per_plan, 1);
  return std::min(3 * static_cast<std::size_t>(solved), queues);
}

namespace gpu {

void poll_until_done(const std::function<bool()>& is_done, const std::function<void(double)>& sleep,
                     const std::string& doing) {
  constexpr double min_pause_s = 50e-6;
  constexpr double max_pause_s = 200e-6;
  double waited_s = 0;
  while (!is_done()) {
    if (waited_s >= device_timeout_s)
      throw DeviceTimeout("the GPU has not responded for " +
                          std::to_string(static_cast<int>(device_timeout_s)) + " s while " + doing);
    const double pause_s = std::clamp(waited_s / 8, min_pause_s, max_pause_s);
    sleep(pause_s);
    waited_s += pause_s;
  }
}

namespace {

/// Solves known plans. Throws DeviceFault if a result is not bit-identical.
void verify_kernel(Solver& solver, Kernel kernel, const std::vector<KnownPlan>& known_plans) {
  for (const KnownPlan& known : known_plans) {
    if (kernel == Kernel::cluster && known.plan.has_heat_source()) continue;  // it is streamed
    const auto found = solver.solve(known.plan, known.limits, {});
    if (!found || !same_bits(*found, known.solution))
      throw DeviceFault("its result of a known plan is not bit-identical to that of the CPU");
  }
}

FloorPlan with_source(FloorPlan plan) {
  plan.source = Grid<double>(plan.domain.rows, plan.domain.cols);
  for (std::size_t cell = 0; cell < plan.source.cells.size(); ++cell)
    plan.source.cells[cell] = 1e-3 * static_cast<double>(cell % 97);
  return plan;
}

}  // namespace

std::vector<KnownPlan> solve_known_plans() {
  const auto solver = make_jacobi_solver(available_isas().back());
  const FloorPlan of_one_block = generate_floor_plan(1, 0, 88);
  const FloorPlan of_several_blocks = generate_floor_plan(1, 0, 256);
  std::vector<KnownPlan> known_plans;
  const auto add = [&](const FloorPlan& plan, const SolveParameters& limits) {
    known_plans.push_back({plan, limits, *solver->solve(plan, limits, {})});
  };
  for (const FloorPlan& plan : {of_one_block, of_several_blocks, with_source(of_several_blocks)}) {
    // With the first parameters, the check intervals are long; with the second, the iteration
    // converges within a check interval, so the solver must roll back.
    add(plan, {1e-4, 250});
    add(plan, {1.0, 250});
  }
  // Enough check intervals of the same length that the streaming kernel replays both recordings.
  add(of_one_block, {0, 16 + 5 * 256});
  return known_plans;
}

Kernel select_verified_kernel(const std::vector<KnownPlan>& known_plans,
                              const std::function<std::unique_ptr<Solver>(Kernel)>& make_solver,
                              const std::function<void(const std::string&)>& warn) {
  // Returns the message of a device fault; empty if the kernel works. A device timeout is rethrown.
  const auto fault_of = [&](Kernel kernel) -> std::string {
    try {
      verify_kernel(*make_solver(kernel), kernel, known_plans);
      return {};
    } catch (const DeviceTimeout&) {
      throw;
    } catch (const DeviceFault& fault) {
      return fault.what();
    }
  };
  std::string fault = fault_of(Kernel::streaming);
  if (!fault.empty()) throw DeviceFault("the GPU's streaming kernel cannot be used: " + fault);
  fault = fault_of(Kernel::cluster);
  if (fault.empty()) return Kernel::cluster;
  warn("the GPU's cluster kernel is not used: " + fault);
  // A persistent fault of the device makes every later call fail, so check that the streaming
  // kernel still works.
  verify_kernel(*make_solver(Kernel::streaming), Kernel::streaming, known_plans);
  return Kernel::streaming;
}

}  // namespace gpu

}  // namespace wallheat
