#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "core/text.hpp"
#include "node/local_machine.hpp"
#include "run/preparation.hpp"
#include "run/run.hpp"
#include "run/work_estimator.hpp"
#include "solve/gpu/device.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

void require_directory_of(const std::filesystem::path& file) {
  const auto folder = std::filesystem::absolute(result_path(file)).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw RunError(fmt::format("there is no directory {}; make it, or name another file than {}",
                               folder.string(), file.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw RunError(fmt::format("nothing can be written into {}; name another file than {}",
                               folder.string(), file.string()));
}

class PreflightCheck : Preparation {
 public:
  explicit PreflightCheck(const RunOptions& of_run)
      : Preparation{of_run,
                    [this](const std::string& warning) { found_.warnings.push_back(warning); }},
        of_shard_(options.shard.count > 1 ? " of shard " + options.shard.text() : "") {}

  PreflightReport run() {
    passes([&] { check_shard_files(); });
    const bool are_plans = passes([&] { find_plans(); });
    const bool is_place = passes([&] { require_directory_of(options.out); });
    if (are_plans) {
      if (!ids.origin_note.empty()) warn(ids.origin_note);
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
    if (!options.events.empty()) passes([&] { require_directory_of(options.events); });
    return std::move(found_);
  }

 private:
  /// One problem does not keep the others from being found.
  bool passes(const std::function<void()>& step) {
    try {
      step();
      return true;
    } catch (const std::exception& error) {
      found_.problems.emplace_back(error.what());
      return false;
    }
  }
  void report(const char* about, std::string message) {
    found_.facts.emplace_back(about, std::move(message));
  }

  [[nodiscard]] bool is_here() const { return options.check == CheckMode::this_machine; }

  void check_results() {
    const bool is_there = std::filesystem::exists(options.out);
    require_own_status(status_file(options.out));
    collect_pending([&](const RowCallback& take) {
      for (const std::string& damage :
           ResultStore::dry_run(options.out, store_plan(), open_mode(), take))
        warn(damage);
      report("results",
             resumes ? fmt::format("{} has answers to {} of {}{}", options.out.string(),
                                   tally.restored, count_text(tally.total, "plan"), of_shard_)
                     : fmt::format("{} will be {}", options.out.string(),
                                   is_there ? "replaced" : "made"));
    });
    if (plans.empty() && tally.total > 0) explain_nothing_to_do();
  }

  void explain_nothing_to_do() {
    if (tally.given_up > 0)
      found_.done = fmt::format(
          "of {}{} {} are solved, and {} failed too often: only --retry-failed tries them again",
          count_text(tally.total, "plan"), of_shard_, tally.restored, tally.given_up);
    else if (tally.total == 1)
      found_.done = fmt::format("the only plan{} is solved", of_shard_);
    else
      found_.done = fmt::format("all {} plans{} are solved", tally.total, of_shard_);
  }

  /// As if none were solved, as the result file does not say.
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
    GridShape least{SIZE_MAX, 1};
    GridShape& most = largest_shape_;
    for (std::size_t plan = 0; plan < plans.size(); ++plan) {
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
    if (sources > 0) text += fmt::format(", {} with a source", sources);
    report("plans", text);
    const auto few = [&] {
      return join_first(unreadable.size(), [&](std::size_t k) { return unreadable[k]; });
    };
    if (all == 0)
      throw RunError(fmt::format("shard {} of {} has none to solve", options.shard.text(),
                                 count_text(ids.ids.size(), "plan")));
    if (unreadable.size() == all) throw RunError("no plan can be read: " + few());
    if (!unreadable.empty())
      warn(fmt::format("{} cannot be read and will fail: {}", count_text(unreadable.size(), "plan"),
                       few()));
  }

  void check_disk() {
    if (plans.empty()) return;
    const DiskUsageEstimate need = estimate_disk_usage();
    const auto folder = result_path(options.out).parent_path();
    const auto free = free_bytes(folder);
    if (!free) return;  // which is a problem of its own
    report("disk",
           fmt::format("about {} to store{}, {} are free in {}", bytes_text(need.expected()),
                       options.solve.save_fields
                           ? fmt::format(" (a quarter of the fields' {})", bytes_text(need.fields))
                           : "",
                       bytes_text(*free), folder.string()));
    if (const std::string problem = disk_space_warning(need, folder); !problem.empty())
      throw RunError(problem);
  }

  /// By some plans, over the list, and a modest core. A job that is over at once is not worth one.
  void check_work() {
    if (is_here()) return;
    constexpr std::size_t most = 20;
    constexpr double updates_per_s = 1e9;
    constexpr double worth_a_job_s = 60;
    const std::size_t checks = std::min(most, plans.size());
    double updates = 0;
    std::size_t known = 0;
    for (std::size_t k = 0; k < checks; ++k) {
      const std::string id = id_of(k * plans.size() / checks);
      const auto estimate =
          estimate_plan(*source, id, options.solve.solver.limits, options.solve.solver.kind);
      if (!estimate) continue;
      updates += estimate->updates;
      ++known;
    }
    if (known == 0) return;
    const double seconds =
        updates / static_cast<double>(known) * static_cast<double>(plans.size()) / updates_per_s;
    const std::string text = fmt::format("about {} of one core", duration_text(seconds));
    report("work", text);
    if (seconds < worth_a_job_s)
      warn(
          fmt::format("what is left{} takes {}, which is not worth a job: solve it here with "
                      "'wallheat run'{}",
                      of_shard_, text, of_shard_.empty() ? "" : ", or take fewer jobs"));
  }

  /// Only what the options say is known of a job's nodes.
  void check_memory() {
    if (largest_.empty() || options.device == DeviceChoice::gpu) return;
    std::string node = "a node";
    double available = options.memory_gb * 1e9;  // bytes; 0: unknown
    const std::size_t workers = options.job_workers;
    const std::size_t cores = options.job_cores;
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
    threads = std::clamp<std::size_t>(threads, 1, readable_);
    const double each = estimate_memory(*source, largest_, options.solve);
    const double held =
        static_cast<double>(workers) * static_cast<double>(peak_memory());  // by workers
    const double needed = held + static_cast<double>(threads) * each;
    report("memory",
           fmt::format("about {} for {} at a time ({} for {}){}{}", bytes_text(needed),
                       count_text(threads, "plan"), bytes_text(each), largest_,
                       available > 0 ? fmt::format(", {} are there", bytes_text(available)) : "",
                       threads_known ? "" : "; how many a node solves is not known here"));
    if (available <= 0 || needed <= available) return;
    const int fit =
        static_cast<int>(std::max(0.0, available - held) / each / static_cast<double>(workers));
    warn(fmt::format(
        "{} may run out of memory: {} with plans as large as {} ({} x {} cells) take about {}, {} "
        "each, and there are {}; {}",
        node, count_text(threads, "solver process", "solver processes"), largest_,
        largest_shape_.rows, largest_shape_.cols, bytes_text(needed), bytes_text(each),
        bytes_text(available),
        fit > 0 ? fmt::format("run with --threads {}, or give the job more memory", fit)
                : "give the job more memory"));
  }

  void check_solver() {
    (void)options.solve.solver.make();
    std::vector<std::string> settings;
    for (const auto& [name, value] : options.solve.solver.settings())
      if (name != "solver" && name != "solver_version")
        settings.push_back(fmt::format("{} {}", name, value));
    report("solver",
           fmt::format("{} ({})", options.solve.solver.solver_text(), fmt::join(settings, ", ")));
  }

  /// Who will solve, and why.
  void check_devices() {
    const SolverKind kind = options.solve.solver.kind;
    if (options.device == DeviceChoice::cpu) {
      if (kind != SolverKind::jacobi)
        report("device", fmt::format("the CPU: GPUs do not have the solver {}", to_string(kind)));
      return;
    }
    if (!is_here())
      return report("device", options.device == DeviceChoice::gpu
                                  ? "the GPUs of the job's nodes, which must have them"
                                  : "the GPUs of the job's nodes, or their cores");
    require_gpus(options);
    const GpuSupport support = gpu_support();
    report("device", !support.gpus.empty()
                         ? fmt::format("{}: {}", count_text(support.gpus.size(), "GPU"),
                                       support.gpus.front().name)
                         : "the CPU: " + support.reason);
  }

  PreflightReport found_;
  std::string of_shard_;  // " of shard 2/3", if there are several
  std::string largest_;   // of the plans that are left and can be read; empty: none
  GridShape largest_shape_;
  std::size_t readable_ = 0;
};

}  // namespace

PreflightReport run_preflight_check(const RunOptions& options) {
  return PreflightCheck(options).run();
}

}  // namespace wallheat
