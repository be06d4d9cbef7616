#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "solve/gpu/device.hpp"
#include "solve/gpu/stream.hpp"
#include "wallheat/solver.hpp"

namespace wallheat::gpu {

/// The kernels of a solver: `cluster` for the plans that a cluster holds and streaming for the
/// others, or streaming for all.
enum class Kernel { cluster, streaming };
inline constexpr std::array every_kernel{Kernel::cluster, Kernel::streaming};
[[nodiscard]] std::string to_string(Kernel kernel);

/// A solver on a stream of its own, with memory of its own.
[[nodiscard]] std::unique_ptr<GpuSolver> make_gpu_solver(std::unique_ptr<Stream> stream,
                                                         Kernel kernel);

/// Lets the kernels of a device solve three generated plans: a cluster of one block and one of
/// several, and streaming with a source and without. Returns which kernel may be used: streaming,
/// with a reason to `warn`, if a cluster's answer has not the bits of the reference solver. Throws
/// DeviceFault if streaming's have not, or the device fails.
[[nodiscard]] Kernel select_verified_kernel(
    const std::function<std::unique_ptr<Solver>(Kernel)>& make_solver,
    const std::function<void(const std::string&)>& warn);

/// What open_gpu opens; tests try each of its kernels.
class DeviceWithKernels : public GpuDevice {
 public:
  [[nodiscard]] virtual bool has_clusters() const = 0;
  [[nodiscard]] virtual std::unique_ptr<GpuSolver> make_solver(Kernel kernel) = 0;
};

}  // namespace wallheat::gpu
