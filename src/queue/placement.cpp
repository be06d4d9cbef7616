#include "queue/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr int nobody = -1;

/// Deals the cores and GPUs of one system. Within this class workers, cores and GPUs are named by
/// their position in workers_, cores_ and the list of distinct GPUs.
class HostDealer {
 public:
  HostDealer(const std::vector<Machine>& all, std::vector<int> ranks, int threads_per_worker,
             bool may_be_bound)
      : ranks_(std::move(ranks)),
        may_be_bound_(may_be_bound),
        thread_limit_(threads_per_worker > 0 ? threads_per_worker
                                             : std::numeric_limits<int>::max()) {
    for (const int rank : ranks_) workers_.push_back(&all[static_cast<std::size_t>(rank)]);
    list_cores();
    gpu_of_.resize(workers_.size(), nullptr);
    core_count_.resize(workers_.size(), 0);
  }

  void deal(DeviceChoice device, std::vector<Placement>& placements) {
    if (device != DeviceChoice::cpu) deal_gpus();
    if (device == DeviceChoice::gpu) require_gpus();
    deal_sockets();
    deal_cores_of_sockets();
    for (int worker = 0; worker < size(); ++worker) {
      if (core_count(worker) > 0) continue;
      std::vector<bool> tried(cores_.size(), false);
      obtain_core(worker, tried);
    }
    deal_left_over_cores();  // last, so that no core taken from one worker leaves another idle
    write(placements);
  }

 private:
  using Cores = std::vector<std::size_t>;
  using Workers = std::vector<int>;

