#pragma once

#include "ptx/machine.hpp"
#include "support/host_memory_stream.hpp"

namespace wallheat::gpu {

/// The streams that GpuSolver drives, over a machine that executes what nvcc made of the kernels.
class PtxStream final : public HostMemoryStream {
 public:
  /// `shapes`: which of the cluster kernels there are; all if empty.
  explicit PtxStream(std::uint64_t seed, std::vector<ClusterShape> shapes = {});

  [[nodiscard]] const Capacity& capacity() const override { return capacity_; }
  [[nodiscard]] Memory device_memory(std::size_t bytes) override;
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override { return device_memory(bytes); }
  void run_resident(const GroupSize& group, const ResidentPlan& plan) override;
  void run_streaming(std::size_t regions, const StreamedPlan& plan,
                     unsigned long long* largest_change) override;

  [[nodiscard]] const ptx::Machine& machine() const { return *machine_; }
  GroupSize last_group;  ///< of a resident launch

 private:
  Capacity capacity_;
  std::shared_ptr<ptx::Machine> machine_;
};

/// The cluster kernels that nvcc has made, for clusters of 1 to 16 blocks.
[[nodiscard]] std::vector<ClusterShape> every_cluster_shape();

}  // namespace wallheat::gpu
