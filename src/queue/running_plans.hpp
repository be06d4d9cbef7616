#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wallheat {

/// Running plans by how long they will still take. Those within their expected time are ordered by
/// its end, the others by their start: so the order stays while time passes, but for plans that
/// come to be late. Each change costs O(log n).
class RunningPlans {
 public:
  struct Place {
    bool late = false;
    double time_s = 0;  ///< of its start where it is late, else of its end
  };

  void put(std::uint32_t number, Place place) {
    places_[number] = place;
    if (place.late) {
      late_.emplace(-place.time_s, number);
    } else {
      in_time_.emplace(place.time_s, number);
    }
  }
  void remove(std::uint32_t number) {
    const auto found = places_.find(number);
    if (found == places_.end()) return;
    const Place place = found->second;
    places_.erase(found);
    if (place.late) {
      late_.erase({-place.time_s, number});
    } else {
      in_time_.erase({place.time_s, number});
    }
  }
  /// One whose time is over, that is not among the late ones.
  [[nodiscard]] std::optional<std::uint32_t> overdue(double now_s) const {
    if (in_time_.empty() || in_time_.begin()->first > now_s) return std::nullopt;
    return in_time_.begin()->second;
  }

  struct Candidate {
    double left_s;
    std::uint32_t number;
  };
  /// Goes through them, what takes longest from now first.
  class Cursor {
   public:
    Cursor(const RunningPlans& plans, double now_s)
        : plans_(plans),
          now_s_(now_s),
          late_(plans.late_.rbegin()),
          in_time_(plans.in_time_.rbegin()) {}
    std::vector<Candidate> next(std::size_t most) {
      std::vector<Candidate> candidates;
      while (candidates.size() < most) {
        const auto candidate = next();
        if (!candidate) break;
        candidates.push_back(*candidate);
      }
      return candidates;
    }
    std::optional<Candidate> next() {
      const bool is_late = late_ != plans_.late_.rend();
      const bool is_in_time = in_time_ != plans_.in_time_.rend();
      if (!is_late && !is_in_time) return std::nullopt;
      const Candidate late =
          is_late ? Candidate{now_s_ + late_->first, late_->second} : Candidate{-infinity, 0};
      const Candidate in_time = is_in_time ? Candidate{in_time_->first - now_s_, in_time_->second}
                                           : Candidate{-infinity, 0};
      if (std::pair(late.left_s, late.number) > std::pair(in_time.left_s, in_time.number)) {
        ++late_;
        return late;
      }
      ++in_time_;
      return in_time;
    }

   private:
    const RunningPlans& plans_;
    double now_s_;
    std::set<std::pair<double, std::uint32_t>>::const_reverse_iterator late_, in_time_;
  };

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  std::unordered_map<std::uint32_t, Place> places_;
  std::set<std::pair<double, std::uint32_t>> in_time_;  ///< end, number
  std::set<std::pair<double, std::uint32_t>> late_;     ///< -start, number
};

}  // namespace wallheat
