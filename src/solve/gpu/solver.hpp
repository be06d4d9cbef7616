#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "solve/gpu/device.hpp"
#include "solve/gpu/stream.hpp"
#include "wallheat/solver.hpp"

namespace wallheat::gpu {

/// Which kernel solves, the cluster's with tiles of 8 x 8 or 8 x 4; tests and benchmarks choose,
/// others leave it to the plan's size.
enum class Kernel { automatic, cluster_8x8, cluster_8x4, grid, streaming };
constexpr std::size_t kernels = 5;
/// All but `automatic`.
inline constexpr std::array every_kernel{Kernel::cluster_8x8, Kernel::cluster_8x4, Kernel::grid,
                                         Kernel::streaming};

/// Whether a device has a kernel.
[[nodiscard]] bool has(const Capacity& capacity, Kernel kernel);

[[nodiscard]] std::string to_string(Kernel kernel);

/// Whether a kernel may be used; asked by solvers that choose by themselves.
using AdmitKernel = std::function<bool(Kernel)>;

/// A solver on a stream of its own, with device memory of a pool that all solvers of the device
/// share. Solves as GpuDevice::make_solver says; throws std::bad_alloc
/// if somebody else has the memory that a plan needs, RunError if the device has no such kernel.
/// With `automatic`, only kernels that `admit` lets through are used (empty: all).
[[nodiscard]] std::unique_ptr<Solver> make_stream_solver(std::unique_ptr<Stream> stream,
                                                         std::shared_ptr<MemoryPool> pool,
                                                         Kernel kernel = Kernel::automatic,
                                                         AdmitKernel admit = {});

/// What open_gpu opens; tests try each of its kernels.
class DeviceWithKernels : public GpuDevice {
 public:
  [[nodiscard]] virtual bool has(Kernel kernel) const = 0;
  [[nodiscard]] virtual std::unique_ptr<Solver> make_solver(Kernel kernel) = 0;
  [[nodiscard]] std::unique_ptr<Solver> make_solver() final {
    return make_solver(Kernel::automatic);
  }
};

}  // namespace wallheat::gpu
