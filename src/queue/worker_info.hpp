#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

/// One worker as rank 0 knows it.
struct WorkerInfo {
  /// All workers that share its node, itself included.
  struct Node {
    std::size_t workers = 0;
    std::size_t threads = 0;  ///< of those that solve on CPUs: so many plans at a time
  };
  int rank = 0;
  std::string host;
  std::string device;
  std::vector<int> bound_cpus;     ///< all that its solver threads may use
  bool shared = false;             ///< it shares cores with another worker for want of cores
  std::size_t threads = 1;         ///< plans that it solves at a time
  std::optional<Gpu> gpu{};        ///< the GPU it solves on; the CPU otherwise
  std::string no_gpu{};            ///< why not, where a GPU was not ruled out: one clause
  std::string limit{};             ///< what keeps it from more cores: one clause
  std::int64_t peak_memory = 0;    ///< bytes, when it was ready; see WorkerParts
  std::uint64_t memory_bytes = 0;  ///< see Machine
  Node node{};
};

/// Shared with what is told about it later.
using WorkerPointer = std::shared_ptr<const WorkerInfo>;

}  // namespace wallheat
