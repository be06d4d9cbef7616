#include "solve/gpu/cuda_stream.hpp"

#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "solve/gpu/await_work.hpp"
#include "solve/gpu/step_clock.hpp"
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
  }
  ~CudaStream() override {
    for (const cudaEvent_t mark : marks_) (void)cudaEventDestroy(mark);
    (void)cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  [[nodiscard]] const Capacity& capacity() const override { return capacity_; }

  [[nodiscard]] Memory device_memory(std::size_t bytes) override {
    select();
    Memory memory = gpu::device_memory(bytes);
    return {memory.release(), [counters = counters_](std::byte* taken) {
              if (!counters->is_silent()) (void)cudaFree(taken);
            }};
  }
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override {
    select();
    void* memory = nullptr;
    check_allocation(cudaMallocHost(&memory, bytes), "taking pinned memory");
    return {static_cast<std::byte*>(memory), [counters = counters_](std::byte* taken) {
              if (!counters->is_silent()) (void)cudaFreeHost(taken);
            }};
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    clock_.begin_copy(record_);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copying");
  }
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t row_bytes, std::size_t rows) override {
    clock_.begin_copy(record_);
    check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, cudaMemcpyDefault,
                            stream_),
          "copying");
  }
  void clear(void* memory, std::size_t bytes) override {
    check(cudaMemsetAsync(memory, 0, bytes, stream_), "clearing memory");
  }

  void run_resident(const GroupSize& group, const ResidentPlan& plan) override {
    select();
    note_launch(kernel_name(group), group.blocks, group.threads);
    check(group.kind == GroupKind::cluster ? launch_cluster_kernel(group, plan, stream_)
                                           : launch_grid_kernel(group, plan, stream_),
          "starting a kernel");
  }
  void run_streaming(std::size_t regions, const StreamedPlan& plan,
                     unsigned long long* largest_change) override {
    select();
    note_launch(streaming_kernel_name(), static_cast<int>(regions),
                capacity_.region_rows * capacity_.region_cols);
    check(launch_streaming_kernel(regions, plan, largest_change, stream_), "starting a kernel");
  }

  void wait() override {
    if (counters_->is_silent()) throw DeviceSilent("the GPU does not answer any more");
    clock_.end(record_);
    const auto start = std::chrono::steady_clock::now();
    const auto is_done = [this] {
      const cudaError_t status = cudaStreamQuery(stream_);
      if (status == cudaErrorNotReady) return false;
      check(status, "solving");
      return true;
    };
    try {
      await_work(is_done, sleep_for_seconds,
                 launches_ > 0 ? "the kernel " + clock_.times().kernel : "copying");
    } catch (const DeviceSilent&) {
      counters_->note_silence();
      throw;
    }
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    clock_.times().wait_s += waited.count();
    const double seconds = clock_.add_up([this](std::size_t from, std::size_t to) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, marks_.at(from), marks_.at(to)), "measuring");
      return milliseconds * 1e-3;
    });
    if (launches_ == 0) return;
    counters_->add(clock_.times().kernel, launches_, seconds);
    launches_ = 0;
  }

  DeviceTimes take_times() override { return clock_.take(); }

 private:
  /// Which device CUDA means is a matter of each thread.
  void select() const { check(cudaSetDevice(ordinal_), "selecting the device"); }

  /// Between two waits a stream uses one kernel.
  void note_launch(std::string kernel, int blocks, int threads) {
    clock_.begin_launch(record_);
    ++launches_;
    DeviceTimes& times = clock_.times();
    times.kernel = std::move(kernel);
    times.stream = number_;
    times.blocks = blocks;
    times.threads = threads;
  }

  int ordinal_;
  Capacity capacity_;
  std::shared_ptr<KernelCounters> counters_;
  cudaStream_t stream_ = nullptr;
  std::int32_t number_ = counters_->new_stream();
  std::vector<cudaEvent_t> marks_;
  StepClock clock_;
  StepClock::Record record_ = [this](std::size_t mark) {
    if (mark == marks_.size()) {
      select();
      marks_.push_back(nullptr);
      check(cudaEventCreate(&marks_.back()), "making an event");
    }
    check(cudaEventRecord(marks_.at(mark), stream_), "measuring");
  };
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
