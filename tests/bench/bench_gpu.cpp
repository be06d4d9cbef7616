// The measurements of `wallheat bench --device gpu` for a machine that has a GPU and a compiler
// only: throughput of the first GPU for 64 plans of 512 x 512 cells, and its speed compared with
// the cores for several plan sizes.
//
//   bench_gpu [--quick] [--streamed | --open]
//     --quick     skips the plan sizes, and takes seconds
//     --streamed  uses plans of this size that do not fit into a cluster, so that they are streamed
//     --open      only measures how long the GPU takes to open, which includes the verification of
//                 its kernels

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/bench.hpp"
#include "solve/gpu/device.hpp"
#include "solve/gpu/tiling.hpp"
#include "wallheat/error.hpp"

namespace {

using namespace wallheat;

void print(const GpuBench& bench) {
  std::printf("%s\n%zu plans: every bit as the CPU's\n", bench.name.c_str(), bench.compared);
  for (const Throughput& throughput : bench.flows)
    std::printf("%zu in flight: %.1f G updates/s, %.1f plans/s\n", throughput.in_flight,
                throughput.updates_per_s() * 1e-9, throughput.plans_per_s());
  for (const GridSizeRate& size : bench.sides)
    std::printf("%zu x %zu cells: GPU %.1f plans/s, %zu core(s) %.1f plans/s\n", size.side,
                size.side, size.gpu_plans_per_s, bench.cpu_cores, size.cpu_plans_per_s);
}

/// Returns the generated plans of 512 x 512 cells that do not fit into a cluster: about one in
/// sixteen.
std::vector<FloorPlan> streamed_plans() {
  std::vector<FloorPlan> plans = generate_floor_plans(320, 512);
  std::erase_if(plans, [](const FloorPlan& plan) {
    return gpu::Tiling(plan.interior, gpu::cluster_threads).blocks() <= gpu::max_cluster_blocks;
  });
  return plans;
}

GpuBenchSettings settings(bool quick, bool streamed) {
  GpuBenchSettings settings;
  settings.plans = streamed ? streamed_plans() : generate_floor_plans(64, 512);
  settings.cpu_cores = std::max(1U, std::thread::hardware_concurrency());
  settings.cpu_solver = [](std::size_t) { return make_jacobi_solver(available_isas().back()); };
  if (quick) settings.make_quick();
  settings.log = [](const std::string& what) {
    std::fprintf(stderr, "measuring %s\n", what.c_str());
  };
  return settings;
}

void measure_opening() {
  const GpuSupport support = gpu_support();
  if (support.gpus.empty()) throw RunError("no GPU to measure: " + support.reason);
  const auto start = std::chrono::steady_clock::now();
  (void)open_gpu(support.gpus.front().ordinal,
                 [](const std::string& warning) { std::fprintf(stderr, "%s\n", warning.c_str()); });
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  std::printf("opened in %.3f s\n", passed.count());
}

}  // namespace

int main(int argc, char** argv) {
  use_all_gpu_queues();
  std::set<std::string_view> options(argv + 1, argv + argc);
  const bool quick = options.erase("--quick") > 0;
  const bool streamed = options.erase("--streamed") > 0;
  const bool open = options.erase("--open") > 0;
  if (!options.empty()) {
    std::fputs("Usage: bench_gpu [--quick] [--streamed | --open]\n", stderr);
    return 2;
  }
  try {
    if (open) {
      measure_opening();
    } else {
      print(measure_first_gpu([&] { return settings(quick, streamed); }));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu: %s\n", error.what());
    return 1;
  }
}
