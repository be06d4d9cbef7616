// The GPU solver's benchmark for a machine that has a GPU, a compiler and nothing else.

#include <cstdio>

#include "wallheat/gpu.hpp"

int main() {
  const wallheat::GpuSupport support = wallheat::gpu_support();
  if (support.can_solve) return 0;
  std::fprintf(stderr, "bench_gpu: %s\n", support.reason.c_str());
  return 1;
}
