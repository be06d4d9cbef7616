#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "solve/gpu/solver.hpp"

namespace wallheat::gpu {

/// Which kernels of a device have proven themselves, each in the shapes in which it runs. Each
/// shape is tried before its first use, on generated plans; one that fails is done without, and no
/// other suffers for it. Several threads may ask at once.
class KernelProofs {
 public:
  /// `make_solver` makes a solver that solves by a kernel of this shape alone, or throws
  /// DeviceFault; `is_alive` tells whether the device still works after a fault; `warn` hears of a
  /// kernel that is done without.
  KernelProofs(std::function<std::unique_ptr<Solver>(const KernelShape&)> make_solver,
               std::function<bool()> is_alive, std::function<void(const std::string&)> warn);

  /// Whether a kernel may be used. Throws DeviceFault if the device does not live any more.
  [[nodiscard]] bool admit(const KernelShape& shape);

 private:
  struct Proof {
    std::mutex mutex;
    std::optional<bool> passed;
  };
  [[nodiscard]] Proof& proof_of(const KernelShape& shape);
  [[nodiscard]] bool passes(const KernelShape& shape) const;

  std::function<std::unique_ptr<Solver>(const KernelShape&)> make_solver_;
  std::function<bool()> is_alive_;
  std::function<void(const std::string&)> warn_;
  std::mutex mutex_;  // of the map; entries have their own
  std::map<KernelShape, Proof> proofs_;
};

}  // namespace wallheat::gpu
