// Tests of a stream on a CUDA device: its recordings, and the device on which its functions work.
// Functions of this file take the place of the CUDA runtime, because the emulator has no recordings
// of CUDA, a GPU returns no errors, and few machines have two GPUs.
#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "solve/gpu/device.hpp"
#include "solve/gpu/kernels.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"

namespace {

constexpr int device_of_stream = 1;
thread_local int current_device = 0;  ///< as in CUDA, 0 in a new thread

/// The state of the runtime. A handle is the address of a number.
struct Runtime {
  /// Functions that were called while another device than that of the stream was selected. CUDA
  /// creates a context on that device.
  std::vector<std::string> calls_on_other_device{};
  bool is_recording = false;
  cudaStreamCaptureMode mode{};
  int launches = 0;  ///< executed or recorded, of all launches of the streaming kernel
  cudaError_t launch_error = cudaSuccess;
  bool updates_arguments =
      true;  ///< false: the arguments of an executable graph cannot be replaced
  cudaError_t last_error = cudaSuccess;
  std::set<void*> graphs{};       ///< not destroyed so far
  std::set<void*> executables{};  ///< not destroyed so far
  int streams = 0;                ///< not destroyed so far
  int events = 0;                 ///< not destroyed so far
  std::vector<void*> replayed{};
  int instantiated = 0;
  int updated = 0;

  cudaError_t fail(cudaError_t error) { return last_error = error; }
  cudaError_t on_call(const char* function, cudaError_t status = cudaSuccess) {
    if (current_device != device_of_stream) calls_on_other_device.emplace_back(function);
    return status;
  }
  template <class Handle>
  Handle make(std::set<void*>& handles) {
    void* const handle = ::operator new(1);
    handles.insert(handle);
    return static_cast<Handle>(handle);
  }
  static cudaError_t destroy(std::set<void*>& handles, void* handle) {
    if (handles.erase(handle) == 0) return cudaErrorInvalidValue;
    ::operator delete(handle);
    return cudaSuccess;
  }
};
Runtime runtime;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
extern "C" {
cudaError_t CUDARTAPI cudaSetDevice(int ordinal) {
  current_device = ordinal;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetLastError() { return std::exchange(runtime.last_error, cudaSuccess); }
const char* CUDARTAPI cudaGetErrorString(cudaError_t) { return "an error of the test"; }
cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t*, unsigned) {
  ++runtime.streams;
  return runtime.on_call("cudaStreamCreateWithFlags");
}
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t) {
  --runtime.streams;
  return runtime.on_call("cudaStreamDestroy",
                         runtime.is_recording ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
}
cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t) {
  return runtime.on_call("cudaStreamQuery", runtime.is_recording ? cudaErrorStreamCaptureUnsupported
                                                                 : runtime.last_error);
}
cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t*) {
  ++runtime.events;
  return runtime.on_call("cudaEventCreate");
}
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t) {
  --runtime.events;
  return runtime.on_call("cudaEventDestroy");
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return runtime.on_call("cudaEventRecord");
}
cudaError_t CUDARTAPI cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t) {
  return runtime.on_call("cudaEventElapsedTime");
}
cudaError_t CUDARTAPI cudaMalloc(void** memory, size_t bytes) {
  *memory = ::operator new(bytes);
  return runtime.on_call("cudaMalloc");
}
cudaError_t CUDARTAPI cudaMallocHost(void** memory, size_t bytes) {
  *memory = ::operator new(bytes);
  return runtime.on_call("cudaMallocHost");
}
cudaError_t CUDARTAPI cudaFree(void* memory) {
  ::operator delete(memory);
  return runtime.on_call("cudaFree");
}
cudaError_t CUDARTAPI cudaFreeHost(void* memory) {
  ::operator delete(memory);
  return runtime.on_call("cudaFreeHost");
}
cudaError_t CUDARTAPI cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t) {
  return runtime.on_call("cudaMemcpyAsync");
}
cudaError_t CUDARTAPI cudaMemcpy2DAsync(void*, size_t, const void*, size_t, size_t, size_t,
                                        cudaMemcpyKind, cudaStream_t) {
  return runtime.on_call("cudaMemcpy2DAsync");
}
cudaError_t CUDARTAPI cudaMemsetAsync(void*, int, size_t, cudaStream_t) {
  return runtime.on_call("cudaMemsetAsync");
}

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode mode) {
  runtime.is_recording = true;
  runtime.mode = mode;
  return runtime.on_call("cudaStreamBeginCapture");
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  if (!std::exchange(runtime.is_recording, false)) return runtime.fail(cudaErrorIllegalState);
  *graph = runtime.make<cudaGraph_t>(runtime.graphs);
  return runtime.on_call("cudaStreamEndCapture");
}
cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  return Runtime::destroy(runtime.graphs, graph);
}
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           unsigned long long) {
  if (!runtime.graphs.contains(graph)) return runtime.fail(cudaErrorInvalidValue);
  ++runtime.instantiated;
  *executable = runtime.make<cudaGraphExec_t>(runtime.executables);
  return runtime.on_call("cudaGraphInstantiate");
}
cudaError_t CUDARTAPI cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                          cudaGraphExecUpdateResultInfo*) {
  if (!runtime.executables.contains(executable) || !runtime.graphs.contains(graph))
    return runtime.fail(cudaErrorInvalidValue);
  if (!runtime.updates_arguments) return runtime.fail(cudaErrorGraphExecUpdateFailure);
  ++runtime.updated;
  return runtime.on_call("cudaGraphExecUpdate");
}
cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return runtime.on_call("cudaGraphExecDestroy", Runtime::destroy(runtime.executables, executable));
}
cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  if (runtime.is_recording || !runtime.executables.contains(executable))
    return runtime.fail(cudaErrorInvalidValue);
  runtime.replayed.push_back(executable);
  return runtime.on_call("cudaGraphLaunch");
}
}
// NOLINTEND(readability-identifier-naming)

