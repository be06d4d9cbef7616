#include "run/preflight_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/system_limits.hpp"
#include "core/text.hpp"
#include "isolation/command_solver.hpp"
#include "mpi/mpi_environment.hpp"
#include "node/local_machine.hpp"
#include "node/placement.hpp"
#include "plans/work_estimate.hpp"
#include "run/preparation.hpp"
#include "run/work_estimator.hpp"
#include "solve/gpu/device.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

void require_directory_of(const std::filesystem::path& file) {
  const auto folder = std::filesystem::absolute(result_path(file)).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw RunError(
        fmt::format("directory {} does not exist; create it, or choose another location for {}",
                    folder.string(), file.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw RunError(fmt::format("directory {} is not writable; choose another location for {}",
                               folder.string(), file.string()));
}

class PreflightCheck : Preparation {
 public:
  explicit PreflightCheck(const RunOptions& of_run)
      : Preparation{of_run,
                    [this](const std::string& warning) { found_.warnings.push_back(warning); }},
        of_shard_(options.shard.count > 1 ? " of shard " + options.shard.text() : "") {}

  PreflightReport run() {
    for (const std::string& warning : options.job_warnings) warn(warning);
    passes([&] { check_shard_files(); });
    const bool are_plans = passes([&] { find_plans(); });
    const bool is_place = passes([&] { require_directory_of(options.out); });
    if (are_plans) {
      if (!ids.origin_note.empty()) warn(ids.origin_note);
      passes([&] { warn_of_unlisted_plans(); });
      passes([&] { check_walls(); });
      if (!is_place || !passes([&] { check_results(); })) take_all_plans();
      passes([&] { check_plans(); });
      passes([&] { warn_if_spacing_unknown(); });
      passes([&] { check_disk(); });
      passes([&] { check_work(); });
      passes([&] { check_memory(); });
    }
    passes([&] { check_solver(); });
    passes([&] { check_devices(); });
    if (!is_here()) check_job();
    if (!options.events.empty()) passes([&] { require_directory_of(options.events); });
    return std::move(found_);
  }

 private:
  /// Runs a step. Records its exception as a problem and returns false, so that the following steps
  /// run anyway.
  bool passes(const std::function<void()>& step) {
    try {
      step();
      return true;
    } catch (const std::exception& error) {
      found_.problems.push_back(exception_text(error));
      return false;
    }
  }
  void report(const char* about, std::string message) {
    found_.facts.emplace_back(about, std::move(message));
  }

  [[nodiscard]] bool is_command() const { return options.solve.solver.kind == SolverKind::command; }
  [[nodiscard]] bool is_here() const { return options.check == CheckMode::this_machine; }

  /// Warns of plans that building_ids.txt does not list. Only the check lists the files of a
  /// directory, because that may take long on a network file system.
  void warn_of_unlisted_plans() {
    const bool is_selection =
        !options.ids.empty() || !options.ids_file.empty() || options.first > 0;
    if (is_selection || !ids.origin_note.empty()) return;
    IdIndex listed;
    for (const std::string_view id : ids.ids) listed.add(id);
    std::vector<std::string> unlisted = source->ids_of_files();
    std::erase_if(unlisted, [&](const std::string& id) { return listed.find(id).has_value(); });
    if (!unlisted.empty())
      warn(fmt::format(
          "building_ids.txt of {} does not list {}, such as {}; add them to it to solve "
          "them, or choose another list with --ids",
          options.solve.data.string(), count_text(unlisted.size(), "plan"),
          *std::ranges::min_element(unlisted)));
  }

  void check_results() {
    const bool is_there = std::filesystem::exists(options.out);
    require_own_status(status_file(options.out));
    collect_pending([&](const RowCallback& take) {
      for (const std::string& warning :
           ResultStore::dry_run(options.out, result_file_spec(), open_mode(), take))
        warn(warning);
      report("results",
             resumes ? fmt::format("{} contains results of {} of {}{}", options.out.string(),
                                   tally.restored, count_text(tally.total, "plan"), of_shard_)
                     : fmt::format("{} will be {}", options.out.string(),
                                   is_there ? "overwritten" : "created"));
    });
    if (plans.empty() && tally.total > 0) explain_nothing_to_do();
  }

  void explain_nothing_to_do() {
    if (tally.given_up > 0)
      found_.nothing_to_solve_reason =
          fmt::format("of {}{}, {} are solved, and {} were given up; use --retry-failed to retry",
                      count_text(tally.total, "plan"), of_shard_, tally.restored, tally.given_up);
    else if (tally.total == 1)
      found_.nothing_to_solve_reason = fmt::format("the only plan{} is solved", of_shard_);
    else
      found_.nothing_to_solve_reason =
          fmt::format("all {} plans{} are solved", tally.total, of_shard_);
  }

  /// Takes all plans as pending, because the result file could not be read.
  void take_all_plans() {
    if (tally.total > 0) return;
    collect_pending([&](const RowCallback& take) {
      PlanResult pending;
      for (; pending.index < ids.ids.size(); ++pending.index) take(pending);
    });
  }

  void check_plans() {
    found_.plan_count = tally.total;
    std::size_t sources = 0;
    std::vector<std::string> unreadable;
    cells_.assign(plans.size(), 0);
    GridShape least{SIZE_MAX, 1};
    GridShape& most = largest_shape_;
    for (const QueueIndex plan : queue_indices(plans.size())) {
      const std::string id = id_of(plan);
      try {
        if (source->has_source(id)) ++sources;
        const GridShape shape = source->shape(id);
        const std::size_t cells = shape.rows * shape.cols;
        if (cells < least.rows * least.cols) least = shape;
        if (cells > most.rows * most.cols) {
          most = shape;
          largest_ = id;
        }
        cells_[plan] = cells;
        ++readable_;
      } catch (const InputError& error) {
        unreadable.emplace_back(error.what());
      }
    }
    const std::size_t left = plans.size();
    const std::size_t all = tally.total;
    std::string text =
        fmt::format("{} in {}", count_text(all, "plan"), options.solve.data.string());
    if (left < all) text += fmt::format(", {} left", left);
    if (readable_ > 0)
      text += least == most ? fmt::format(", {} x {} cells", most.rows, most.cols)
                            : fmt::format(", from {} x {} to {} x {} cells", least.rows, least.cols,
                                          most.rows, most.cols);
    if (sources > 0) text += fmt::format(", {} with a heat source", sources);
    text += "; only their shapes were read";
    report("plans", text);
    const auto few = [&] {
      return join_first(unreadable.size(), [&](std::size_t k) { return unreadable[k]; });
    };
    if (all == 0)
      throw RunError(fmt::format("shard {} of {} has no plans to solve", options.shard.text(),
                                 count_text(ids.ids.size(), "plan")));
    if (unreadable.size() == all) throw RunError("no plan can be read: " + few());
    if (!unreadable.empty())
      warn(fmt::format("{} cannot be read and will be recorded as failed: {}",
                       count_text(unreadable.size(), "plan"), few()));
  }

  void check_disk() {
    if (plans.empty()) return;
    const DiskUsageEstimate need = estimate_disk_usage();
    const auto folder = result_path(options.out).parent_path();
    const auto free = free_bytes(folder);
    if (!free) return;  // another step reports this
    report("disk",
           fmt::format("about {} to store{}, {} are free in {}", bytes_text(need.expected()),
                       options.solve.save_fields
                           ? fmt::format(" (a quarter of the fields' {})", bytes_text(need.fields))
                           : "",
                       bytes_text(*free), folder.string()));
    if (const std::string problem = disk_space_warning(need, folder); !problem.empty())
      throw RunError(problem);
  }

  /// Estimates the work and the time that it takes. Warns if it is too little for a job, even on a
  /// core of modest speed.
  void check_work() {
    if (is_command()) {
      if (readable_ > 0)
        report("work",
               "unknown, because a program of the user solves the plans; to measure it, "
               "solve some of them with --first 3");
      return;
    }
    constexpr double modest_updates_per_s = 1e9;
    constexpr double worth_a_job_s = 60;
    const Work work = estimate_work_left();
    if (work.updates == 0) return;
    const double modest_s = work.updates / modest_updates_per_s;
    report("work", work_text(work, modest_updates_per_s));
    if (is_here() || modest_s >= worth_a_job_s) return;
    const bool needs_cpu = options.device == DeviceChoice::gpu && gpu_support().gpus.empty();
    warn(fmt::format(
        "the remaining work{} takes less than a minute of one core, which is not worth a job; "
        "{}{}",
        of_shard_,
        needs_cpu ? "without --device gpu 'wallheat run' can solve it on this machine"
                  : "solve it here with 'wallheat run'",
        of_shard_.empty() ? "" : ", or use fewer jobs"));
  }

  struct Work;

  /// Returns the times for one core, for all threads, and for GPUs, as far as they are known.
  [[nodiscard]] std::string work_text(const Work& work, double modest_updates_per_s) const {
    const double core_updates_per_s = work.core_updates_per_s.value_or(modest_updates_per_s);
    const double core_s = work.updates / core_updates_per_s;
    std::string text = fmt::format(
        "{} {} of one core ({})", work.is_bound ? "at most" : "about", duration_text(core_s),
        work.core_updates_per_s
            ? fmt::format("{:.2g} cell updates/s, measured on this machine", core_updates_per_s)
            : fmt::format("at {:.2g} cell updates/s, which was not measured", core_updates_per_s));
    std::size_t threads = 0;  // of all nodes; 0: unknown
    std::size_t gpus = 0;
    const JobResources& job = options.job;
    const std::size_t nodes = std::max<std::size_t>(job.nodes, 1);
    if (is_here()) {
      const Machine machine = local_machine();
      threads = solver_count(place_workers({machine}, DeviceChoice::cpu, options.threads).front());
      gpus = machine.gpus.size();
    } else {
      threads = job.cores * nodes;
      if (options.threads > 0)
        threads =
            std::min(threads, static_cast<std::size_t>(options.threads) * job.workers * nodes);
      gpus = job.gpus.value_or(0) * nodes;
    }
    if (options.device != DeviceChoice::gpu && threads > 1)
      text += fmt::format(", {} with {}", duration_text(core_s / static_cast<double>(threads)),
                          count_text(threads, "thread"));
    if (options.device == DeviceChoice::cpu || gpus == 0 ||
        !options.solve.solver.cpu_only_option().empty())
      return text;
    return text +
           fmt::format(", {} and the start with {}",
                       duration_text(work.updates / h100_updates_per_s / static_cast<double>(gpus)),
                       gpus == 1 ? "a GPU as fast as an H100"
                                 : fmt::format("{} GPUs as fast as an H100", gpus));
  }

  struct Work {
    double updates = 0;
    bool is_bound = false;  ///< an upper bound, because the work of a plan is not estimated
    /// Speed of a core; nullopt if all plans are too large for a short measurement.
    std::optional<double> core_updates_per_s{};
  };
  /// Estimates the cell updates of all plans that are left and can be read. Divides them by size
  /// into groups of equal number, and reads the mask of the largest plan of each group: the others
  /// of the group count as many updates per cell. A plan whose mask is too large for an estimate
  /// counts as if it took all iterations. The speed is measured with the plan of the middle group,
  /// or with the largest smaller one that a solver can solve in a short time.
  [[nodiscard]] Work estimate_work_left() const {
    constexpr std::size_t max_groups = 20;
    constexpr double max_measured_cells = 1e6;
    std::vector<QueueIndex> by_size;
    for (const QueueIndex plan : queue_indices(cells_.size()))
      if (cells_[plan] > 0) by_size.push_back(plan);
    std::ranges::stable_sort(by_size, {}, [this](QueueIndex plan) { return cells_[plan]; });
    const std::size_t groups = std::min(max_groups, by_size.size());
    const SolverOptions& solver = options.solve.solver;
    Work total;
    std::optional<std::pair<QueueIndex, double>> sample;  // plan and its updates
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t begin = group * by_size.size() / groups;
      const std::size_t end = (group + 1) * by_size.size() / groups;
      const QueueIndex largest = by_size[end - 1];
      const auto cells = static_cast<double>(cells_[largest]);
      const auto estimate = estimate_plan(*source, id_of(largest), solver.limits, solver.kind);
      double updates = 0;
      if (estimate) {
        updates = estimate->updates;
        if (!sample || (group <= groups / 2 && cells <= max_measured_cells))
          sample = {largest, updates};
      } else {
        total.is_bound = true;
        updates =
            solver.kind == SolverKind::steady
                ? estimate_steady_work(static_cast<std::int64_t>(cells), solver.limits).updates
                : cells * static_cast<double>(solver.limits.max_iterations);
      }
      for (std::size_t k = begin; k < end; ++k)
        total.updates += updates * (static_cast<double>(cells_[by_size[k]]) / cells);
    }
    if (!sample || solver.kind == SolverKind::command ||
        static_cast<double>(cells_[sample->first]) > max_measured_cells)
      return total;
    try {
      total.core_updates_per_s =
          measure_core_speed(*source, id_of(sample->first), sample->second, solver);
    } catch (const InputError&) {
      // Only this plan cannot be solved, which does not keep a run from starting. The text says
      // that the speed was not measured.
    }
    return total;
  }

  /// Checks whether the largest plans fit into memory. For the nodes of a job, only the options are
  /// known.
  void check_memory() {
    if (largest_.empty() || options.device == DeviceChoice::gpu) return;
    std::string node = "a node";
    double available = options.memory_gb * 1e9;  // bytes; 0: unknown
    const std::size_t workers = options.job.workers;
    const std::size_t cores = options.job.cores;
    std::size_t threads = workers * static_cast<std::size_t>(options.threads);  // 0: all cores
    if (threads == 0 || (cores > 0 && cores < threads)) threads = cores;
    if (is_here()) {
      const Machine machine = local_machine();
      if (options.device == DeviceChoice::automatic && !machine.gpus.empty()) return;
      node = machine.host;
      threads = solver_count(place_workers({machine}, DeviceChoice::cpu, options.threads).front());
      if (available == 0) available = static_cast<double>(machine.memory_bytes);
    }
    const bool threads_known = threads > 0;
    threads /= static_cast<std::size_t>(options.solve.solver.command.cores_per_slot);
    threads = std::clamp<std::size_t>(threads, 1, readable_);
    const double each = estimate_memory(*source, largest_, options.solve);
    // Memory of the workers themselves.
    const double held = static_cast<double>(workers) * static_cast<double>(peak_memory());
    const double needed = held + static_cast<double>(threads) * each;
    report("memory",
           fmt::format("about {} for {} at a time ({} for {}){}{}{}", bytes_text(needed),
                       count_text(threads, "plan"), bytes_text(each), largest_,
                       is_command() && options.solve.solver.command.memory_gb == 0
                           ? ", and the memory of the program, which --solver-memory specifies"
                           : "",
                       available > 0 ? fmt::format(", {} available", bytes_text(available)) : "",
                       threads_known ? "" : "; the number of plans per node is unknown here"));
    if (available <= 0 || needed <= available) return;
    const int fit =
        static_cast<int>(std::max(0.0, available - held) / each / static_cast<double>(workers));
    warn(
        fmt::format("{} may run out of memory: {} with plans as large as {} ({} x {} cells) need "
                    "about {}, {} each, but {} are available; {}",
                    node, count_text(threads, "solver process", "solver processes"), largest_,
                    largest_shape_.rows, largest_shape_.cols, bytes_text(needed), bytes_text(each),
                    bytes_text(available),
                    fit > 0 ? fmt::format("run with --threads {}, or give the job more memory", fit)
                            : "give the job more memory"));
  }

  /// Also starts the program of a solver command. The nodes of a job may have what it lacks here.
  void check_solver() {
    try {
      (void)make_solver(options.solve.solver);
    } catch (const RunError& error) {
      if (is_here() || !is_command()) throw;
      warn(
          fmt::format("the solver command could not be started on this host, so it was not "
                      "checked: {}",
                      error.what()));
    }
    std::vector<std::string> settings;
    for (const auto& [name, value] : options.solve.solver.settings())
      if (name != "solver" && name != "solver_version")
        settings.push_back(fmt::format("{} {}", name, value));
    report("solver",
           fmt::format("{} ({})", options.solve.solver.solver_text(), fmt::join(settings, ", ")));
  }

  /// Reports the devices that will solve the plans, and why.
  void check_devices() {
    const SolverKind kind = options.solve.solver.kind;
    if (options.device == DeviceChoice::cpu) {
      if (kind != SolverKind::jacobi && kind != SolverKind::command)
        report("device",
               fmt::format("the CPU: GPUs do not support the solver {}", to_string(kind)));
      return;
    }
    const bool can_use_gpus = is_command() || gpu_support().built_with_cuda;
    if (!is_here() && can_use_gpus)
      return report("device", options.device == DeviceChoice::gpu
                                  ? "the GPUs of the job's nodes, which must have them"
                                  : "the GPUs of the job's nodes, or their cores");
    if (is_here()) require_gpus(options);
    const GpuSupport support = usable_gpus(options);
    report("device", !support.gpus.empty()
                         ? fmt::format("{}: {}", count_text(support.gpus.size(), "GPU"),
                                       support.gpus.front().name)
                         : "the CPU: " + support.reason);
  }

  /// Reports each reason why the job must fail with its resources, or why its GPUs would be idle.
  void check_job() {
    const JobResources& job = options.job;
    const std::size_t gpus = job.gpus.value_or(0);
    const bool needs_gpus = options.device == DeviceChoice::gpu;
    const auto problem = [this](std::string message) {
      found_.problems.push_back(std::move(message));
    };
    if (job.nodes * job.workers > 1 && mpi_library() == "none")
      problem(fmt::format(
          "this wallheat was built without MPI, but the job starts {} workers on {}; use a "
          "wallheat "
          "with MPI, or a job on one node with --workers 1, which uses all its cores and GPUs",
          job.nodes * job.workers, count_text(job.nodes, "node")));
    if (!is_command() && (gpus > 0 || needs_gpus) && !gpu_support().built_with_cuda)
      problem(fmt::format("{} requires a wallheat that was built with CUDA; this one was not",
                          needs_gpus ? "--device gpu" : gpus_text(gpus)));
    if (needs_gpus && job.gpus == 0U)
      problem("--device gpu requires GPUs on the nodes of the job; submit it with --gpus N");
    if (needs_gpus && gpus > 0 && gpus < job.workers)
      problem(
          fmt::format("--device gpu requires a GPU for each worker, but a node of the job has {} "
                      "and {}; submit "
                      "it with --workers {}, or with more GPUs",
                      count_text(gpus, "GPU"), count_text(job.workers, "worker"), gpus));
    if (gpus > 0 && options.device == DeviceChoice::cpu && is_command()) {
      problem(
          fmt::format("{}: a solver command uses GPUs only with --device gpu; add it after the --, "
                      "or omit --gpus",
                      gpus_text(gpus)));
    } else if (gpus > 0 && options.device == DeviceChoice::cpu) {
      const std::string option = options.solve.solver.cpu_only_option();
      problem(fmt::format("{} cannot be combined with {}, which uses no GPU; omit --gpus",
                          gpus_text(gpus), option.empty() ? "--device cpu" : option));
    }
  }
  static std::string gpus_text(std::size_t gpus) { return fmt::format("--gpus {}", gpus); }

  PreflightReport found_;
  QueueVector<std::size_t> cells_;  // cells of each plan that is left; 0: it cannot be read
  std::string of_shard_;            // " of shard 2/3"; empty if there is one shard
  std::string largest_;  // ID of the largest plan that is left and can be read; empty: none
  GridShape largest_shape_;
  std::size_t readable_ = 0;
};

}  // namespace

PreflightReport run_preflight_check(const RunOptions& options) {
  return PreflightCheck(options).run();
}

}  // namespace wallheat
