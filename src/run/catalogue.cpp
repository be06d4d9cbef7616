#include "run/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/python_float.hpp"
#include "plans/plan_hash.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

PlanIds requested_plans(const PlanSource& source, const std::vector<std::string>& ids,
                        const std::filesystem::path& ids_file, std::size_t first) {
  PlanIds plans = !ids.empty()        ? unique_ids(ids)
                  : !ids_file.empty() ? read_ids(ids_file)
                                      : source.ids();
  if (first > 0 && first < plans.ids.size()) plans.ids = plans.ids.first(first);
  return plans;
}

std::vector<GridShape> plan_shapes(const PlanSource& source, const TextList& ids,
                                   const Shard& shard, const Interrupted& interrupted) {
  std::vector<GridShape> shapes(ids.size());
  for (std::size_t plan = 0; plan < ids.size(); ++plan) {
    if (!shard.holds(plan)) continue;
    if (interrupted()) throw StopRequested();
    try {
      shapes[plan] = source.shape(std::string(ids[plan]));
    } catch (const InputError&) {
      shapes[plan] = {};
    }
  }
  return shapes;
}

void require_wall_kinds(const PlanSource& source, const TextList& ids,
                        const WallTemperatures& walls, const Interrupted& interrupted) {
  std::set<double> kinds;
  const auto missing = [&] {
    return std::find_if(walls.begin(), walls.end(),
                        [&](const WallTemperature& wall) { return !kinds.contains(wall.kind); });
  };
  for (const std::string_view id : ids) {
    if (missing() == walls.end()) return;
    if (interrupted()) throw StopRequested();
    try {
      kinds.merge(wall_kinds(source.load(std::string(id))));
    } catch (const InputError&) {
      // The worker that gets it reports what is wrong with it.
    }
  }
  if (const auto wall = missing(); wall != walls.end() && !kinds.empty())
    throw RunError(fmt::format("no plan of {} has a wall of {} °C, which --wall names, but of {}",
                               source.path().string(), python_float(wall->kind), to_text(kinds)));
}

std::string plan_sample(const PlanSource& source, const std::string& id) {
  constexpr std::size_t large = 4'000'000;  // cells; a few are read when a run starts
  try {
    const GridShape shape = source.shape(id);
    std::string text = fmt::format("{} x {} cells", shape.rows, shape.cols);
    if (std::size_t{shape.rows} * shape.cols > large) return text;
    return fmt::format("{} (hash {:016x})", text, plan_hash(source.load(id)));
  } catch (const InputError& error) {
    return fmt::format("unreadable ({})", error.what());
  }
}

void look_for_change(const PlanSource& source, const PlanResult& row, InputChanges& changes) {
  if (!is_answer(row.status)) return;
  try {
    if (source.stamp(row.id) == row.input_stamp) return;
    if (plan_hash(source.load(row.id)) != row.input_hash)
      changes.changed.push_back({row.index, row.id, "other content"});
  } catch (const InputError& error) {
    changes.unreadable.push_back({row.index, row.id, error.what()});
  }
}

std::string text_of(const InputChanges& changes, const PlanSource& source) {
  constexpr std::size_t most = 3;
  const std::size_t count = changes.changed.size() + changes.unreadable.size();
  if (count == 0) return {};
  std::vector<std::string> shown;
  for (const auto* inputs : {&changes.changed, &changes.unreadable})
    for (const ChangedInput& input : *inputs)
      if (shown.size() < most) shown.push_back(fmt::format("{} ({})", input.id, input.why));
  if (count > most) shown.emplace_back("...");
  return fmt::format("{} plan(s) that are already solved have changed in {} since: {}", count,
                     source.path().string(), fmt::join(shown, ", "));
}

}  // namespace wallheat
