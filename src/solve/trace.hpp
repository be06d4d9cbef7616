#pragma once

namespace wallheat {

/// Names what the calling thread does while this lives, for NVIDIA's profiler Nsight Systems (an
/// NVTX range). Ranges of a thread nest. Without a profiler that costs some nanoseconds; in a build
/// without CUDA, nothing is named.
class TraceRange {
 public:
  explicit TraceRange(const char* name);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

/// Calls a function in a range of its own; returns what it returns.
template <class Function>
auto traced(const char* name, Function function) {
  const TraceRange range(name);
  return function();
}

}  // namespace wallheat
