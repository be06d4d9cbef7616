#pragma once

#include "ptx/machine.hpp"
#include "solve/gpu/stream.hpp"

namespace wallheat::gpu {

/// Tiles of a streamed region: 16 x 32, 16 x 16 or 8 x 16.
struct Region {
  int rows = 16;
  int cols = 32;
};

/// The streams that GpuSolver drives, over a machine that executes what nvcc made of the kernels.
class PtxStream final : public Stream {
 public:
  /// `shapes`: which of the cluster kernels there are; all if empty.
  explicit PtxStream(std::uint64_t seed, int multiprocessors = 132,
                     std::vector<ClusterShape> shapes = {}, Region region = {});

  [[nodiscard]] const Capacity& capacity() const override { return capacity_; }
  [[nodiscard]] Memory device_memory(std::size_t bytes) override;
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override { return device_memory(bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t row_bytes, std::size_t rows) override;
  void clear(void* memory, std::size_t bytes) override;
  void run_resident(const GroupSize& group, const ResidentPlan& plan) override;
  void run_streaming(std::size_t regions, const StreamedPlan& plan,
                     unsigned long long* largest_change) override;
  void wait() override {}

  [[nodiscard]] const ptx::Machine& machine() const { return *machine_; }
  GroupSize last_group;  ///< of a resident launch

 private:
  Capacity capacity_;
  std::shared_ptr<ptx::Machine> machine_;
};

/// The cluster kernels that there are, with clusters of 1 to 16 blocks.
[[nodiscard]] std::vector<ClusterShape> every_cluster_shape();

}  // namespace wallheat::gpu
