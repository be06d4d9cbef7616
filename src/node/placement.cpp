#include "node/placement.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "node/local_machine.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Cores = std::vector<Core>;

const Core* core_near(const Cores& cores, const Gpu& gpu) {
  const auto core = std::find_if(cores.begin(), cores.end(),
                                 [&](const Core& each) { return each.numa == gpu.numa; });
  return core == cores.end() ? nullptr : &*core;
}

/// Returns the GPU of each worker; null if it has none.
std::vector<const Gpu*> assign_gpus(const std::vector<Machine>& workers) {
  std::vector<const Gpu*> gpus(workers.size());
  std::set<std::string> taken;  // by UUID, because each process has its own numbers of GPUs
  for (std::size_t i = 0; i < workers.size(); ++i)
    for (const bool anywhere : {false, true})
      for (const Gpu& gpu : workers[i].gpus)
        if (gpus[i] == nullptr && (anywhere || core_near(workers[i].cores, gpu) != nullptr) &&
            taken.insert(gpu.uuid).second)
          gpus[i] = &gpu;
  return gpus;
}

/// Divides cores into one part per worker. If all cores are divided evenly in order, the workers
/// whose parts begin on a socket divide that socket. A socket on which no part begins goes to the
/// worker whose part begins next.
std::vector<Cores> divided(Cores cores, std::size_t workers) {
  // Neighbours share caches and memory, so a run of cores in this order is a good part.
  std::sort(cores.begin(), cores.end(), [](const Core& a, const Core& b) {
    return std::tie(a.socket, a.numa, a.cpu) < std::tie(b.socket, b.numa, b.cpu);
  });
  std::vector<Cores> parts(workers);
  for (std::size_t first = 0, end = 0; first < cores.size(); first = end) {
    while (end < cores.size() && cores[end].socket == cores[first].socket) ++end;
    const std::size_t worker = workers * first / cores.size();
    const std::size_t sharers = std::max<std::size_t>(workers * end / cores.size() - worker, 1);
    for (std::size_t k = 0; k < sharers; ++k) {
      const std::size_t from = first + k * (end - first) / sharers;
      const std::size_t to = first + (k + 1) * (end - first) / sharers;
      for (std::size_t core = from; core < std::max(from + 1, to); ++core)
        parts[worker + k].push_back(cores[core]);
    }
  }
  return parts;
}

/// Removes and returns the part that is nearest to the GPU, reduced to one socket; the first part
/// if there is no GPU.
Cores take_part(std::vector<Cores>& parts, const Gpu* gpu, const Cores& all) {
  const Core* near = gpu == nullptr ? nullptr : core_near(all, *gpu);
  const auto distance = [&](const Core& core) {
    if (near == nullptr || core.numa == near->numa) return 0;
    return core.socket == near->socket ? 1 : 2;
  };
  const auto mean_distance = [&](const Cores& part) {
    double sum = 0;
    for (const Core& core : part) sum += distance(core);
    return sum / static_cast<double>(part.size());
  };
  const auto nearest = std::min_element(parts.begin(), parts.end(), [&](auto& a, auto& b) {
    return mean_distance(a) < mean_distance(b);
  });
  Cores part = std::move(*nearest);
  parts.erase(nearest);
  if (gpu == nullptr) return part;
  std::stable_sort(part.begin(), part.end(),
                   [&](auto& a, auto& b) { return distance(a) < distance(b); });
  std::erase_if(part, [socket = part.front().socket](auto& core) { return core.socket != socket; });
  return part;
}

/// Divides cores among the workers that found the same cores.
void divide_cores(const std::vector<Machine>& workers, const std::vector<const Gpu*>& gpus,
                  std::size_t most, std::vector<Placement>& placements) {
  std::map<std::vector<int>, std::vector<std::size_t>> alike;  // by cpus
  for (const bool with_gpu : {true, false}) {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if ((gpus[i] != nullptr) != with_gpu) continue;
      std::vector<int> cpus;
      for (const Core& core : workers[i].cores) cpus.push_back(core.cpu);
      alike[cpus].push_back(i);
    }
  }
  for (const auto& [cpus, sharers] : alike) {
    const Cores& all = workers[sharers.front()].cores;
    std::vector<Cores> parts = divided(all, sharers.size());
    std::map<int, int> users;
    for (const Cores& part : parts) ++users[part.front().cpu];
    for (const std::size_t i : sharers) {
      Cores part = take_part(parts, gpus[i], all);
      placements[i].shares_cores = users[part.front().cpu] > 1;
      if (most > 0 && part.size() > most) part.resize(most);
      for (const Core& core : part) placements[i].cpus.push_back(core.cpu);
    }
  }
}

/// mpirun may have bound the workers to few cores, so that the others are idle.
void warn_about_binding(const std::vector<Machine>& workers, bool may_be_bound,
                        std::vector<Placement>& placements) {
  std::set<int> usable;
  int most = 0;
  for (const Machine& worker : workers) {
    for (const Core& core : worker.cores) usable.insert(core.cpu);
    most = std::max(most, worker.host_cores);
  }
  if (2 * static_cast<int>(usable.size()) > most) return;
  for (Placement& placement : placements)
    placement.core_limit_reason =
        "the workers on its host may use only " + std::to_string(usable.size()) + " of its " +
        std::to_string(most) + " cores, " +
        (may_be_bound ? "because they were bound at their start; use mpirun --bind-to "
                        "none to use all cores"
                      : "because of a batch job, a container or taskset");
}

