#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "wallheat/floor_plan.hpp"
#include "wallheat/plan_ids.hpp"

namespace wallheat {

/// Where floor plans come from: a directory, or a pack (wallheat/plan_pack.hpp). Several threads
/// may use one at once. What takes an id throws InputError, which names the file and the plan,
/// where the plan is missing or damaged; that plan fails then, and no other.
class PlanSource {
 public:
  virtual ~PlanSource() = default;

  /// The directory or file, for sentences about it.
  [[nodiscard]] virtual std::filesystem::path path() const = 0;
  /// All plans in their order. Throws RunError where there is no such list.
  [[nodiscard]] virtual PlanIds ids() const = 0;
  [[nodiscard]] virtual FloorPlan load(const std::string& id) const = 0;
  /// The mask alone.
  [[nodiscard]] virtual Grid<std::uint8_t> interior(const std::string& id) const = 0;
  /// Reads no cell.
  [[nodiscard]] virtual GridShape shape(const std::string& id) const = 0;
  /// Those of the files that the plan stands in; equal ones mean that it has not changed.
  [[nodiscard]] virtual PlanStamps stamps(const std::string& id) const = 0;
};

using SharedPlanSource = std::shared_ptr<const PlanSource>;

/// A directory with ID_domain.npy, ID_interior.npy and, if the plans are to have an order of their
/// own or only some are meant, building_ids.txt. Looks at nothing yet.
[[nodiscard]] SharedPlanSource directory_source(std::filesystem::path directory);

}  // namespace wallheat
