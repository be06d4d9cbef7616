#include "run/plan_selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/text.hpp"
#include "core/threads.hpp"
#include "plans/plan_source.hpp"
#include "run/stop_signals.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the plans that a source lists; an empty list if it has no list of plans.
StringList listed_plans(const PlanSource& source) {
  try {
    return source.ids().ids;
  } catch (const SourceUnavailable&) {
    throw;
  } catch (const RunError&) {
    return {};
  }
}

bool has_plan(const PlanSource& source, const std::string& id) {
  try {
    (void)source.stamp(id);
    return true;
  } catch (const InputSystemError&) {
    return true;  // the file exists
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::string unknown_plan_message(const std::string& owner, const std::string& id,
                                 const StringList& plans) {
  const auto number = [](std::string_view name) {
    return name.substr(std::min(name.find_first_not_of('0'), name.size()));
  };
  const std::vector<std::string> names(plans.begin(), plans.end());
  // "1" for "00001" is the most likely mistake, and too different for did_you_mean().
  const auto meant = std::ranges::find(names, number(id), number);
  std::string hint =
      meant != names.end() ? fmt::format("; did you mean '{}'?", *meant) : did_you_mean(id, names);
  if (hint.empty() && !names.empty()) hint = fmt::format("; its first plan is '{}'", names.front());
  return fmt::format("{} has no plan '{}'{}", owner, id, hint);
}

void require_plans(const PlanSource& source, const StringList& ids) {
  const StringList listed = listed_plans(source);
  IdIndex known;
  for (const std::string_view id : listed) known.add(id);
  for (const std::string_view text : ids) {
    const std::string id(text);
    if (!known.find(id) && !has_plan(source, id))
      throw RunError(unknown_plan_message(source.path().string(), id, listed));
  }
}

PlanIds requested_plans(const PlanSource& source, const std::vector<std::string>& ids,
                        const std::filesystem::path& ids_file, std::size_t first) {
  const bool all = ids.empty() && ids_file.empty();
  PlanIds plans = all            ? source.ids()
                  : !ids.empty() ? unique_ids(StringList(ids))
                                 : read_ids(ids_file);
  if (first > 0 && first < plans.ids.size()) plans.ids = plans.ids.first(first);
  if (!all) require_plans(source, plans.ids);
  return plans;
}

void require_walls(const PlanSource& source, const StringList& ids, const WallOverrides& walls) {
  std::set<double> kinds;
  const auto missing = [&] {
    return std::find_if(walls.begin(), walls.end(),
                        [&](const WallOverride& wall) { return !kinds.contains(wall.nominal); });
  };
  for (const std::string_view id : ids) {
    if (missing() == walls.end()) return;
    if (stop_requested()) throw StopRequested();
    try {
      kinds.merge(nominal_wall_temperatures(source.load(std::string(id))));
    } catch (const InputError&) {
      // The worker that is assigned this plan reports the error.
    }
  }
  if (const auto wall = missing(); wall != walls.end() && !kinds.empty()) {
    const std::string nobody =
        ids.size() == 1 ? fmt::format("plan {} has no wall", escape_control_chars(ids[0]))
                        : fmt::format("no plan of {} has a wall", source.path().string());
    throw RunError(fmt::format("{} at {} °C (from --wall); available: {}{}", nobody,
                               format_repr(wall->nominal), to_text(kinds),
                               wall->nominal == 0.0 ? "; 0 denotes cells outside the building, and "
                                                      "the surroundings of the grid stay at 0 °C"
                               : kinds.contains(0.0) ? " (0.0 is the outside, or walls at 0 °C)"
                                                     : ""));
  }
}

std::string describe_plan(const PlanSource& source, const PlanKey& plan) {
  constexpr std::size_t large = 4'000'000;  // in cells; a few plans are read at the start of a run
  try {
    const GridShape shape = source.shape(plan);
    std::string text = fmt::format("{} x {} cells", shape.rows, shape.cols);
    if (std::size_t{shape.rows} * shape.cols > large) return text;
    return fmt::format("{} (hash {:016x})", text, plan_hash(source.load(plan)));
  } catch (const InputError& error) {
    return fmt::format("unreadable ({})", error.what());
  }
}

namespace {

/// The stamp by which copies of a plan are compared.
struct CopyStamp {
  std::optional<std::uint64_t> stamp{};  ///< see PlanSource::copy_stamp(); nullopt: unknown
  bool is_missing = false;
};

CopyStamp find_stamp(const PlanSource& source, const Task& plan) {
  try {
    return {source.copy_stamp({plan.id, plan.entry_offsets})};
  } catch (const InputSystemError&) {
    return {};  // if the error persists, the plans fail on this host
  } catch (const InputError&) {
    return {{}, true};
  }
}

/// Describes a plan for a comparison. Returns the error message if the plan cannot be read at all,
/// so that every error is a difference and none ends the worker.
std::string describe_or_explain(const PlanSource& source, const PlanKey& plan) {
  try {
    return describe_plan(source, plan);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Returns the index of sample k of `samples` that are spread over `count` plans, from the first to
/// the last.
QueueIndex spread(std::size_t k, std::size_t samples, std::size_t count) {
  return static_cast<QueueIndex>(k * (count - 1) / std::max<std::size_t>(samples - 1, 1));
}

// File servers handle many requests at once, and each request has a latency.
constexpr std::size_t stamp_threads = 16;

}  // namespace

SourceDescription describe_source(const PlanSource& source, std::size_t count,
                                  std::size_t max_stamps,
                                  const std::function<Task(QueueIndex)>& task) {
  constexpr std::size_t max_probes = 3;
  SourceDescription description{source_identity(source.path())};
  const std::size_t probes = std::min(max_probes, count);
  for (std::size_t k = 0; k < probes; ++k) {
    const Task plan = task(spread(k, probes, count));
    description.probes.push_back({plan, describe_plan(source, {plan.id, plan.entry_offsets})});
  }
  const std::size_t stamps = std::min(max_stamps, count);
  for (std::size_t k = 0; k < stamps; ++k)
    description.stamps.push_back({task(spread(k, stamps, count))});
  parallel_for(stamp_threads, stamps, [&] {
    return [&](std::size_t k) {
      PlanStamp& plan = description.stamps[k];
      plan.stamp = find_stamp(source, plan.task).stamp;
    };
  });
  return description;
}

std::string source_difference(const PlanSource& source, const SourceDescription& rank_0) {
  for (const auto& [plan, content] : rank_0.probes)
    if (const std::string mine = describe_or_explain(source, {plan.id, plan.entry_offsets});
        mine != content)
      return fmt::format("its plan {} is {}, but rank 0's is {}", plan.id, mine, content);
  if (source_identity(source.path()) == rank_0.identity) return {};
  const std::vector<PlanStamp>& theirs = rank_0.stamps;
  std::vector<CopyStamp> own(theirs.size());
  parallel_for(stamp_threads, own.size(),
               [&] { return [&](std::size_t k) { own[k] = find_stamp(source, theirs[k].task); }; });
  const std::string copy = std::filesystem::absolute(source.path()).string();
  std::size_t equal = 0;
  std::optional<std::size_t> different;  // index of the first one
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (!theirs[k].stamp) continue;  // the plan fails on every worker
    if (own[k].is_missing)
      return fmt::format("its copy of the plans, {}, does not contain plan {}", copy,
                         theirs[k].task.id);
    if (own[k].stamp == theirs[k].stamp) ++equal;
    if (own[k].stamp && own[k].stamp != theirs[k].stamp && !different) different = k;
  }
  // If no stamp agrees, the copy does not have the times of the original.
  if (!different || equal == 0) return {};
  return fmt::format(
      "plan {} in its copy of the plans, {}, differs in size or time from rank 0's, but {} plans "
      "agree; copy the plans again with their times (cp -p, rsync -t)",
      theirs[*different].task.id, copy, equal);
}

void check_input_change(const PlanSource& source, const PlanResult& row, InputChanges& changes) {
  if (!is_solved(row.status)) return;
  try {
    if (source.stamp(row.id) == row.input_stamp) return;
    if (plan_hash(source.load(row.id)) != row.input_hash)
      changes.push_back({row.index, row.id, "different content"});
  } catch (const InputSystemError& error) {  // independent of the content
    throw RunError(
        fmt::format("cannot check whether plan {} has changed: {}; fix this and resume, "
                    "or resume on another host",
                    row.id, error.what()));
  } catch (const InputError& error) {
    changes.push_back({row.index, row.id, error.what()});
  }
}

std::string join_first(std::size_t count, const std::function<std::string(std::size_t)>& text) {
  constexpr std::size_t few = 3;
  std::vector<std::string> shown;
  for (std::size_t k = 0; k < std::min(few, count); ++k) shown.push_back(text(k));
  if (count > few) shown.push_back(fmt::format("and {} more", count - few));
  return fmt::format("{}", fmt::join(shown, "; "));
}

std::string input_changes_text(const InputChanges& changes, const PlanSource& source) {
  if (changes.empty()) return {};
  return fmt::format(
      "{} in {} since: {}",
      count_text(changes.size(), "solved plan has changed", "solved plans have changed"),
      source.path().string(), join_first(changes.size(), [&](std::size_t k) {
        return fmt::format("{} ({})", changes[k].id, changes[k].why);
      }));
}

}  // namespace wallheat
