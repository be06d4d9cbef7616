// The measurements of `wallheat bench --device gpu` for a machine that has a GPU and a compiler
// only: throughput of the first GPU for 64 plans of 512 x 512 cells, and its speed compared with
// the cores for several plan sizes.
//
//   bench_gpu [--quick]     --quick skips the plan sizes and takes seconds

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <thread>

#include "bench/bench.hpp"
#include "solve/gpu/device.hpp"

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

GpuBenchSettings settings(bool quick) {
  GpuBenchSettings settings;
  settings.plans = generate_floor_plans(64, 512);
  settings.cpu_cores = std::max(1U, std::thread::hardware_concurrency());
  settings.cpu_solver = [](std::size_t) { return make_jacobi_solver(available_isas().back()); };
  if (quick) settings.make_quick();
  settings.log = [](const std::string& what) {
    std::fprintf(stderr, "measuring %s\n", what.c_str());
  };
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  use_all_gpu_queues();
  const bool quick = argc == 2 && argv[1] == std::string_view("--quick");
  if (argc > 1 && !quick) {
    std::fputs("Usage: bench_gpu [--quick]\n", stderr);
    return 2;
  }
  try {
    print(measure_first_gpu([&] { return settings(quick); }));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu: %s\n", error.what());
    return 1;
  }
}
