#include "run/readiness.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "node/local_machine.hpp"
#include "node/peak_memory.hpp"
#include "plans/plan_source.hpp"
#include "run/catalogue.hpp"
#include "run/disk_need.hpp"
#include "run/forecast.hpp"
#include "run/memory_need.hpp"
#include "solve/gpu/device.hpp"
#include "store/result_path.hpp"
#include "store/result_store.hpp"
#include "view/bytes_text.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

std::string few_of(const std::vector<std::string>& all) {
  constexpr std::size_t few = 3;
  const std::size_t shown = std::min(few, all.size());
  return fmt::format("{}{}",
                     fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), "; "),
                     all.size() > few ? fmt::format("; and {} more", all.size() - few) : "");
}

class Examination {
 public:
  explicit Examination(const RunOptions& options) : options_(options) {}

  Readiness run() {
    find([&] { look_at_plans(); });
    find([&] { look_at_walls(); });
    find([&] { look_at_results(); });
    find([&] { look_at_room(); });
    find([&] { look_at_work(); });
    find([&] { look_at_memory(); });
    find([&] { look_at_solver(); });
    find([&] { look_at_devices(); });
    if (!options_.events.empty()) find([&] { look_at_directory(options_.events); });
    return std::move(found_);
  }

 private:
  /// One problem does not keep the others from being found.
  void find(const std::function<void()>& look) {
    try {
      look();
    } catch (const std::exception& error) {
      found_.problems.emplace_back(error.what());
    }
  }
  void tell(const char* about, std::string sentence) {
    found_.facts.emplace_back(about, std::move(sentence));
  }

  void look_at_plans() {
    source_ = open_plan_source(options_.job.data);
    ids_ = requested_plans(*source_, options_.ids, options_.ids_file, options_.first);
    if (!ids_->note.empty()) found_.warnings.push_back(ids_->note);
    if (!ids_->duplicates.empty())
      found_.warnings.push_back(
          fmt::format("{} plan(s) are named more than once and solved once: {}",
                      ids_->duplicates.size(), few_of(ids_->duplicates)));
    std::vector<std::string> unreadable;
    std::size_t& mine = plans_of_shard_;
    std::size_t sources = 0;
    GridShape least{SIZE_MAX, SIZE_MAX};
    GridShape most;
    shapes_.assign(ids_->ids.size(), {});
    for (std::size_t plan = 0; plan < ids_->ids.size(); ++plan) {
      if (!options_.shard.holds(plan)) continue;
      ++mine;
      const std::string id(ids_->ids[plan]);
      try {
        if (source_->has_source(id)) ++sources;
        const GridShape shape = shapes_[plan] = source_->shape(id);
        if (shape.rows * shape.cols > most.rows * most.cols) most = shape;
        if (least.rows == SIZE_MAX || shape.rows * shape.cols < least.rows * least.cols)
          least = shape;
      } catch (const InputError& error) {
        unreadable.emplace_back(error.what());
      }
    }
    const std::string text =
        fmt::format("{} plan(s) in {}{}{}", mine, options_.job.data.string(),
                    unreadable.size() == mine ? ""
                    : least == most           ? fmt::format(", {} x {} cells", most.rows, most.cols)
                                    : fmt::format(", from {} x {} to {} x {} cells", least.rows,
                                                  least.cols, most.rows, most.cols),
                    sources > 0 ? fmt::format(", {} with a source", sources) : "");
    tell("plans", text);
    if (mine == 0)
      found_.problems.push_back(fmt::format("shard {} of {} plan(s) has none to solve",
                                            options_.shard.text(), ids_->ids.size()));
    else if (unreadable.size() == mine)
      found_.problems.push_back(fmt::format("no plan can be read: {}", few_of(unreadable)));
    else if (!unreadable.empty())
      found_.warnings.push_back(fmt::format("{} plan(s) cannot be read and will fail: {}",
                                            unreadable.size(), few_of(unreadable)));
  }

  void look_at_walls() {
    if (ids_)
      require_wall_kinds(*source_, ids_->ids, options_.job.solver.walls, [] { return false; });
  }

