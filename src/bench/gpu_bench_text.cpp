#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "bench/gpu_bench.hpp"

namespace wallheat {
namespace {

/// Lines of text; printf's formats, as a bare machine has no library for better ones.
class Text {
 public:
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    char line[512];
    const int size = std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (size > 0) text_.append(line);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// As a table has it: "-" where NVML told nothing.
std::string busy(const GpuUsage& usage) {
  const double mean = usage.utilisation_pct.mean();
  return std::isnan(mean) ? "-" : std::to_string(std::lround(mean)) + " %";
}

void add_flow(Text& text, const GpuBench& bench, const Flow& flow) {
  const double rate = flow.updates_per_s();
  text.add("%9zu  %11.1f  %8.1f  %9.1f %%  %11.1f %%  %9.1f x  %6s\n", flow.in_flight, rate * 1e-9,
           flow.plans_per_s(), 100 * rate / bench.ceiling.updates_by_fp64(),
           100 * rate / bench.ceiling.updates_by_shared_memory(),
           rate / GpuBench::best(bench.baseline).updates_per_s(), busy(flow.gpu).c_str());
}

void add_flows(Text& text, const GpuBench& bench) {
  const char* header = "%9s  %11s  %8s  %11s  %13s  %11s  %6s\n";
  text.add("\nplans from memory, solved only; the baseline: one launch per iteration\n");
  text.add(header, "in flight", "G updates/s", "plans/s", "of FP64", "of shared mem", "of baseline",
           "busy");
  for (const Flow& flow : bench.baseline) add_flow(text, bench, flow);
  text.add("%9s\n", "GPU");
  for (const Flow& flow : bench.flows) add_flow(text, bench, flow);
  for (const auto& [name, flow] : bench.by_kernel) {
    text.add("the kernel %s for all that it holds\n", name.c_str());
    add_flow(text, bench, flow);
  }
  text.add("end to end, from %s: read, solved and summarised, %zu at a time\n",
           bench.end_to_end_source.c_str(), bench.end_to_end.in_flight);
  add_flow(text, bench, bench.end_to_end);
}

void add_break_even(Text& text, const GpuBench& bench) {
  if (bench.sides.empty()) return;
  text.add("\nthe GPU against %zu core(s); plans from memory, solved and summarised\n",
           bench.cpu_cores);
  text.add("%12s  %12s  %12s  %8s\n", "side, cells", "GPU plans/s", "CPU plans/s", "GPU/CPU");
  for (const SideRate& rate : bench.sides) {
    text.add("%12zu  %12.1f  %12.1f  %8.2f\n", rate.side, rate.gpu_plans_per_s,
             rate.cpu_plans_per_s, rate.gpu_plans_per_s / rate.cpu_plans_per_s);
  }
  if (std::isnan(bench.break_even_side)) {
    text.add("the GPU is behind up to the largest of these\n");
  } else {
    text.add("the GPU is ahead from %.0f x %.0f cells on\n", bench.break_even_side,
             bench.break_even_side);
  }
}

/// When a transfer pays, by what was measured.
void add_offload(Text& text, const GpuBench& bench) {
  constexpr double operations = 4;  // of an update: three additions and a multiplication
  constexpr double bytes = 8;
  const auto values = [&](Offload offload, double times) {
    offload.start_s = 0;
    return operations * break_even_operations(offload, times * bytes);
  };
  const Offload pageable = bench.offload(false);
  const Offload pinned = bench.offload(true);
  text.add(
      "\nwhen a transfer to the GPU pays: B %.1f GB/s pageable, %.1f pinned; C %.1f, G %.1f "
      "Gflop/s (four for an update)\n",
      pageable.bytes_per_s * 1e-9, pinned.bytes_per_s * 1e-9, operations * pinned.cpu_per_s * 1e-9,
      operations * pinned.gpu_per_s * 1e-9);
  text.add("from %.3g operations a double on one way, %.3g both ways (pinned %.3g, %.3g)\n",
           values(pageable, 1), values(pageable, 2), values(pinned, 1), values(pinned, 2));
  if (bench.sides.empty()) return;
  text.add("so plans pay from %zu x %zu cells on (%.0f us to start one)\n",
           break_even_plan_side(pageable), break_even_plan_side(pageable), pageable.start_s * 1e6);
}

void add_kernels(Text& text, const GpuBench& bench) {
  if (bench.kernels.empty()) return;
  text.add("\nkernels (kind, tile, threads of a block at most) and what they did in all this\n");
  text.add("%-24s  %9s  %9s  %11s  %9s  %9s  %9s  %9s\n", "kernel", "registers", "spilled B",
           "shared KiB", "blocks/MP", "occupancy", "launches", "seconds");
  for (const GpuKernel& kernel : bench.kernels)
    text.add("%-24s  %9d  %9zu  %11.1f  %9d  %7.0f %%  %9lld  %9.3f\n", kernel.name.c_str(),
             kernel.registers, kernel.spilled_bytes,
             static_cast<double>(kernel.shared_bytes) / 1024, kernel.blocks_a_multiprocessor,
             100 * kernel.occupancy, static_cast<long long>(kernel.launches), kernel.seconds);
}

}  // namespace

std::string to_text(const GpuBench& bench) {
  Text text;
  text.add("device    %s\n", bench.name.c_str());
  text.add("ceiling   %.1f G cell updates/s by %.2f T FP64 additions/s: four for an update\n",
           bench.ceiling.updates_by_fp64() * 1e-9, bench.ceiling.fp64_additions_per_s * 1e-12);
  text.add(
      "ceiling   %.1f G cell updates/s by %.2f TB/s of shared memory: 8 bytes read and 8 written\n",
      bench.ceiling.updates_by_shared_memory() * 1e-9, bench.ceiling.shared_bytes_per_s * 1e-12);
  const GpuCopies& copies = bench.copies;
  text.add(
      "copies    GB/s: up %.1f pageable, %.1f pinned, %.1f mapped (by a kernel); down %.1f "
      "pageable, %.1f pinned, %.1f mapped\n",
      copies.up_pageable * 1e-9, copies.up_pinned * 1e-9, copies.up_mapped * 1e-9,
      copies.down_pageable * 1e-9, copies.down_pinned * 1e-9, copies.down_mapped * 1e-9);
  text.add("compared  %zu plans: every bit as the CPU's\n", bench.compared);
  add_flows(text, bench);
  text.add("\na plan alone\n%12s  %12s  %12s  %8s\n", "plan number", "GPU ms", "one core ms",
           "GPU/core");
  for (const AloneTime& time : bench.alone) {
    text.add("%12zu  %12.2f  %12.2f  %6.1f x\n", time.plan, time.gpu_s * 1e3, time.cpu_core_s * 1e3,
             time.cpu_core_s / time.gpu_s);
  }
  text.add("%12s  %12s  %12s  %6.1f x\n", "all", "", "", bench.speedup_alone());
  add_break_even(text, bench);
  add_offload(text, bench);
  add_kernels(text, bench);
  return text.take();
}

}  // namespace wallheat