/// Divides CPU time for `cpus` threads among workers, in proportion to their present numbers of
/// threads, and at least one thread each. Calls limit(placement, threads) for each worker that gets
/// fewer threads than it has.
void divide_threads(double cpus, const std::vector<Placement*>& members,
                    const std::function<void(Placement&, int)>& limit) {
  double all = 0;
  for (const Placement* member : members) all += static_cast<double>(solver_count(*member));
  double before = 0;  // threads of the members before
  for (Placement* const member : members) {
    const auto own = static_cast<double>(solver_count(*member));
    const double from = std::ceil(cpus * before / all);
    before += own;
    const double share = std::max(std::ceil(cpus * before / all) - from, 1.0);
    if (share < own) limit(*member, static_cast<int>(share));
  }
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Limits the threads of workers to the cores of their job, if the workers may use more cores. Then
/// cores are not assigned to workers, so all workers get equal numbers of threads.
void apply_job_cores(const std::vector<Machine>& workers, int threads_per_worker,
                     std::vector<Placement>& placements) {
  std::vector<Placement*> members;
  std::set<int> usable;
  JobCores job;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Machine& worker = workers[i];
    if (worker.job_cores.count == 0) continue;
    members.push_back(&placements[i]);
    for (const Core& core : worker.cores) usable.insert(core.cpu);
    if (worker.job_cores.count > job.count) job = worker.job_cores;
  }
  if (static_cast<std::size_t>(job.count) >= usable.size()) return;
  const bool is_limited = threads_per_worker == 0;
  const std::string source = "the job has " + std::to_string(job.count) + " of the " +
                             counted(usable.size(), "core") + " of its host (" + job.source +
                             "), for " + counted(members.size(), "worker");
  for (Placement* const member : members) {
    member->threads = static_cast<int>(is_limited ? usable.size() : solver_count(*member));
    member->shares_cores = false;
    if (member->gpu) continue;  // its cores stay near the GPU
    member->cpus.assign(usable.begin(), usable.end());
    if (is_limited) member->thread_count_source = source;
  }
  if (is_limited)
    divide_threads(job.count, members,
                   [](Placement& placement, int threads) { placement.threads = threads; });
}

/// Limits the threads of workers without a GPU to the CPU time of their cgroup.
void apply_quotas(const std::vector<Machine>& workers, std::vector<Placement>& placements) {
  std::map<std::uint64_t, std::pair<double, std::vector<Placement*>>> groups;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (placements[i].gpu) continue;
    for (const CpuQuota& quota : workers[i].quotas) {
      groups[quota.cgroup_id].first = quota.cpus;
      groups[quota.cgroup_id].second.push_back(&placements[i]);
    }
  }
  for (const auto& [number, group] : groups) {
    const auto& [cpus, members] = group;
    std::ostringstream quota;
    quota << "a CPU quota of " << cpus << " for " << counted(members.size(), "worker");
    divide_threads(cpus, members, [&](Placement& placement, int threads) {
      placement.threads = threads;
      placement.core_limit_reason =
          quota.str() + " limits it to " + counted(static_cast<std::size_t>(threads), "thread");
    });
  }
}

}  // namespace

std::vector<Placement> place_workers(const std::vector<Machine>& workers, DeviceChoice device,
                                     int threads_per_worker, bool may_be_bound) {
  std::vector<Placement> placements(workers.size());
  std::vector<const Gpu*> gpus(workers.size());
  if (device != DeviceChoice::cpu) gpus = assign_gpus(workers);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Machine& worker = workers[i];
    if (gpus[i] != nullptr) {
      placements[i].gpu = gpus[i]->ordinal;
      continue;
    }
    if (device == DeviceChoice::gpu) {
      const auto without = static_cast<std::size_t>(std::count(gpus.begin(), gpus.end(), nullptr));
      throw RunError("worker " + std::to_string(i + 1) + " on host " + worker.host +
                     " has no GPU (" + std::to_string(workers.size() - without) +
                     " usable by the " + std::to_string(workers.size()) + " workers there" +
                     (worker.gpus.empty() && !worker.no_gpu_reason.empty()
                          ? "; " + worker.no_gpu_reason
                          : "") +
                     "); start at most one worker per GPU, or use the CPU as well");
    }
    if (device != DeviceChoice::cpu)
      placements[i].no_gpu_reason =
          worker.gpus.empty() ? worker.no_gpu_reason : "other workers on its host use all GPUs";
  }
  divide_cores(workers, gpus, static_cast<std::size_t>(threads_per_worker), placements);
  warn_about_binding(workers, may_be_bound, placements);
  apply_job_cores(workers, threads_per_worker, placements);
  apply_quotas(workers, placements);
  return placements;
}

std::size_t default_thread_count() {
  return solver_count(place_workers({local_machine()}, DeviceChoice::cpu, 0).front());
}

}  // namespace wallheat
