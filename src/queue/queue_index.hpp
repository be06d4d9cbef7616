#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <vector>

namespace wallheat {

/// Position of a plan among the plans of one run. It is a separate type, because it differs from
/// the row index (PlanResult::index) on a resume and in a shard: neither converts to the other.
/// QueuedPlan::index is the row index of a queue index.
enum class QueueIndex : std::uint32_t {};

/// A list with one element per plan of a run.
template <class T>
class QueueVector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  [[nodiscard]] T& operator[](QueueIndex plan) {
    return std::vector<T>::operator[](static_cast<std::size_t>(plan));
  }
  [[nodiscard]] const T& operator[](QueueIndex plan) const {
    return std::vector<T>::operator[](static_cast<std::size_t>(plan));
  }
};

/// Returns the queue indices of a run of `count` plans, in ascending order.
[[nodiscard]] inline auto queue_indices(std::size_t count) {
  return std::views::iota(std::size_t{0}, count) |
         std::views::transform([](std::size_t plan) { return static_cast<QueueIndex>(plan); });
}

}  // namespace wallheat
