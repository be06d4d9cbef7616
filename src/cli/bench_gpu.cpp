#include "cli/bench_gpu.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "view/gpu_text.hpp"

namespace wallheat {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Flow& flow, const GpuBench& bench) {
  const double rate = flow.updates_per_s();
  Json json{{"in_flight", flow.in_flight},
            {"plans", flow.plans},
            {"seconds", flow.seconds},
            {"plans_per_s", flow.plans_per_s()},
            {"updates_per_s", rate},
            {"share_of_fp64", rate / bench.ceiling.updates_by_fp64()},
            {"share_of_shared_memory", rate / bench.ceiling.updates_by_shared_memory()},
            {"of_baseline", rate / GpuBench::best(bench.baseline).updates_per_s()}};
  if (flow.gpu.samples > 0) json["gpu"] = to_json(flow.gpu, flow.plans);
  return json;
}

/// The cores that share the socket of the first.
std::vector<int> cpus_of_a_socket() {
  const Machine machine = local_machine();
  std::vector<int> cpus;
  for (const Core& core : machine.cores)
    if (core.socket == machine.cores.front().socket) cpus.push_back(core.cpu);
  return cpus;
}

}  // namespace

std::string to_json_text(const GpuBench& bench) {
  Json json{{"device", bench.name},
            {"fp64_additions_per_s", bench.ceiling.fp64_additions_per_s},
            {"shared_bytes_per_s", bench.ceiling.shared_bytes_per_s},
            {"ceiling_updates_per_s_by_fp64", bench.ceiling.updates_by_fp64()},
            {"ceiling_updates_per_s_by_shared_memory", bench.ceiling.updates_by_shared_memory()}};
  for (const Flow& flow : bench.baseline) json["baseline"].push_back(to_json(flow, bench));
  for (const Flow& flow : bench.flows) json["flows"].push_back(to_json(flow, bench));
  json["end_to_end"] = to_json(bench.end_to_end, bench);
  json["end_to_end"]["source"] = bench.end_to_end_source;
  for (const AloneTime& time : bench.alone) {
    json["alone"].push_back(
        {{"plan", time.plan}, {"gpu_s", time.gpu_s}, {"cpu_core_s", time.cpu_core_s}});
  }
  json["speedup_alone"] = bench.speedup_alone();
  json["cpu_cores"] = bench.cpu_cores;
  for (const SideRate& rate : bench.sides) {
    json["sides"].push_back({{"side", rate.side},
                             {"gpu_plans_per_s", rate.gpu_plans_per_s},
                             {"cpu_plans_per_s", rate.cpu_plans_per_s}});
  }
  json["break_even_side"] =
      std::isnan(bench.break_even_side) ? Json(nullptr) : Json(bench.break_even_side);
  return json.dump(1) + "\n";
}

void bench_gpu(const SolverOptions& solver, const std::function<GpuBenchPlans()>& plans,
               bool json) {
  const Gpu gpu = gpu_to_measure();
  const std::vector<int> cpus = cpus_of_a_socket();
  GpuBenchPlans given = plans();
  GpuBenchSettings settings;
  settings.limits = solver.limits;
  settings.most_in_flight = given.in_memory.size();
  settings.plans = std::move(given.in_memory);
  settings.files = std::move(given.files);
  settings.cpu_cores = cpus.size();
  settings.cpu_solver = [&](std::size_t thread) {
    bind_this_thread({cpus.at(thread)});
    return solver.make();
  };
  settings.tell = [](const std::string& what) { print_error("measuring {}", what); };
  const GpuBench bench = measure_gpu(gpu, settings);
  if (json) {
    fmt::print("{}", to_json_text(bench));
  } else {
    fmt::print("{}", to_text(bench));
  }
}

}  // namespace wallheat