  void look_at_results() {
    look_at_directory(options_.out);
    if (!ids_) return;
    StorePlan plan{ids_->ids, options_.job.solver.settings(), options_.job.save_fields};
    const bool resumes = options_.resume && has_results(options_.out);
    InputChanges changes;
    std::size_t answered = 0;
    settled_.clear();
    const std::vector<std::string> report =
        ResultStore::look(options_.out, plan,
                          resumes              ? Opening::resume
                          : options_.overwrite ? Opening::overwrite
                                               : Opening::create,
                          [&](const PlanResult& row) {
                            const bool solved = is_answer(row.status);
                            answered += solved ? 1 : 0;
                            const bool given_up = row.failures >= options_.max_attempts &&
                                                  !options_.retry_failed && !solved;
                            settled_.push_back(solved || given_up);
                            if (given_up && options_.shard.holds(row.index)) ++given_up_;
                            look_for_change(*source_, row, changes);
                          });
    found_.warnings.insert(found_.warnings.end(), report.begin(), report.end());
    if (!resumes) {
      tell("results", fmt::format("{} will be {}", options_.out.string(),
                                  std::filesystem::exists(options_.out) ? "replaced" : "made"));
      return;
    }
    tell("results", fmt::format("{} has answers to {} of {} plans", options_.out.string(), answered,
                                ids_->ids.size()));
    if (std::string changed = text_of(changes, *source_); !changed.empty())
      found_.problems.push_back(std::move(changed));
    look_whether_done();
  }

  [[nodiscard]] bool is_left(std::size_t plan) const {
    return options_.shard.holds(plan) && !(plan < settled_.size() && settled_[plan]);
  }

  void look_whether_done() {
    for (std::size_t plan = 0; plan < ids_->ids.size(); ++plan)
      if (is_left(plan)) return;
    const std::string of_shard =
        options_.shard.count > 1 ? " of shard " + options_.shard.text() : "";
    if (given_up_ > 0) {
      found_.done = fmt::format(
          "of {} plans{} {} are solved, and {} failed too often: only --retry-failed tries them "
          "again",
          plans_of_shard_, of_shard, plans_of_shard_ - given_up_, given_up_);
    } else if (plans_of_shard_ == 1) {
      found_.done = fmt::format("the only plan{} is solved", of_shard);
    } else {
      found_.done = fmt::format("all {} plans{} are solved", plans_of_shard_, of_shard);
    }
  }

  void look_at_room() {
    if (!ids_) return;
    std::size_t plans = 0;
    double cells = 0;
    for (std::size_t plan = 0; plan < shapes_.size(); ++plan) {
      if (!is_left(plan)) continue;
      ++plans;
      cells += static_cast<double>(shapes_[plan].rows) * static_cast<double>(shapes_[plan].cols);
    }
    const DiskNeed need = disk_need(options_.job, static_cast<double>(plans), cells);
    const auto free = free_disk(options_.out);
    if (!free) return;  // which is a problem of its own
    tell("disk",
         fmt::format("about {} to store{}, {} are free in {}", bytes_text(need.usual()),
                     options_.job.save_fields
                         ? fmt::format(" (a quarter of the fields' {})", bytes_text(need.fields))
                         : "",
                     bytes_text(free->bytes), free->folder.string()));
    if (std::string problem = lack_of_disk(need, *free); !problem.empty())
      found_.problems.push_back(std::move(problem));
    else if (need.rows + need.fields > free->bytes)
      found_.warnings.push_back(
          fmt::format("{} has room for {}: enough for fields of usual floor plans, but not for "
                      "ones that are nothing but room",
                      free->folder.string(), bytes_text(free->bytes)));
  }

  /// By some plans, over the list, and a modest core. A job that is over at once is not worth one.
  void look_at_work() {
    if (!ids_ || options_.check != CheckFor::a_job) return;
    constexpr std::size_t most = 20;
    constexpr double updates_per_s = 1e9;
    constexpr double worth_a_job_s = 60;
    std::vector<std::size_t> plans;
    for (std::size_t plan = 0; plan < shapes_.size(); ++plan)
      if (is_left(plan)) plans.push_back(plan);
    double updates = 0;
    std::size_t known = 0;
    const std::size_t looks = std::min(most, plans.size());
    for (std::size_t k = 0; k < looks; ++k) {
      const auto estimate =
          estimate_plan(*source_, std::string(ids_->ids[plans[k * plans.size() / looks]]),
                        options_.job.solver.limits, options_.job.solver.kind);
      if (!estimate) continue;
      updates += estimate->updates;
      ++known;
    }
    if (known == 0) return;
    const double seconds =
        updates / static_cast<double>(known) * static_cast<double>(plans.size()) / updates_per_s;
    const std::string text = fmt::format("about {} of one core", duration_text(seconds));
    tell("work", text);
    if (seconds < worth_a_job_s)
      found_.warnings.push_back(fmt::format(
          "what is left{} takes {}, which is not worth a job: solve it here with 'wallheat run'{}",
          options_.shard.count > 1 ? " of shard " + options_.shard.text() : "", text,
          options_.shard.count > 1 ? ", or take fewer jobs" : ""));
  }

