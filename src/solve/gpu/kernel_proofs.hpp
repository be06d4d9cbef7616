#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "solve/gpu/solver.hpp"

namespace wallheat::gpu {

/// Which kernels of a device have proven themselves. Each is tried before its first use, on a
/// generated plan that has enough tiles for several blocks; one that fails is done without, and no
/// other kernel suffers for it. Several threads may ask at once.
class KernelProofs {
 public:
  /// `make_solver` makes a solver that uses the one kernel; `is_alive` tells whether the device
  /// still works after a fault; `warn` hears of a kernel that is done without.
  KernelProofs(std::function<std::unique_ptr<Solver>(Kernel)> make_solver,
               std::function<bool()> is_alive, std::function<void(const std::string&)> warn);

  /// Whether a kernel may be used. Throws DeviceFault if the device does not live any more.
  [[nodiscard]] bool admit(Kernel kernel);

 private:
  struct Proof {
    std::mutex mutex;
    std::optional<bool> passed;
  };
  [[nodiscard]] bool passes(Kernel kernel) const;

  std::function<std::unique_ptr<Solver>(Kernel)> make_solver_;
  std::function<bool()> is_alive_;
  std::function<void(const std::string&)> warn_;
  std::array<Proof, kernels> proofs_;
};

}  // namespace wallheat::gpu
