#include "app/catalogue.hpp"

#include "app/plan_hash.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

PlanIds requested_plans(const RunOptions& options) {
  if (!std::filesystem::is_directory(options.data)) {
    throw RunError("--data: there is no directory " + options.data.string());
  }
  PlanIds plans = !options.ids.empty()
                      ? unique_ids(options.ids)
                      : read_ids(options.ids_file.empty() ? options.data / "building_ids.txt"
                                                          : options.ids_file);
  if (options.first > 0 && options.first < plans.ids.size()) plans.ids.resize(options.first);
  return plans;
}

std::vector<GridShape> plan_shapes(const std::filesystem::path& data,
                                   const std::vector<std::string>& ids, const Shard& shard) {
  std::vector<GridShape> shapes(ids.size());
  for (std::size_t plan = 0; plan < ids.size(); ++plan) {
    if (!shard.holds(plan)) continue;
    try {
      shapes[plan] = floor_plan_shape(data, ids[plan]);
    } catch (const InputError&) {
      shapes[plan] = {};
    }
  }
  return shapes;
}

std::vector<std::string> changed_inputs(const std::filesystem::path& data,
                                        std::span<const PlanResult> rows) {
  std::vector<std::string> changed;
  for (const PlanResult& row : rows) {
    if (!is_answer(row.status)) continue;
    try {
      if (floor_plan_stamps(data, row.id) == row.input_stamps) continue;
      if (plan_hash(load_floor_plan(data, row.id)) != row.input_hash)
        changed.push_back(row.id + " (other content)");
    } catch (const InputError& error) {
      changed.push_back(row.id + " (" + error.what() + ")");
    }
  }
  return changed;
}

}  // namespace wallheat
