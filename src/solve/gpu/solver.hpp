#pragma once

#include <array>
#include <compare>
#include <functional>
#include <memory>
#include <string>

#include "solve/gpu/device.hpp"
#include "solve/gpu/stream.hpp"
#include "wallheat/solver.hpp"

namespace wallheat::gpu {

/// Which kernel solves; tests and benchmarks choose, others leave it to the plan's size.
enum class Kernel { automatic, cluster, grid, streaming };
/// All but `automatic`.
inline constexpr std::array every_kernel{Kernel::cluster, Kernel::grid, Kernel::streaming};

/// Whether a device has a kernel.
[[nodiscard]] bool has(const Capacity& capacity, Kernel kernel);

[[nodiscard]] std::string to_string(Kernel kernel);

/// What runs differently on a device, and so has to prove itself by itself: a kernel for blocks of
/// at most so many threads, whether several of them wait for each other, and whether there is a
/// source.
struct KernelShape {
  Kernel kernel = Kernel::streaming;
  int threads = 0;
  bool several_blocks = false;
  bool has_source = false;
  auto operator<=>(const KernelShape&) const = default;
};
[[nodiscard]] std::string to_string(const KernelShape& shape);

/// Whether a kernel may be used for a plan.
using AdmitKernel = std::function<bool(const KernelShape&)>;
/// Lets one kernel through, and the streaming one for plans that it does not hold; all if
/// `automatic`.
[[nodiscard]] AdmitKernel only(Kernel kernel);

/// A solver on a stream of its own, with device memory of a pool that all solvers of the device
/// share. Solves as GpuDevice::make_solver says; throws std::bad_alloc if somebody else has the
/// memory that a plan needs, and DeviceFault if `admit` lets no kernel through that could solve it.
[[nodiscard]] std::unique_ptr<Solver> make_stream_solver(
    std::unique_ptr<Stream> stream, std::shared_ptr<MemoryPool> pool,
    AdmitKernel admit = only(Kernel::automatic));

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
