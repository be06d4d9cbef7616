#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wallheat {

/// The least temperature of a wall with which a goal is reached, and what it is proven to lie
/// between, in °C. Infinite: no temperature reaches it; minus infinite: any does.
struct NeededTemperature {
  double value = 0;
  double least = 0;
  double most = 0;
};

/// Something in °C that is linear in a wall's temperature: what it is while the wall is at `from`,
/// and what each °C of the wall adds, which is not negative. Both may be off by their bounds.
struct LinearInWall {
  double from = 0;
  double now = 0;
  double now_bound = 0;
  double per_degree = 0;
  double per_degree_bound = 0;
};

/// Which wall makes it at least `target`.
[[nodiscard]] NeededTemperature needed_temperature(const LinearInWall& value, double target);

/// The `count`-th lowest of these, 1 to as many as there are: with which so many goals are reached.
/// What is proven of all holds for it, too: if no temperature is less than its `least`, the k-th
/// lowest is not less than the k-th lowest of these.
[[nodiscard]] NeededTemperature needed_for_count(std::span<const NeededTemperature> each,
                                                 std::size_t count);

/// How many of so many a share of them is, at least: 0.95 of 20 is 19, of 21 it is 20.
[[nodiscard]] std::size_t count_of_share(double share, std::size_t of);

}  // namespace wallheat