namespace wallheat::gpu {

cudaError_t launch_cluster_kernel(int, int, const ClusterKernelArgs&, cudaStream_t) {
  return runtime.on_call("launch_cluster_kernel");
}
cudaError_t launch_streaming_kernel(std::size_t, const StreamingKernelArgs&, unsigned long long*,
                                    cudaStream_t) {
  ++runtime.launches;
  return runtime.on_call("launch_streaming_kernel", runtime.launch_error);
}

namespace {

class CudaStreamTest : public testing::Test {
 protected:
  CudaStreamTest() {
    runtime = {};
    stream_ = make_cuda_stream(device_of_stream, {}, shared_);
  }
  void record(int recording) {
    stream_->record(recording, [this] {
      for (int launch = 0; launch < 3; ++launch) stream_->run_streaming(1, {}, nullptr);
    });
  }

  std::shared_ptr<DeviceState> shared_ = std::make_shared<DeviceState>();
  std::unique_ptr<Stream> stream_;
};
class CudaRecordings : public CudaStreamTest {};

TEST_F(CudaStreamTest, SelectsDeviceInEachThread) {
  std::array<std::byte, 1> bytes{};
  Memory device_memory;
  Memory pinned_memory;
  // Each function runs in a new thread, as if it were the first use of CUDA in this thread.
  const auto run_in_thread = [](const std::string& name, const std::function<void()>& function) {
    std::thread(function).join();
    EXPECT_THAT(runtime.calls_on_other_device, testing::IsEmpty()) << name;
    runtime.calls_on_other_device.clear();
  };
  run_in_thread("device_memory", [&] { device_memory = stream_->device_memory(1); });
  run_in_thread("pinned_memory", [&] { pinned_memory = stream_->pinned_memory(1); });
  run_in_thread("mark", [&] { stream_->mark(begun); });
  run_in_thread("copy", [&] { stream_->copy(bytes.data(), bytes.data(), 1); });
  run_in_thread("copy_rows", [&] { stream_->copy_rows(bytes.data(), 1, bytes.data(), 1, 1, 1); });
  run_in_thread("clear", [&] { stream_->clear(bytes.data(), 1); });
  run_in_thread("run_cluster", [&] { stream_->run_cluster(1, 1, {}); });
  run_in_thread("run_streaming", [&] { stream_->run_streaming(1, {}, nullptr); });
  run_in_thread("record", [&] { record(0); });
  run_in_thread("replay", [&] { stream_->replay(0); });
  run_in_thread("wait", [&] { stream_->wait(); });
  run_in_thread("times", [&] { (void)stream_->times(); });
  run_in_thread("release of device memory", [&] { device_memory.reset(); });
  run_in_thread("release of pinned memory", [&] { pinned_memory.reset(); });
  run_in_thread("destructor", [&] { stream_.reset(); });
}

TEST_F(CudaRecordings, ReplaysEachRecording) {
  record(0);
  record(1);
  EXPECT_EQ(runtime.launches, 6);
  EXPECT_EQ(runtime.mode, cudaStreamCaptureModeThreadLocal)
      << "otherwise other threads cannot allocate memory during a recording";
  for (const int recording : {1, 0, 1}) stream_->replay(recording);
  ASSERT_EQ(runtime.replayed.size(), 3U);
  EXPECT_EQ(runtime.replayed[0], runtime.replayed[2]);
  EXPECT_NE(runtime.replayed[0], runtime.replayed[1]);
  EXPECT_TRUE(runtime.graphs.empty()) << "only the executable graphs are needed";
  stream_.reset();
  EXPECT_TRUE(runtime.executables.empty());
  EXPECT_EQ(runtime.events, 0);
  EXPECT_EQ(runtime.streams, 0);
}

TEST_F(CudaRecordings, ReplacesArgumentsOfEarlierRecording) {
  record(0);
  record(0);
  EXPECT_EQ(runtime.instantiated, 1);
  EXPECT_EQ(runtime.updated, 1);
  runtime.updates_arguments = false;
  record(0);
  EXPECT_EQ(runtime.instantiated, 2) << "if CUDA cannot replace the arguments";
  EXPECT_EQ(runtime.executables.size(), 1U);
  EXPECT_EQ(runtime.last_error, cudaSuccess) << "later calls would report the error";
  stream_->replay(0);
  stream_->wait();
}

TEST_F(CudaRecordings, EndsRecordingWhenLaunchFails) {
  runtime.launch_error = cudaErrorInvalidConfiguration;
  EXPECT_THAT(error_message_of<DeviceFault>([&] { record(0); }),
              Mentions({"launching", "an error of the test"}));
  EXPECT_FALSE(runtime.is_recording);
  EXPECT_TRUE(runtime.graphs.empty());
  EXPECT_TRUE(runtime.executables.empty());
  EXPECT_THROW(stream_->replay(0), DeviceFault);
}

TEST_F(CudaRecordings, KeepsEarlierRecordingWhenLaunchFails) {
  record(0);
  runtime.launch_error = cudaErrorInvalidConfiguration;
  EXPECT_THROW(record(0), DeviceFault);
  runtime.launch_error = runtime.last_error = cudaSuccess;
  stream_->replay(0);
  EXPECT_EQ(runtime.replayed.size(), 1U);
}

TEST_F(CudaStreamTest, ReleasesNothingWhenDeviceTimedOut) {
  record(0);
  shared_->has_timed_out = true;
  stream_.reset();
  constexpr const char* reason = "calls could block forever";
  EXPECT_EQ(runtime.executables.size(), 1U) << reason;
  EXPECT_EQ(runtime.streams, 1) << reason;
  EXPECT_EQ(runtime.events, static_cast<int>(moments)) << reason;
  EXPECT_EQ(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(*runtime.executables.begin())),
            cudaSuccess);
}

}  // namespace
}  // namespace wallheat::gpu
