#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/store/disk.hpp"
#include "store/results/result_store.hpp"

// What a result file may hold after a crash, and what it does hold.
namespace wallheat::simulation {

/// A result that a plan gets: its number among all of them, and whether it got new stamps since.
struct Version {
  int number = -1;  ///< below 0: the plan is pending
  bool restamped = false;
  [[nodiscard]] bool is_pending() const { return number < 0; }
  friend auto operator<=>(const Version&, const Version&) = default;
};

/// The plans of a campaign of that name, fields of so many different shapes, 0: none; with rooms or
/// without.
[[nodiscard]] StorePlan make_plan(const std::string& campaign, std::size_t count,
                                  std::size_t shapes, bool rooms);
[[nodiscard]] PlanResult make_result(const StorePlan& plan, std::size_t index, Version version);
/// Incompressible, so that fields take sectors of their own.
[[nodiscard]] Grid<double> make_field(std::size_t number, GridShape shape, int version);

/// One of the things that a disk may hold.
struct World {
  bool missing = false;      ///< there is no file
  bool closed = false;       ///< it is one HDF5 file, and no log beside it
  std::size_t sessions = 0;  ///< at least
  std::size_t ended = 0;     ///< of these, with their end
  StorePlan plan{};
  std::map<std::string, std::set<Version>> versions{};  ///< that a plan may have, by its id
};
using Worlds = std::vector<World>;

/// All plans are pending.
[[nodiscard]] World new_world(const StorePlan& plan);
inline const World no_file{.missing = true};

/// The world that these rows are, with what was found as its only versions. `who` has found them.
/// Throws Violation.
[[nodiscard]] World matching(const Worlds& worlds, const Attributes& settings,
                             const std::vector<PlanResult>& rows, const std::string& who);

/// That fields and sessions are those of a world with one version for each plan. Throws Violation.
void check_contents(const World& world, const ResultReader& reader, const std::string& who);

/// A disk, and what may be found on it after a crash at each event.
struct Life {
  explicit Life(Disk disk_) : disk(std::move(disk_)) {}

  void may_hold(Worlds worlds) { history_.emplace_back(disk.events().size(), std::move(worlds)); }
  [[nodiscard]] const Worlds& after(std::size_t events) const;
  [[nodiscard]] const Worlds& now() const { return history_.back().second; }
  /// The first event after which it is known what the disk may hold.
  [[nodiscard]] std::size_t begin() const { return history_.front().first; }

  Disk disk;

 private:
  std::vector<std::pair<std::size_t, Worlds>> history_;
};

}  // namespace wallheat::simulation
