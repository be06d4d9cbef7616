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
#include "run/gpu_choice.hpp"
#include "run/memory_need.hpp"
#include "solve/gpu/device.hpp"
#include "store/results/result_path.hpp"
#include "store/results/result_store.hpp"
#include "store/results/row.hpp"
#include "view/bytes_text.hpp"
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
    std::size_t mine = 0;
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
    StorePlan plan{ids_->ids, options_.job.solver.settings(), options_.job.save_fields, {}};
    if (options_.job.save_fields) plan.shapes = shapes_;
    const bool resumes = options_.resume && has_results(options_.out);
    InputChanges changes;
    std::size_t answered = 0;
    answered_.clear();
    const std::vector<std::string> report =
        ResultStore::look(options_.out, plan,
                          resumes              ? Opening::resume
                          : options_.overwrite ? Opening::overwrite
                                               : Opening::create,
                          [&](const PlanResult& row) {
                            answered_.push_back(is_answer(row.status));
                            answered += is_answer(row.status) ? 1 : 0;
                            gpu_choice_.measured.add(row);
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
  }

  [[nodiscard]] bool is_left(std::size_t plan) const {
    return options_.shard.holds(plan) && !(plan < answered_.size() && answered_[plan]);
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
    // A row is in the file and, until the end, in the log. Of real floor plans' fields a quarter is
    // left when they are compressed (src/store/README.md); one that is nothing but room keeps
    // nearly all.
    constexpr double usual_share = 0.25;
    constexpr double usual_rooms = 40;  // of a real floor plan
    const double rows =
        2 * static_cast<double>(plans) *
        (sizeof(store::Row) + (options_.job.solver.door ? usual_rooms * sizeof(RoomResult) : 0));
    const double fields = options_.job.save_fields ? cells * sizeof(double) : 0;
    const double usual = rows + usual_share * fields;
    const auto folder = std::filesystem::absolute(result_path(options_.out)).parent_path();
    std::error_code absent;  // which is a problem of its own
    const auto space = std::filesystem::space(folder, absent);
    if (absent) return;
    const auto free = static_cast<double>(space.available);
    tell("disk", fmt::format("about {} to store{}, {} are free in {}", bytes_text(usual),
                             options_.job.save_fields
                                 ? fmt::format(" (a quarter of the fields' {})", bytes_text(fields))
                                 : "",
                             bytes_text(free), folder.string()));
    if (usual > free)
      found_.problems.push_back(
          fmt::format("{} has room for {} only, and the results need about {}: make room, or name "
                      "a --out elsewhere",
                      folder.string(), bytes_text(free), bytes_text(usual)));
    else if (rows + fields > free)
      found_.warnings.push_back(
          fmt::format("{} has room for {}: enough for fields of usual floor plans, but not for "
                      "ones that are nothing but room",
                      folder.string(), bytes_text(free)));
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
    NodeMemory node{"a node", 1, static_cast<std::size_t>(std::max(1, options_.threads)),
                    static_cast<double>(PeakMemory().bytes()), options_.memory_gb * 1e9};
    if (options_.check == CheckFor::this_machine) {
      const Machine machine = local_machine();
      if (options_.device == DeviceChoice::automatic && !machine.gpus.empty()) return;
      node.name = machine.host;
      node.threads =
          threads_of(place_workers({machine}, DeviceChoice::cpu, options_.threads).front());
      if (node.available == 0) node.available = static_cast<double>(machine.memory_bytes);
    }
    node.threads = std::min(node.threads, plans);
    tell("memory",
         fmt::format(
             "about {} for {} plan(s) at a time ({} for {}){}", bytes_text(needed_on(node, need)),
             node.threads, bytes_text(need.bytes), need.id,
             node.available > 0 ? fmt::format(", {} are there", bytes_text(node.available)) : ""));
    if (std::string warning = warning_of_memory(node, need); !warning.empty())
      found_.warnings.push_back(std::move(warning));
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
      tell("device", "the job's nodes decide by what their GPUs and cores can do");
      return;
    }
    if (ids_)
      gpu_choice_.look_at(*source_, ids_->ids.size(),
                          [&](std::size_t i) { return std::string(ids_->ids[i]); });
    if (gpu_choice_.any_source) {
      tell("device", "the CPU: plans have sources, and no GPU was measured with them yet");
      return;
    }
    tell("device",
         gpu_choice_.who_solves(machine_for(options_.device, solver.isa), options_.threads));
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
  std::vector<bool> answered_;     // of each plan
  GpuChoice gpu_choice_;
};

}  // namespace

Readiness examine_readiness(const RunOptions& options) { return Examination(options).run(); }

}  // namespace wallheat