  [[nodiscard]] int size() const { return static_cast<int>(workers_.size()); }
  int& core_count(int worker) { return core_count_[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] const Gpu* gpu_of(int worker) const {
    return gpu_of_[static_cast<std::size_t>(worker)];
  }
  [[nodiscard]] const Cores& usable(int worker) const {
    return usable_[static_cast<std::size_t>(worker)];
  }

  [[nodiscard]] bool may_use(int worker, std::size_t core) const {
    return std::binary_search(usable(worker).begin(), usable(worker).end(), core);
  }

  void give(std::size_t core, int worker) {
    if (owner_[core] != nobody) --core_count(owner_[core]);
    owner_[core] = worker;
    ++core_count(worker);
  }

  void list_cores() {
    std::map<int, Core> by_cpu;  // the first worker to report a core says where it is
    for (const Machine* worker : workers_) {
      for (const Core& core : worker->cores) by_cpu.emplace(core.cpu, core);
    }
    for (const auto& [cpu, core] : by_cpu) cores_.push_back(core);
    // Neighbours share caches and memory, so that a run of cores in this order makes a good share.
    std::sort(cores_.begin(), cores_.end(), [](const Core& a, const Core& b) {
      return std::tie(a.socket, a.numa, a.cpu) < std::tie(b.socket, b.numa, b.cpu);
    });
    owner_.assign(cores_.size(), nobody);

    std::map<int, std::size_t> position;
    for (std::size_t i = 0; i < cores_.size(); ++i) position[cores_[i].cpu] = i;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i]->cores.empty()) {
        throw RunError("worker " + std::to_string(ranks_[i]) + " on host " + workers_[i]->host +
                       " was given no core to run on, so start fewer workers there");
      }
      std::set<std::size_t> mine;
      for (const Core& core : workers_[i]->cores) mine.insert(position[core.cpu]);
      usable_.emplace_back(mine.begin(), mine.end());
    }
  }

  // --- GPUs -------------------------------------------------------------------------------------

  /// Processes number their GPUs on their own; only the uuid says whether two mean the same one.
  static std::string identity(const Gpu& gpu) {
    return gpu.uuid.empty() ? "ordinal " + std::to_string(gpu.ordinal) : gpu.uuid;
  }

  [[nodiscard]] bool is_near(int worker, int numa) const {
    return std::any_of(usable(worker).begin(), usable(worker).end(),
                       [&](std::size_t core) { return cores_[core].numa == numa; });
  }

  void deal_gpus() {
    for (int worker = 0; worker < size(); ++worker) {
      std::set<std::string> tried;
      obtain_gpu(worker, tried);
    }
  }

  /// Finds `worker` a GPU: a free one near its cores, else any free one, else one whose holder can
  /// change to another. Nobody loses a GPU by that, so the workers served are the first of the
  /// host.
  bool obtain_gpu(int worker, std::set<std::string>& tried) {
    const std::vector<Gpu>& visible = workers_[static_cast<std::size_t>(worker)]->gpus;
    std::vector<const Gpu*> wanted;
    wanted.reserve(visible.size());
    for (const Gpu& gpu : visible) wanted.push_back(&gpu);
    std::stable_sort(wanted.begin(), wanted.end(), [&](const Gpu* a, const Gpu* b) {
      return is_near(worker, a->numa) && !is_near(worker, b->numa);
    });
    const auto take = [&](const Gpu& gpu) {
      holder_[identity(gpu)] = worker;
      gpu_of_[static_cast<std::size_t>(worker)] = &gpu;
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
    for (int worker = 0; worker < size(); ++worker) {
      if (gpu_of(worker) != nullptr) continue;
      const auto i = static_cast<std::size_t>(worker);
      throw RunError("worker " + std::to_string(ranks_[i]) + " on host " + workers_[i]->host +
                     " gets no GPU of its own (" + std::to_string(holder_.size()) +
                     " usable for the " + std::to_string(size()) + " workers there" +
                     (workers_[i]->gpus.empty() && !workers_[i]->no_gpu.empty()
                          ? "; " + workers_[i]->no_gpu
                          : "") +
                     "), so start at most one worker for each GPU or let the CPU solve as well");
    }
  }

  // --- cores ------------------------------------------------------------------------------------

  [[nodiscard]] bool is_near_gpu(int worker, std::size_t core) const {
    return gpu_of(worker) != nullptr && gpu_of(worker)->numa == cores_[core].numa;
  }

  /// The workers with a GPU or those without, those with the least choice first, so that the others
  /// can keep out of their way.
  [[nodiscard]] Workers those(bool with_gpu) const {
    Workers chosen;
    for (int worker = 0; worker < size(); ++worker) {
      if ((gpu_of(worker) != nullptr) == with_gpu) chosen.push_back(worker);
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](int a, int b) { return usable(a).size() < usable(b).size(); });
    return chosen;
  }

  /// The cores that `worker` may use and that are right for it, counted by socket: those near its
  /// GPU, else all.
  [[nodiscard]] std::map<int, int> choices_by_socket(int worker) const {
    std::map<int, int> all;
    std::map<int, int> near;
    for (const std::size_t core : usable(worker)) {
      ++all[cores_[core].socket];
      if (is_near_gpu(worker, core)) ++near[cores_[core].socket];
    }
    return near.empty() ? all : near;
  }

  /// Each worker gets the socket that promises it most cores. GPU workers, who have the least
  /// choice, come first. Sockets that are left over, because there are fewer workers than sockets,
  /// go as a whole to a CPU worker as its second, third, ...
  void deal_sockets() {
    std::map<int, std::size_t> sockets_of;
    std::map<int, std::map<int, int>> offers;  // socket -> CPU worker -> cores it may use there
    for (const bool with_gpu : {true, false}) {
      for (const int worker : those(with_gpu)) {
        int best = nobody;
        double best_share = 0;
        for (const auto& [socket, count] : choices_by_socket(worker)) {
          if (!with_gpu) offers[socket][worker] = count;
          const double share = count / static_cast<double>(residents_[socket].size() + 1);
          if (share > best_share) std::tie(best, best_share) = std::tuple(socket, share);
        }
        residents_[best].push_back(worker);
        ++sockets_of[worker];
      }
    }
    for (const auto& [socket, count_for] : offers) {
      if (!residents_[socket].empty()) continue;
      const auto taker =
          std::max_element(count_for.begin(), count_for.end(), [&](const auto& a, const auto& b) {
            return std::tuple(a.second, sockets_of[b.first]) <
                   std::tuple(b.second, sockets_of[a.first]);
          });
      residents_[socket].push_back(taker->first);
      ++sockets_of[taker->first];
    }
  }

  void deal_cores_of_sockets() {
    deal_free_cores(
        [&](std::size_t core) -> const Workers& { return residents_[cores_[core].socket]; });
  }

  /// What no resident of the socket may use, by its cpuset or by the limit, goes to those who may.
  void deal_left_over_cores() {
    const Workers anyone = those(false);
    deal_free_cores([&](std::size_t) -> const Workers& { return anyone; });
  }

  /// Deals every free core to one of those in candidates(core) that may use it and want more. Cores
  /// open to the same workers are dealt together, those with the least choice first.
  template <typename Candidates>
  void deal_free_cores(Candidates candidates) {
    std::map<std::tuple<std::size_t, int, Workers>, Cores> groups;
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      if (owner_[core] != nobody) continue;
      Workers takers;
      for (const int worker : candidates(core)) {
        if (may_use(worker, core)) takers.push_back(worker);
      }
      std::sort(takers.begin(), takers.end());
      if (!takers.empty()) groups[{takers.size(), cores_[core].socket, takers}].push_back(core);
    }
    for (const auto& [key, cores] : groups) deal_blocks(cores, std::get<Workers>(key));
  }

  /// Evens out the takers' totals, then gives each its part as one run of neighbouring cores; GPU
  /// workers choose first, those near their GPU.
  void deal_blocks(const Cores& cores, const Workers& takers) {
    std::map<int, int> quota;
    const auto total = [&](int worker) { return core_count(worker) + quota[worker]; };
    for (std::size_t dealt = 0; dealt < cores.size(); ++dealt) {
      int poorest = nobody;
      for (const int worker : takers) {
        if (total(worker) >= thread_limit_) continue;
        if (poorest == nobody || total(worker) < total(poorest)) poorest = worker;
      }
      if (poorest == nobody) break;
      ++quota[poorest];
    }
    for (const bool with_gpu : {true, false}) {
      for (const int worker : takers) {
        if ((gpu_of(worker) != nullptr) == with_gpu) give_run(cores, quota[worker], worker);
      }
    }
  }

  /// Gives the worker the first so many of `cores` that are still free, near its GPU if possible.
  void give_run(const Cores& cores, int count, int worker) {
    Cores free;
    for (const std::size_t core : cores) {
      if (owner_[core] == nobody) free.push_back(core);
    }
    std::stable_partition(free.begin(), free.end(),
                          [&](std::size_t core) { return is_near_gpu(worker, core); });
    for (int i = 0; i < count; ++i) give(free[static_cast<std::size_t>(i)], worker);
  }

  /// Finds a core for a worker that the dealing above left without one: a free core, else one of a
  /// worker that has several (the richest), else one whose owner can find itself another in the
  /// same way. Owners keep at least one core; false means that there are too few cores to go round.
  bool obtain_core(int worker, std::vector<bool>& tried) {
    const auto rank_offer = [&](std::size_t core) {
      const int owner = owner_[core];
      const int spare = owner == nobody ? std::numeric_limits<int>::max() : core_count(owner);
      return std::tuple(spare, is_near_gpu(worker, core));
    };
    const Cores& mine = usable(worker);
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

  void write(std::vector<Placement>& placements) {
    std::vector<Workers> users(cores_.size());
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      if (owner_[core] != nobody) users[core].push_back(owner_[core]);
    }
    for (int worker = 0; worker < size(); ++worker) {
      if (core_count(worker) > 0) continue;
      const Cores& mine = usable(worker);
      const auto quietest =
          *std::min_element(mine.begin(), mine.end(), [&](std::size_t a, std::size_t b) {
            return std::tuple(users[a].size(), !is_near_gpu(worker, a)) <
                   std::tuple(users[b].size(), !is_near_gpu(worker, b));
          });
      users[quietest].push_back(worker);
    }
    for (std::size_t core = 0; core < cores_.size(); ++core) {
      for (const int worker : users[core]) {
        Placement& share = placement(placements, worker);
        share.cpus.push_back(cores_[core].cpu);
        share.shared = share.shared || users[core].size() > 1;
      }
    }
    for (int worker = 0; worker < size(); ++worker) {
      if (gpu_of(worker) != nullptr) placement(placements, worker).gpu = gpu_of(worker)->ordinal;
    }
    warn_of_binding(placements);
    apply_quotas(placements);
  }

  /// mpirun may have bound workers to few cores, and then the others stay idle.
  void warn_of_binding(std::vector<Placement>& placements) const {
    int most = 0;
    for (const Machine* worker : workers_) most = std::max(most, worker->host_cores);
    const auto usable = static_cast<int>(cores_.size());
    if (2 * usable > most) return;
    for (int worker = 0; worker < size(); ++worker) {
      placement(placements, worker).limit =
          "the workers of its host may use only " + std::to_string(usable) + " of its " +
          std::to_string(most) + " cores, " +
          (may_be_bound_ ? "as they were bound when they were started; "
                           "mpirun --bind-to none leaves them all"
                         : "as a batch job, a container or taskset leaves "
                           "them no more");
    }
  }

  /// Small groups first, so that what their members cannot use goes to others of the large ones.
  void apply_quotas(std::vector<Placement>& placements) const {
    struct Group {
      double cpus = std::numeric_limits<double>::infinity();
      Workers members;
    };
    std::map<std::uint64_t, Group> groups;
    for (const int worker : those(false)) {
      for (const CpuQuota& quota : workers_[static_cast<std::size_t>(worker)]->quotas) {
        Group& group = groups[quota.group];
        group.cpus = std::min(group.cpus, quota.cpus);
        group.members.push_back(worker);
      }
    }
    std::vector<Group> in_order;
    in_order.reserve(groups.size());
    for (const auto& [number, group] : groups) in_order.push_back(group);
    std::stable_sort(in_order.begin(), in_order.end(), [](const Group& a, const Group& b) {
      return a.members.size() < b.members.size();
    });
    for (const Group& group : in_order) apply_quota(group.cpus, group.members, placements);
  }

  static int threads_of(const Placement& placement) {
    return placement.threads.value_or(static_cast<int>(placement.cpus.size()));
  }

  void apply_quota(double cpus, const Workers& members, std::vector<Placement>& placements) const {
    std::map<int, int> share;
    for (const int worker : members) share[worker] = 1;
    for (auto dealt = static_cast<double>(members.size()); dealt < cpus; ++dealt) {
      int poorest = nobody;
      for (const int worker : members) {
        if (share[worker] >= threads_of(placement(placements, worker))) continue;
        if (poorest == nobody || share[worker] < share[poorest]) poorest = worker;
      }
      if (poorest == nobody) break;
      ++share[poorest];
    }
    for (const int worker : members) {
      Placement& mine = placement(placements, worker);
      if (share[worker] >= threads_of(mine)) continue;
      mine.threads = share[worker];
      std::ostringstream clause;
      clause << "a CPU quota of " << cpus << " for " << members.size()
             << (members.size() == 1 ? " worker" : " workers") << " lets it have " << share[worker]
             << (share[worker] == 1 ? " thread" : " threads");
      mine.limit = clause.str();
    }
  }

  Placement& placement(std::vector<Placement>& placements, int worker) const {
    return placements[static_cast<std::size_t>(ranks_[static_cast<std::size_t>(worker)])];
  }

  std::vector<int> ranks_;  ///< the workers' numbers in the whole job
  bool may_be_bound_;
  int thread_limit_;
  std::vector<const Machine*> workers_;
  std::vector<Core> cores_;            ///< every core of the host that some worker may use
  std::vector<Cores> usable_;          ///< per worker, ascending
  std::vector<int> owner_;             ///< per core
  std::vector<int> core_count_;        ///< per worker: the cores it owns
  std::vector<const Gpu*> gpu_of_;     ///< per worker, as that worker numbers it
  std::map<std::string, int> holder_;  ///< GPU's identity -> worker
  std::map<int, Workers> residents_;   ///< socket -> CPU workers bound to it
};

}  // namespace

std::vector<Placement> place_workers(const std::vector<Machine>& workers, DeviceChoice device,
                                     int threads_per_worker, bool may_be_bound) {
  std::map<std::pair<bool, std::string>, std::vector<int>> ranks_by_system;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const bool named = workers[i].system.empty();
    ranks_by_system[{named, named ? workers[i].host : workers[i].system}].push_back(
        static_cast<int>(i));
  }
  std::vector<Placement> placements(workers.size());
  for (const auto& [system, ranks] : ranks_by_system) {
    HostDealer(workers, ranks, threads_per_worker, may_be_bound).deal(device, placements);
  }
  return placements;
}

}  // namespace wallheat
