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
  constexpr int most = 32;
  const char* const text = std::getenv(queues_variable);
  const int number = text == nullptr ? 0 : std::atoi(text);
  return number < 1 ? default_queues : static_cast<std::size_t>(std::min(number, most));
}

std::size_t max_plans_in_flight(int multiprocessors, std::size_t queues) {
  // A plan of 512 x 512 cells occupies about 6 multiprocessors. For each plan that is being solved,
  // another is being read, and the results of a third are being processed.
  constexpr int multiprocessors_a_plan = 6;
  const int solved = std::max(multiprocessors / multiprocessors_a_plan, 1);
  return std::min(3 * static_cast<std::size_t>(solved), queues);
}

namespace gpu {

void poll_until_done(const std::function<bool()>& is_done, const std::function<void(double)>& sleep,
                     const std::string& doing) {
  constexpr double shortest_s = 50e-6;
  constexpr double longest_s = 1e-3;
  double waited_s = 0;
  while (!is_done()) {
    if (waited_s >= device_timeout_s)
      throw DeviceTimeout("the GPU has not responded for " +
                          std::to_string(static_cast<int>(device_timeout_s)) + " s while " + doing);
    const double pause_s = std::clamp(waited_s / 8, shortest_s, longest_s);
    sleep(pause_s);
    waited_s += pause_s;
  }
}

}  // namespace gpu

namespace gpu {

namespace {

/// Solves plans with two sets of parameters. Throws DeviceFault if a result is not bit-identical to
/// that of the reference. With the first parameters, the check intervals are long; with the second,
/// the iteration converges within a check interval, so the solver must roll back.
void verify_kernel(Solver& solver, const std::vector<FloorPlan>& plans) {
  const auto reference = make_reference_solver();
  for (const FloorPlan& plan : plans) {
    for (const SolveParameters& limits : {SolveParameters{1e-4, 250}, SolveParameters{1.0, 250}}) {
      const auto found = solver.solve(plan, limits, {});
      if (!found || !same_bits(*found, *reference->solve(plan, limits, {})))
        throw DeviceFault(
            "its result of a known plan is not bit-identical to that of the reference");
    }
  }
}

FloorPlan with_source(FloorPlan plan) {
  plan.source = Grid<double>(plan.domain.rows, plan.domain.cols);
  for (std::size_t cell = 0; cell < plan.source.cells.size(); ++cell)
    plan.source.cells[cell] = 1e-3 * static_cast<double>(cell % 97);
  return plan;
}

}  // namespace

Kernel select_verified_kernel(const std::function<std::unique_ptr<Solver>(Kernel)>& make_solver,
                              const std::function<void(const std::string&)>& warn) {
  // Returns the message of a device fault; empty if the kernel works. A device timeout is rethrown.
  const auto fault_of = [&](Kernel kernel, const std::vector<FloorPlan>& plans) -> std::string {
    try {
      verify_kernel(*make_solver(kernel), plans);
      return {};
    } catch (const DeviceTimeout&) {
      throw;
    } catch (const DeviceFault& fault) {
      return fault.what();
    }
  };
  const FloorPlan of_one_block = generate_floor_plan(1, 0, 40);
  const FloorPlan of_several = generate_floor_plan(1, 0, 256);
  std::string fault = fault_of(Kernel::streaming, {of_several, with_source(of_several)});
  if (!fault.empty()) throw DeviceFault("the GPU's streaming kernel cannot be used: " + fault);
  fault = fault_of(Kernel::cluster, {of_one_block, of_several});
  if (fault.empty()) return Kernel::cluster;
  warn("the GPU's cluster kernel is not used: " + fault);
  // A persistent fault of the device makes every later call fail, so check that the streaming
  // kernel still works.
  verify_kernel(*make_solver(Kernel::streaming), {of_one_block});
  return Kernel::streaming;
}

}  // namespace gpu

}  // namespace wallheat
