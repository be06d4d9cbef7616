#pragma once

#include <memory>

#include "solve/gpu/device.hpp"
#include "solve/gpu/stream.hpp"
#include "wallheat/solver.hpp"

namespace wallheat::gpu {

/// Which kernel solves; tests choose, others leave it to the plan's size.
enum class Kernel { automatic, cluster, grid, streaming };

/// A solver on a stream of its own, with device memory of a pool that all solvers of the device
/// share. Solves as GpuDevice::make_solver says; throws std::bad_alloc
/// where somebody else has the memory that a plan needs. RunError where the device has no such
/// kernel.
[[nodiscard]] std::unique_ptr<Solver> make_stream_solver(std::unique_ptr<Stream> stream,
                                                         std::shared_ptr<MemoryPool> pool,
                                                         Kernel kernel = Kernel::automatic);

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
