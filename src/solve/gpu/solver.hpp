#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "solve/gpu/device.hpp"
#include "solve/gpu/stream.hpp"
#include "wallheat/solver.hpp"

namespace wallheat::gpu {

/// Kernels of a solver: `cluster` uses the cluster kernel for plans that fit into a cluster, and
/// the streaming kernel for others; `streaming` uses the streaming kernel for all plans.
enum class Kernel { cluster, streaming };
inline constexpr std::array every_kernel{Kernel::cluster, Kernel::streaming};
[[nodiscard]] std::string to_string(Kernel kernel);

/// Returns a solver that uses the given stream, and allocates its own device memory.
[[nodiscard]] std::unique_ptr<GpuSolver> make_gpu_solver(std::unique_ptr<Stream> stream,
                                                         Kernel kernel);

/// A plan, and its solution by the CPU.
struct KnownPlan {
  FloorPlan plan;
  SolveParameters limits;
  Solution solution;
};

/// Solves the plans with which kernels are verified, by the vectorised solver of the CPU: plans
/// that occupy one block and several blocks of a cluster, and one with a heat source.
[[nodiscard]] std::vector<KnownPlan> solve_known_plans();

/// Verifies the kernels of a device on known plans. Returns the kernel to use: `streaming`, after
/// calling warn() with the reason, if a result of the cluster kernel is not bit-identical to that
/// of the CPU. Throws DeviceFault if a result of the streaming kernel is not, or if the device
/// fails.
[[nodiscard]] Kernel select_verified_kernel(
    const std::vector<KnownPlan>& known_plans,
    const std::function<std::unique_ptr<Solver>(Kernel)>& make_solver,
    const std::function<void(const std::string&)>& warn);

/// The device that open_gpu() returns, with access to each kernel for tests.
class DeviceWithKernels : public GpuDevice {
 public:
  [[nodiscard]] virtual bool has_clusters() const = 0;
  [[nodiscard]] virtual std::unique_ptr<GpuSolver> make_solver(Kernel kernel) = 0;
};

}  // namespace wallheat::gpu
