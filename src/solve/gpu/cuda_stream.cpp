#include "solve/gpu/cuda_stream.hpp"

#include <new>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

void check_allocation(cudaError_t status, const char* doing) {
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // reported here, not by the next call
    throw std::bad_alloc();
  }
  check(status, doing);
}

class CudaStream final : public Stream {
 public:
  CudaStream(int ordinal, Capacity capacity, std::shared_ptr<KernelCounters> counters)
      : ordinal_(ordinal), capacity_(std::move(capacity)), counters_(std::move(counters)) {
    select();
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreate(&first_launch_), "making an event");
    check(cudaEventCreate(&end_), "making an event");
  }
  ~CudaStream() override {
    (void)cudaEventDestroy(first_launch_);
    (void)cudaEventDestroy(end_);
    (void)cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  [[nodiscard]] const Capacity& capacity() const override { return capacity_; }

  [[nodiscard]] Memory device_memory(std::size_t bytes) override {
    select();
    return gpu::device_memory(bytes);
  }
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override {
    select();
    void* memory = nullptr;
    check_allocation(cudaMallocHost(&memory, bytes), "taking pinned memory");
    return {static_cast<std::byte*>(memory), [](std::byte* taken) { (void)cudaFreeHost(taken); }};
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copying");
  }
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t row_bytes, std::size_t rows) override {
    check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, cudaMemcpyDefault,
                            stream_),
          "copying");
  }
  void clear(void* memory, std::size_t bytes) override {
    check(cudaMemsetAsync(memory, 0, bytes, stream_), "clearing memory");
  }

  void run_resident(const GroupSize& group, const ResidentPlan& plan) override {
    select();
    note_launch(kernel_name(group));
    check(group.kind == GroupKind::cluster ? launch_cluster_kernel(group, plan, stream_)
                                           : launch_grid_kernel(group, plan, stream_),
          "starting a kernel");
  }
  void run_streaming(std::size_t regions, const StreamedPlan& plan,
                     unsigned long long* largest_change) override {
    select();
    note_launch(streaming_kernel_name(capacity_.region_rows, capacity_.region_cols));
    check(launch_streaming_kernel(capacity_.region_rows, capacity_.region_cols, regions, plan,
                                  largest_change, stream_),
          "starting a kernel");
  }

  void wait() override {
    if (launches_ > 0) check(cudaEventRecord(end_, stream_), "measuring");
    check(cudaStreamSynchronize(stream_), "solving");
    if (launches_ == 0) return;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, first_launch_, end_), "measuring");
    counters_->add(kernel_, launches_, milliseconds * 1e-3);
    launches_ = 0;
  }

 private:
  /// Which device CUDA means is a matter of each thread.
  void select() const { check(cudaSetDevice(ordinal_), "selecting the device"); }

  /// Between two waits a stream uses one kernel.
  void note_launch(std::string kernel) {
    if (launches_++ > 0) return;
    kernel_ = std::move(kernel);
    check(cudaEventRecord(first_launch_, stream_), "measuring");
  }

  int ordinal_;
  Capacity capacity_;
  std::shared_ptr<KernelCounters> counters_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t first_launch_ = nullptr;  // since the last wait
  cudaEvent_t end_ = nullptr;
  std::string kernel_;
  std::int64_t launches_ = 0;  // since the last wait
};

}  // namespace

void check(cudaError_t status, const std::string& doing) {
  if (status == cudaSuccess) return;
  throw DeviceFault("the GPU failed at " + doing + ": " + cudaGetErrorString(status));
}

PreparedKernels prepare_kernels() {
  PreparedKernels prepared;
  prepared.capacity.multiprocessors = attribute_of_device(cudaDevAttrMultiProcessorCount);
  prepare_cluster_kernels(prepared);
  prepare_grid_kernel(prepared);
  prepare_streaming_kernel(prepared);
  std::size_t free = 0;
  check_preparing(cudaMemGetInfo(&free, &prepared.capacity.memory_bytes));
  return prepared;
}

Memory device_memory(std::size_t bytes) {
  void* memory = nullptr;
  check_allocation(cudaMalloc(&memory, bytes), "taking device memory");
  return {static_cast<std::byte*>(memory), [](std::byte* taken) { (void)cudaFree(taken); }};
}

std::unique_ptr<Stream> make_cuda_stream(int ordinal, const Capacity& capacity,
                                         std::shared_ptr<KernelCounters> counters) {
  return std::make_unique<CudaStream>(ordinal, capacity, std::move(counters));
}

}  // namespace wallheat::gpu
