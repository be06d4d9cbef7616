#include <array>
#include <chrono>
#include <functional>
#include <new>
#include <thread>
#include <utility>

#include "solve/gpu/device.hpp"
#include "solve/gpu/kernels.hpp"
#include "solve/gpu/stream.hpp"

namespace wallheat::gpu {
namespace {

using Seconds = std::chrono::duration<double>;

void check_allocation(cudaError_t status, const char* doing) {
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // clears the error, so that the next call does not report it
    throw std::bad_alloc();
  }
  check(status, doing);
}

class CudaStream final : public Stream {
 public:
  CudaStream(int ordinal, const DeviceCapacity& capacity, std::shared_ptr<DeviceState> shared)
      : ordinal_(ordinal), capacity_(capacity), shared_(std::move(shared)) {
    select();
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "creating an event");
  }
  ~CudaStream() override {
    if (shared_->has_timed_out) return;  // any call could block forever
    (void)cudaSetDevice(ordinal_);
    for (const cudaGraphExec_t recording : recordings_)
      if (recording != nullptr) (void)cudaGraphExecDestroy(recording);
    for (const cudaEvent_t event : events_) (void)cudaEventDestroy(event);
    (void)cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  [[nodiscard]] const DeviceCapacity& capacity() const override { return capacity_; }

  [[nodiscard]] Memory device_memory(std::size_t bytes) override {
    select();
    void* memory = nullptr;
    check_allocation(cudaMalloc(&memory, bytes), "allocating device memory");
    return owned(memory, cudaFree);
  }
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override {
    select();
    void* memory = nullptr;
    check_allocation(cudaMallocHost(&memory, bytes), "allocating pinned memory");
    return owned(memory, cudaFreeHost);
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    select();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copying");
  }
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t row_bytes, std::size_t rows) override {
    select();
    check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, cudaMemcpyDefault,
                            stream_),
          "copying");
  }
  void clear(void* memory, std::size_t bytes) override {
    select();
    check(cudaMemsetAsync(memory, 0, bytes, stream_), "clearing memory");
  }

  void run_cluster(int blocks, int threads, const ClusterKernelArgs& plan) override {
    select();
    check(launch_cluster_kernel(blocks, threads, plan, stream_), "launching the cluster kernel");
  }
  void run_streaming(std::size_t regions, const StreamingKernelArgs& plan,
                     unsigned long long* largest_change) override {
    select();
    check(launch_streaming_kernel(regions, plan, largest_change, stream_),
          "launching the streaming kernel");
  }

  void record(int recording, const std::function<void()>& launch) override {
    select();
    // Solvers record at any time. In the mode `global`, memory could not be allocated in any thread
    // while one of them does; in this mode, only the recording thread must not allocate memory.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "recording launches");
    cudaGraph_t captured = nullptr;
    try {
      launch();
    } catch (...) {  // ends the recording, so that the stream can be destroyed
      if (cudaStreamEndCapture(stream_, &captured) == cudaSuccess) (void)cudaGraphDestroy(captured);
      throw;
    }
    check(cudaStreamEndCapture(stream_, &captured), "recording launches");
    const std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)> graph(captured,
                                                                         cudaGraphDestroy);
    prepare(graph.get(), recordings_[static_cast<std::size_t>(recording)]);
  }
  void replay(int recording) override {
    select();
    check(cudaGraphLaunch(recordings_[static_cast<std::size_t>(recording)], stream_),
          "launching recorded kernels");
  }

  void wait() override {
    if (shared_->has_timed_out) throw DeviceTimeout("the GPU no longer responds");
    select();
    const auto start = std::chrono::steady_clock::now();
    try {
      poll_until_done([this] { return is_done(); },
                      [](double seconds) { std::this_thread::sleep_for(Seconds(seconds)); },
                      "solving a plan");
    } catch (const DeviceTimeout&) {
      shared_->has_timed_out = true;
      throw;
    }
    waited_s_ += Seconds(std::chrono::steady_clock::now() - start).count();
  }

  void mark(TimingPoint moment) override {
    if (moment == begun) waited_s_ = 0;
    select();
    check(cudaEventRecord(events_[moment], stream_), "measuring");
  }
  [[nodiscard]] GpuPlanTimes times() override {
    select();
    const auto seconds_from = [this](TimingPoint first) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, events_[first], events_[first + 1]), "measuring");
      return milliseconds * 1e-3;
    };
    return {.upload_s = seconds_from(begun),
            .kernel_s = seconds_from(uploaded),
            .download_s = seconds_from(computed),
            .wait_s = waited_s_,
            .stream = number_};
  }

 private:
  /// Selects the device for the calling thread. Call this in each public function that calls CUDA:
  /// the current device of a new thread is GPU 0, and a call to CUDA creates a context on the
  /// current device, which occupies memory of that GPU and fails if another process has it in
  /// exclusive mode.
  void select() const { check(cudaSetDevice(ordinal_), "selecting the device"); }

  /// Makes a recording executable, in place of an earlier one. Preparing one takes far longer than
  /// replacing the arguments of the earlier one, which is possible if both have the same number of
  /// launches: nearly always, because most windows have the same length.
  static void prepare(cudaGraph_t graph, cudaGraphExec_t& recording) {
    if (recording != nullptr) {
      cudaGraphExecUpdateResultInfo difference{};
      const cudaError_t updated = cudaGraphExecUpdate(recording, graph, &difference);
      if (updated == cudaSuccess) return;
      if (updated != cudaErrorGraphExecUpdateFailure) check(updated, "updating recorded launches");
      (void)cudaGetLastError();  // clears the error, so that the next call does not report it
      check(cudaGraphExecDestroy(std::exchange(recording, nullptr)), "replacing recorded launches");
    }
    check(cudaGraphInstantiate(&recording, graph, 0), "preparing recorded launches");
  }

  [[nodiscard]] bool is_done() const {
    const cudaError_t status = cudaStreamQuery(stream_);
    if (status == cudaErrorNotReady) return false;
    check(status, "solving");
    return true;
  }

  [[nodiscard]] Memory owned(void* memory, cudaError_t (*release)(void*)) const {
    return {static_cast<std::byte*>(memory),
            [shared = shared_, ordinal = ordinal_, release](std::byte* taken) {
              if (shared->has_timed_out) return;
              (void)cudaSetDevice(ordinal);
              (void)release(taken);
            }};
  }

  int ordinal_;
  DeviceCapacity capacity_;
  std::shared_ptr<DeviceState> shared_;
  std::int32_t number_ = shared_->streams++;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, moments> events_{};
  std::array<cudaGraphExec_t, recordings> recordings_{};  ///< null: not recorded so far
  double waited_s_ = 0;  ///< time in wait() since the point `begun` was last marked
};

}  // namespace

void check(cudaError_t status, const std::string& doing) {
  if (status == cudaSuccess) return;
  throw DeviceFault("the GPU failed while " + doing + ": " + cudaGetErrorString(status));
}

std::unique_ptr<Stream> make_cuda_stream(int ordinal, const DeviceCapacity& capacity,
                                         std::shared_ptr<DeviceState> shared) {
  return std::make_unique<CudaStream>(ordinal, capacity, std::move(shared));
}

}  // namespace wallheat::gpu
