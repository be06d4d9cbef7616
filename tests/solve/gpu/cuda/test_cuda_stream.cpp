// Tests of the recordings of a stream on a CUDA device. Functions of this file take the place of
// the CUDA runtime, because the emulator has no recordings of CUDA, and a GPU returns no errors.
#include <gmock/gmock.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "solve/gpu/device.hpp"
#include "solve/gpu/kernels.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"

namespace {

/// The state of the runtime. A handle is the address of a number.
struct Runtime {
  bool is_recording = false;
  cudaStreamCaptureMode mode{};
  int launches = 0;  ///< executed or recorded, of all launches of the streaming kernel
  cudaError_t launch_error = cudaSuccess;
  bool updates_arguments =
      true;  ///< false: the arguments of an executable graph cannot be replaced
  cudaError_t last_error = cudaSuccess;
  std::set<void*> graphs{};       ///< not destroyed so far
  std::set<void*> executables{};  ///< not destroyed so far
  std::vector<void*> replayed{};
  int instantiated = 0;
  int updated = 0;

  cudaError_t fail(cudaError_t error) { return last_error = error; }
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
cudaError_t CUDARTAPI cudaSetDevice(int) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaGetLastError() { return std::exchange(runtime.last_error, cudaSuccess); }
const char* CUDARTAPI cudaGetErrorString(cudaError_t) { return "an error of the test"; }
cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t) {
  return runtime.is_recording ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t) {
  return runtime.is_recording ? cudaErrorStreamCaptureUnsupported : runtime.last_error;
}
cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaMalloc(void**, size_t) { return cudaErrorMemoryAllocation; }
cudaError_t CUDARTAPI cudaMallocHost(void**, size_t) { return cudaErrorMemoryAllocation; }
cudaError_t CUDARTAPI cudaFree(void*) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaFreeHost(void*) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMemcpy2DAsync(void*, size_t, const void*, size_t, size_t, size_t,
                                        cudaMemcpyKind, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMemsetAsync(void*, int, size_t, cudaStream_t) { return cudaSuccess; }

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode mode) {
  runtime.is_recording = true;
  runtime.mode = mode;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  if (!std::exchange(runtime.is_recording, false)) return runtime.fail(cudaErrorIllegalState);
  *graph = runtime.make<cudaGraph_t>(runtime.graphs);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  return Runtime::destroy(runtime.graphs, graph);
}
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           unsigned long long) {
  if (!runtime.graphs.contains(graph)) return runtime.fail(cudaErrorInvalidValue);
  ++runtime.instantiated;
  *executable = runtime.make<cudaGraphExec_t>(runtime.executables);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                          cudaGraphExecUpdateResultInfo*) {
  if (!runtime.executables.contains(executable) || !runtime.graphs.contains(graph))
    return runtime.fail(cudaErrorInvalidValue);
  if (!runtime.updates_arguments) return runtime.fail(cudaErrorGraphExecUpdateFailure);
  ++runtime.updated;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return Runtime::destroy(runtime.executables, executable);
}
cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  if (runtime.is_recording || !runtime.executables.contains(executable))
    return runtime.fail(cudaErrorInvalidValue);
  runtime.replayed.push_back(executable);
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming)

namespace wallheat::gpu {

cudaError_t launch_cluster_kernel(int, int, const ClusterKernelArgs&, cudaStream_t) {
  return cudaErrorNotSupported;
}
cudaError_t launch_streaming_kernel(std::size_t, const StreamingKernelArgs&, unsigned long long*,
                                    cudaStream_t) {
  ++runtime.launches;
  return runtime.launch_error;
}

namespace {

class CudaRecordings : public testing::Test {
 protected:
  CudaRecordings() {
    runtime = {};
    stream_ = make_cuda_stream(0, {}, shared_);
  }
  void record(int recording) {
    stream_->record(recording, [this] {
      for (int launch = 0; launch < 3; ++launch) stream_->run_streaming(1, {}, nullptr);
    });
  }

  std::shared_ptr<DeviceState> shared_ = std::make_shared<DeviceState>();
  std::unique_ptr<Stream> stream_;
};

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

TEST_F(CudaRecordings, AreLeftAloneWhenDeviceTimedOut) {
  record(0);
  shared_->has_timed_out = true;
  stream_.reset();
  EXPECT_EQ(runtime.executables.size(), 1U) << "destroying it could block forever";
  EXPECT_EQ(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(*runtime.executables.begin())),
            cudaSuccess);
}

}  // namespace
}  // namespace wallheat::gpu
