#pragma once

#include <cstdint>
#include <memory>

#include "ptx/machine.hpp"
#include "support/host_memory_stream.hpp"

namespace wallheat::gpu {

/// The streams that a GPU's solver drives, over a machine that executes what nvcc made of the
/// kernels.
class PtxStream final : public HostMemoryStream {
 public:
  /// `block_threads`: of a cluster's block at most; few make a small plan one of many blocks.
  explicit PtxStream(std::uint64_t seed, int block_threads = cluster_threads);

  [[nodiscard]] const Capacity& capacity() const override { return capacity_; }
  [[nodiscard]] Memory device_memory(std::size_t bytes) override;
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override { return device_memory(bytes); }
  void run_cluster(int blocks, int threads, const ResidentPlan& plan) override;
  void run_streaming(std::size_t regions, const StreamedPlan& plan,
                     unsigned long long* largest_change) override;

  [[nodiscard]] const ptx::Machine& machine() const { return *machine_; }
  int last_blocks = 0;  ///< of a cluster

 private:
  Capacity capacity_;
  std::shared_ptr<ptx::Machine> machine_;
};

}  // namespace wallheat::gpu
