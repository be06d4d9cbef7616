#pragma once

#include <string>

#include "solve/gpu/solver.hpp"

namespace wallheat::gpu {

/// For the names of tests that are run for each kernel.
inline std::string name_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::automatic:
      return "automatic";
    case Kernel::cluster:
      return "cluster";
    case Kernel::grid:
      return "grid";
    case Kernel::streaming:
      return "streaming";
  }
  return "unknown";
}

}  // namespace wallheat::gpu
