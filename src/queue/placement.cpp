#include "queue/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr int no_limit = std::numeric_limits<int>::max();

/// Processes number their GPUs on their own; only the uuid says whether two mean the same one.
std::string identity(const Gpu& gpu) {
  return gpu.uuid.empty() ? "ordinal " + std::to_string(gpu.ordinal) : gpu.uuid;
}

/// Deals the cores and GPUs of one system. Within this class workers and cores are named by their
/// position in workers_ and cores_.
class HostDealer {
 public:
  HostDealer(const std::vector<Machine>& all, const std::vector<std::size_t>& ranks,
             int threads_per_worker, bool may_be_bound, std::vector<Placement>& placements)
      : may_be_bound_(may_be_bound),
        thread_limit_(threads_per_worker > 0 ? threads_per_worker : no_limit) {
    for (const std::size_t rank : ranks)
      workers_.push_back({rank, all[rank], placements[rank], {}, {}, nullptr});
    list_cores();
  }

  void deal(DeviceChoice device) {
    if (device != DeviceChoice::cpu) deal_gpus();
    if (device == DeviceChoice::gpu) require_gpus();
    const std::map<int, Workers> residents = deal_sockets();
    deal_free_cores([&](int socket) { return residents.at(socket); });
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      if (workers_[worker].core_count > 0) continue;
      std::vector<bool> tried(cores_.size(), false);
      obtain_core(worker, tried);
    }
    // What no resident of the socket may use, by its cpuset or by the limit, goes to those who may:
    // last, so that no core taken from one worker leaves another idle.
    deal_free_cores([anyone = those(false)](int) { return anyone; });
    write();
    warn_of_binding();
    apply_quotas();
  }

 private:
  using Cores = std::vector<std::size_t>;
  using Workers = std::vector<std::size_t>;
  struct Worker {
    std::size_t rank;  ///< its number in the whole job
    const Machine& machine;
    Placement& placement;
    Cores usable;    ///< ascending
    int core_count;  ///< of those that it owns
    const Gpu* gpu;  ///< as it numbers it
    [[nodiscard]] bool may_use(std::size_t core) const {
      return std::binary_search(usable.begin(), usable.end(), core);
    }
  };
  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

  void list_cores() {
    std::map<int, Core> by_cpu;  // the first worker to report a core says where it is
    for (const Worker& worker : workers_) {
      for (const Core& core : worker.machine.cores) by_cpu.emplace(core.cpu, core);
    }
    for (const auto& [cpu, core] : by_cpu) cores_.push_back(core);
    // Neighbours share caches and memory, so that a run of cores in this order makes a good share.
    std::sort(cores_.begin(), cores_.end(), [](const Core& a, const Core& b) {
      return std::tie(a.socket, a.numa, a.cpu) < std::tie(b.socket, b.numa, b.cpu);
    });
    owner_.assign(cores_.size(), nobody);
    for (Worker& worker : workers_) {
      if (worker.machine.cores.empty()) {
        throw RunError("worker " + std::to_string(worker.rank) + " on host " + worker.machine.host +
                       " was given no core to run on, so start fewer workers there");
      }
      std::set<int> mine;
      for (const Core& core : worker.machine.cores) mine.insert(core.cpu);
      for (std::size_t core = 0; core < cores_.size(); ++core)
        if (mine.contains(cores_[core].cpu)) worker.usable.push_back(core);
    }
  }

  // --- GPUs -------------------------------------------------------------------------------------

  void deal_gpus() {
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      std::set<std::string> tried;
      obtain_gpu(worker, tried);
    }
  }

  /// Finds `worker` a GPU: a free one near its cores, else any free one, else one whose holder can
  /// change to another. Nobody loses a GPU by that, so the workers served are the first of the
  /// host.
  bool obtain_gpu(std::size_t number, std::set<std::string>& tried) {
    Worker& worker = workers_[number];
    const auto is_near = [&](const Gpu* gpu) {
      return std::any_of(worker.usable.begin(), worker.usable.end(),
                         [&](std::size_t core) { return cores_[core].numa == gpu->numa; });
    };
    std::vector<const Gpu*> wanted;
    for (const Gpu& gpu : worker.machine.gpus) wanted.push_back(&gpu);
    std::stable_partition(wanted.begin(), wanted.end(), is_near);
    const auto take = [&](const Gpu& gpu) {
      holder_[identity(gpu)] = number;
      worker.gpu = &gpu;
      return true;
    };
    for (const Gpu* gpu : wanted) {
      if (!holder_.contains(identity(*gpu))) return take(*gpu);
    }
    for (const Gpu* gpu : wanted) {
      if (!tried.insert(identity(*gpu)).second) continue;
      if (obtain_gpu(holder_.at(identity(*gpu)), tried)) return take(*gpu);
    }
    return false;
  }

  void require_gpus() const {
    for (const auto& [rank, machine, placement, usable, core_count, gpu] : workers_) {
      if (gpu != nullptr) continue;
      throw RunError(
          "worker " + std::to_string(rank) + " on host " + machine.host +
          " gets no GPU of its own (" + std::to_string(holder_.size()) + " usable for the " +
          std::to_string(workers_.size()) + " workers there" +
          (machine.gpus.empty() && !machine.no_gpu.empty() ? "; " + machine.no_gpu : "") +
          "), so start at most one worker for each GPU or let the CPU solve as well");
    }
  }

  // --- cores ------------------------------------------------------------------------------------

  [[nodiscard]] bool is_near_gpu(const Worker& worker, std::size_t core) const {
    return worker.gpu != nullptr && worker.gpu->numa == cores_[core].numa;
  }

  /// The workers with a GPU or those without, those with the least choice first, so that the others
  /// can keep out of their way.
  [[nodiscard]] Workers those(bool with_gpu) const {
    Workers chosen;
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      if ((workers_[worker].gpu != nullptr) == with_gpu) chosen.push_back(worker);
    }
    std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
      return workers_[a].usable.size() < workers_[b].usable.size();
    });
    return chosen;
  }

  /// The cores that `worker` may use and that are right for it, counted by socket: those near its
  /// GPU, else all.
  [[nodiscard]] std::map<int, int> choices_by_socket(const Worker& worker) const {
    std::map<int, int> all;
    std::map<int, int> near;
    for (const std::size_t core : worker.usable) {
      ++all[cores_[core].socket];
      if (is_near_gpu(worker, core)) ++near[cores_[core].socket];
    }
    return near.empty() ? all : near;
  }

  /// The workers of each socket. Each worker gets the one that promises it most cores. GPU workers,
  /// who have the least choice, come first. Where there are fewer workers than sockets, the others
  /// go as a whole to a CPU worker as its second, third, ...
  [[nodiscard]] std::map<int, Workers> deal_sockets() const {
    std::map<int, Workers> residents;
    for (const Core& core : cores_) residents[core.socket];
    std::map<std::size_t, std::size_t> sockets_of;
    std::map<int, std::map<std::size_t, int>> offers;  // socket -> CPU worker -> cores for it there
    for (const bool with_gpu : {true, false}) {
      for (const std::size_t worker : those(with_gpu)) {
        int best = 0;
        double best_share = 0;
        for (const auto& [socket, count] : choices_by_socket(workers_[worker])) {
          if (!with_gpu) offers[socket][worker] = count;
          const double share = count / static_cast<double>(residents[socket].size() + 1);
          if (share > best_share) std::tie(best, best_share) = std::tuple(socket, share);
        }
        residents[best].push_back(worker);
        ++sockets_of[worker];
      }
    }
    for (const auto& [socket, count_for] : offers) {
      if (!residents[socket].empty()) continue;
      const auto taker =
          std::max_element(count_for.begin(), count_for.end(), [&](const auto& a, const auto& b) {
            return std::tuple(a.second, sockets_of[b.first]) <
                   std::tuple(b.second, sockets_of[a.first]);
          });
      residents[socket].push_back(taker->first);
      ++sockets_of[taker->first];
    }
    return residents;
  }

  /// Deals every free core to one of the candidates for its socket that may use it and want more.
  /// Cores open to the same workers are dealt together, those with the least choice first.
  void deal_free_cores(const std::function<Workers(int socket)>& candidates) {
    std::map<std::tuple<std::size_t, int, Workers>, Cores> groups;
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      if (owner_[core] != nobody) continue;
      Workers takers = candidates(cores_[core].socket);
      std::erase_if(takers, [&](std::size_t worker) { return !workers_[worker].may_use(core); });
      std::sort(takers.begin(), takers.end());
      if (!takers.empty()) groups[{takers.size(), cores_[core].socket, takers}].push_back(core);
    }
    for (const auto& [key, cores] : groups) deal_cores(cores, std::get<Workers>(key));
  }

  /// Deals so many one by one, each to the first of those that have least and may have more.
  static void deal_evenly(double count, std::map<std::size_t, int>& has,
                          const std::function<int(std::size_t worker)>& most) {
    for (double dealt = 0; dealt < count; ++dealt) {
      int* least = nullptr;
      for (auto& [worker, number] : has) {
        if (number < most(worker) && (least == nullptr || number < *least)) least = &number;
      }
      if (least == nullptr) return;
      ++*least;
    }
  }

  /// Evens out the takers' totals, then gives each its part as one run of neighbouring cores; GPU
  /// workers choose first, those near their GPU.
  void deal_cores(const Cores& cores, const Workers& takers) {
    std::map<std::size_t, int> totals;
    for (const std::size_t worker : takers) totals[worker] = workers_[worker].core_count;
    deal_evenly(static_cast<double>(cores.size()), totals,
                [&](std::size_t) { return thread_limit_; });
    for (const bool with_gpu : {true, false}) {
      for (const auto& [worker, total] : totals) {
        const Worker& taker = workers_[worker];
        if ((taker.gpu != nullptr) != with_gpu) continue;
        Cores free = cores;
        std::erase_if(free, [&](std::size_t core) { return owner_[core] != nobody; });
        std::stable_partition(free.begin(), free.end(),
                              [&](std::size_t core) { return is_near_gpu(taker, core); });
        for (auto core = free.begin(); taker.core_count < total; ++core) give(*core, worker);
      }
    }
  }

  void give(std::size_t core, std::size_t worker) {
    if (owner_[core] != nobody) --workers_[owner_[core]].core_count;
    owner_[core] = worker;
    ++workers_[worker].core_count;
  }

  /// Finds a core for a worker that the dealing above left without one: a free core, else one of a
  /// worker that has several (the richest), else one whose owner can find itself another in the
  /// same way. Owners keep at least one core; false means that there are too few cores to go round.
  bool obtain_core(std::size_t worker, std::vector<bool>& tried) {
    const Cores& mine = workers_[worker].usable;
    const auto rank_offer = [&](std::size_t core) {
      const int spare = owner_[core] == nobody ? no_limit : workers_[owner_[core]].core_count;
      return std::tuple(spare, is_near_gpu(workers_[worker], core));
    };
    const auto best = std::max_element(mine.begin(), mine.end(), [&](std::size_t a, std::size_t b) {
      return rank_offer(a) < rank_offer(b);
    });
    if (std::get<0>(rank_offer(*best)) > 1) {
      give(*best, worker);
      return true;
    }
    for (const std::size_t core : mine) {
      if (tried[core]) continue;
      tried[core] = true;
      if (owner_[core] != worker && obtain_core(owner_[core], tried)) {
        give(core, worker);
        return true;
      }
    }
    return false;
  }

  // --- result -----------------------------------------------------------------------------------

  void write() {
    std::vector<Workers> users(cores_.size());
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      if (owner_[core] != nobody) users[core].push_back(owner_[core]);
    }
    for (std::size_t number = 0; number < workers_.size(); ++number) {
      const Worker& worker = workers_[number];
      if (worker.gpu != nullptr) worker.placement.gpu = worker.gpu->ordinal;
      if (worker.core_count > 0) continue;
      const auto quietest = *std::min_element(
          worker.usable.begin(), worker.usable.end(), [&](std::size_t a, std::size_t b) {
            return std::tuple(users[a].size(), !is_near_gpu(worker, a)) <
                   std::tuple(users[b].size(), !is_near_gpu(worker, b));
          });
      users[quietest].push_back(number);
    }
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      for (const std::size_t worker : users[core]) {
        Placement& share = workers_[worker].placement;
        share.cpus.push_back(cores_[core].cpu);
        share.shared = share.shared || users[core].size() > 1;
      }
    }
  }

  /// mpirun may have bound workers to few cores, and then the others stay idle.
  void warn_of_binding() const {
    int most = 0;
    for (const Worker& worker : workers_) most = std::max(most, worker.machine.host_cores);
    const auto usable = static_cast<int>(cores_.size());
    if (2 * usable > most) return;
    for (const Worker& worker : workers_) {
      worker.placement.limit = "the workers of its host may use only " + std::to_string(usable) +
                               " of its " + std::to_string(most) + " cores, " +
                               (may_be_bound_ ? "as they were bound when they were started; "
                                                "mpirun --bind-to none leaves them all"
                                              : "as a batch job, a container or taskset leaves "
                                                "them no more");
    }
  }

  /// Small groups first, so that what their members cannot use goes to others of the large ones.
  void apply_quotas() const {
    struct Group {
      double cpus = std::numeric_limits<double>::infinity();
      Workers members;
    };
    std::map<std::uint64_t, Group> groups;
    for (const std::size_t worker : those(false)) {
      for (const CpuQuota& quota : workers_[worker].machine.quotas) {
        Group& group = groups[quota.group];
        group.cpus = std::min(group.cpus, quota.cpus);
        group.members.push_back(worker);
      }
    }
    std::multimap<std::size_t, const Group*> by_size;
    for (const auto& [number, group] : groups) by_size.emplace(group.members.size(), &group);
    for (const auto& [size, group] : by_size) apply_quota(group->cpus, group->members);
  }

  void apply_quota(double cpus, const Workers& members) const {
    std::map<std::size_t, int> share;
    for (const std::size_t worker : members) share[worker] = 1;
    const auto threads_of = [&](std::size_t worker) {
      const Placement& placement = workers_[worker].placement;
      return placement.threads.value_or(static_cast<int>(placement.cpus.size()));
    };
    deal_evenly(cpus - static_cast<double>(members.size()), share, threads_of);
    for (const auto& [worker, threads] : share) {
      if (threads >= threads_of(worker)) continue;
      std::ostringstream clause;
      clause << "a CPU quota of " << cpus << " for " << members.size()
             << (members.size() == 1 ? " worker" : " workers") << " lets it have " << threads
             << (threads == 1 ? " thread" : " threads");
      workers_[worker].placement.threads = threads;
      workers_[worker].placement.limit = clause.str();
    }
  }

  bool may_be_bound_;
  int thread_limit_;
  std::vector<Worker> workers_;
  std::vector<Core> cores_;                    ///< every core of the host that some worker may use
  std::vector<std::size_t> owner_;             ///< per core
  std::map<std::string, std::size_t> holder_;  ///< GPU's identity -> worker
};

/// Workers with the same one share cores and GPUs.
std::pair<bool, std::string> system_key(const Machine& machine) {
  const bool named = machine.system.empty();
  return {named, named ? machine.host : machine.system};
}

}  // namespace

std::vector<Placement> place_workers(const std::vector<Machine>& workers, DeviceChoice device,
                                     int threads_per_worker, bool may_be_bound) {
  std::map<std::pair<bool, std::string>, std::vector<std::size_t>> ranks_by_system;
  for (std::size_t i = 0; i < workers.size(); ++i)
    ranks_by_system[system_key(workers[i])].push_back(i);
  std::vector<Placement> placements(workers.size());
  for (const auto& [system, ranks] : ranks_by_system)
    HostDealer(workers, ranks, threads_per_worker, may_be_bound, placements).deal(device);
  return placements;
}

}  // namespace wallheat
