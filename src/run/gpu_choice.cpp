#include "run/gpu_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "node/local_machine.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr const char* gpu_prefix = "gpu ";

}  // namespace

void MeasuredGpus::add(const PlanResult& row) {
  if (!row.device.starts_with(gpu_prefix) || !is_answer(row.status) || std::isnan(row.started_s))
    return;
  const double end_s = row.started_s + row.seconds;
  const auto [place, is_new] = sessions_.try_emplace({row.device, row.session, row.rank},
                                                     Session{0, 0, row.started_s, end_s});
  Session& session = place->second;
  ++session.plans;
  session.updates += static_cast<double>(row.interior_cells) * static_cast<double>(row.iterations);
  session.start_s = std::min(session.start_s, row.started_s);
  session.end_s = std::max(session.end_s, end_s);
}

double MeasuredGpus::updates_per_s(const std::string& name) const {
  constexpr std::size_t enough = 256;  // fewer may not have filled it
  double best = 0;
  for (const auto& [key, session] : sessions_)
    if (std::get<0>(key) == gpu_prefix + name && session.plans >= enough &&
        session.end_s > session.start_s)
      best = std::max(best, session.updates / (session.end_s - session.start_s));
  return best;
}

void GpuChoice::look_at(const PlanSource& source, std::size_t plans,
                        const std::function<std::string(std::size_t)>& id_of) {
  // Evenly over the list, as the largest may come first.
  const std::size_t looks = std::min<std::size_t>(16, plans);
  for (std::size_t look = 0; look < looks; ++look) {
    const std::string& id = id_of(look * plans / looks);
    try {
      shapes.push_back(source.shape(id));
      any_source = any_source || source.has_source(id);
    } catch (const InputError&) {
      // The worker that gets it reports what is wrong with it.
    }
  }
}

DeviceVerdict GpuChoice::verdict(const Machine& machine, const Gpu& gpu, std::size_t cores) const {
  const double seen = measured.updates_per_s(gpu.name);
  return compare_devices({.gpu_updates_per_s = seen > 0 ? seen : gpu.updates_per_s,
                          .gpu_measured = seen > 0,
                          .core_updates_per_s = machine.core_updates_per_s,
                          .cores = cores},
                         shapes);
}

WhyNoGpu GpuChoice::why_no_gpu() const {
  return [choice = *this](const Machine& machine, const Gpu& gpu, std::size_t cores) {
    const DeviceVerdict verdict = choice.verdict(machine, gpu, cores);
    if (verdict.takes_gpu()) return std::string();
    return fmt::format("{} {}, so the CPU solves them; --device gpu takes the GPU all the same",
                       gpu.name, verdict.why());
  };
}

std::string GpuChoice::who_solves(const Machine& machine, int threads_per_worker) const {
  if (machine.gpus.empty()) return "the CPU: " + machine.no_gpu;
  // A process without MPI has a worker for each GPU.
  std::vector<Machine> workers(machine.gpus.size(), machine);
  const auto on_cpu = place_workers(workers, DeviceChoice::cpu, threads_per_worker).front();
  const auto placements = place_where_gpus_pay(workers, why_no_gpu(), threads_per_worker);
  const auto used = std::count_if(placements.begin(), placements.end(),
                                  [](const Placement& worker) { return worker.gpu.has_value(); });
  if (used == 0) return "the CPU: " + workers.front().no_gpu;
  const Gpu& gpu = workers.front().gpus.front();
  return fmt::format("{} of {} GPU(s): {} {}", used, machine.gpus.size(), gpu.name,
                     verdict(machine, gpu, on_cpu.cpus.size()).why());
}

Machine machine_for(DeviceChoice device, Isa isa) {
  Machine machine = local_machine();
  if (machine.gpus.empty() || device != DeviceChoice::automatic) return machine;
  machine.core_updates_per_s = measure_core_updates_per_s(isa);
  for (Gpu& gpu : machine.gpus)
    gpu.updates_per_s = expected_gpu_updates_per_s(gpu_properties(gpu.ordinal));
  return machine;
}

}  // namespace wallheat