  /// Of a job's nodes only what the options say is known.
  void look_at_memory() {
    if (!ids_ || options_.device == DeviceChoice::gpu) return;
    std::size_t plans = 0;
    std::optional<std::size_t> largest;
    const auto cells = [&](std::size_t plan) { return shapes_[plan].rows * shapes_[plan].cols; };
    for (std::size_t plan = 0; plan < shapes_.size(); ++plan) {
      if (!is_left(plan) || cells(plan) == 0) continue;
      ++plans;
      if (!largest || cells(plan) > cells(*largest)) largest = plan;
    }
    if (!largest) return;
    const PlanMemory need =
        memory_of_plan(*source_, std::string(ids_->ids[*largest]), options_.job);
    NodeMemory node = node_of_job();
    if (options_.check == CheckFor::this_machine) {
      const Machine machine = local_machine();
      if (options_.device == DeviceChoice::automatic && !machine.gpus.empty()) return;
      node.name = machine.host;
      node.threads =
          threads_of(place_workers({machine}, DeviceChoice::cpu, options_.threads).front());
      if (node.available == 0) node.available = static_cast<double>(machine.memory_bytes);
    }
    const bool threads_known = node.threads > 0;
    node.threads = std::clamp<std::size_t>(node.threads, 1, plans);
    tell("memory",
         fmt::format(
             "about {} for {} plan(s) at a time ({} for {}){}{}", bytes_text(needed_on(node, need)),
             node.threads, bytes_text(need.bytes), need.id,
             node.available > 0 ? fmt::format(", {} are there", bytes_text(node.available)) : "",
             threads_known ? "" : "; how many a node solves is not known here"));
    if (std::string warning = warning_of_memory(node, need); !warning.empty())
      found_.warnings.push_back(std::move(warning));
  }

  /// Without threads if their number is unknown.
  [[nodiscard]] NodeMemory node_of_job() const {
    const auto threads = static_cast<std::size_t>(options_.threads);  // of each worker; 0: all
    const std::size_t workers = options_.job_workers;
    const std::size_t cores = options_.job_cores;
    const std::size_t all = threads == 0 ? cores : workers * threads;
    return {"a node", workers, cores == 0 ? all : std::min(all, cores),
            static_cast<double>(workers) * static_cast<double>(PeakMemory().bytes()),
            options_.memory_gb * 1e9};
  }

  void look_at_solver() {
    (void)options_.job.solver.make();
    std::vector<std::string> settings;
    for (const auto& [name, value] : options_.job.solver.settings())
      if (name != "solver" && name != "solver_version")
        settings.push_back(fmt::format("{} {}", name, value));
    tell("solver",
         fmt::format("{} ({})", options_.job.solver.solver_text(), fmt::join(settings, ", ")));
  }

  /// Who will solve, and why.
  void look_at_devices() {
    if (options_.device == DeviceChoice::gpu) {
      const GpuSupport support = gpu_support();
      if (support.can_solve) {
        tell("gpu", fmt::format("{} here", support.gpus.size()));
      } else if (options_.check == CheckFor::this_machine) {
        found_.problems.push_back("--device gpu is not possible here: " + support.reason);
      } else {
        tell("gpu", "not looked for: the job's nodes must have them");
      }
      return;
    }
    const SolverOptions& solver = options_.job.solver;
    if (options_.device == DeviceChoice::cpu) {
      if (solver.kind != SolverKind::jacobi)
        tell("device",
             fmt::format("the CPU: GPUs do not have the solver {}", to_string(solver.kind)));
      return;
    }
    if (options_.check == CheckFor::a_job) {
      tell("device", "the GPUs of the job's nodes, or their cores");
      return;
    }
    const GpuSupport support = gpu_support();
    tell("device", support.can_solve ? fmt::format("{} GPU(s): {}", support.gpus.size(),
                                                   support.gpus.front().name)
                                     : "the CPU: " + support.reason);
  }

  static void look_at_directory(const std::filesystem::path& file) {
    const auto folder = std::filesystem::absolute(result_path(file)).parent_path();
    if (!std::filesystem::is_directory(folder))
      throw RunError(fmt::format("there is no directory {}; make it, or name another file than {}",
                                 folder.string(), file.string()));
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
      throw RunError(fmt::format("nothing can be written into {}; name another file than {}",
                                 folder.string(), file.string()));
  }

  const RunOptions& options_;
  Readiness found_;
  SharedPlanSource source_;
  std::optional<PlanIds> ids_;
  std::vector<GridShape> shapes_;  // {0, 0} where unknown
  std::vector<bool> settled_;      // of each plan: solved, or given up
  std::size_t plans_of_shard_ = 0;
  std::size_t given_up_ = 0;  // of them
};

}  // namespace

Readiness examine_readiness(const RunOptions& options) { return Examination(options).run(); }

}  // namespace wallheat
