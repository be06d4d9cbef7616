#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <vector>

namespace wallheat {

/// Plans in the order in which they should be started. Made for tens of millions of them: sorted
/// runs of up to 128 keys, found through a tree of their first keys, take 12 to 24 bytes a plan,
/// and little memory is touched to add or take one.
class PendingPlans {
 public:
  struct Key {
    std::int32_t trouble = 0;    ///< failures and lost workers: the untroubled go first
    std::uint32_t position = 0;  ///< in the list of plans; last, it decides between equals
    float updates = 0;           ///< long before short; 0 where not known
    friend bool operator==(const Key&, const Key&) = default;
    friend bool operator<(const Key& a, const Key& b) {
      if (a.trouble != b.trouble) return a.trouble < b.trouble;
      if (a.updates != b.updates) return a.updates > b.updates;
      return a.position < b.position;
    }
  };

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// A key that is not there yet.
  void insert(const Key& key) {
    auto run = run_of(key);
    if (std::ssize(run->second) == longest_run) {
      std::vector<Key>& keys = run->second;
      // Keys that come in order fill one run after the other.
      const bool is_last = keys.back() < key;
      const auto middle = keys.begin() + (is_last ? longest_run : longest_run / 2);
      runs_[is_last ? key : *middle].assign(middle, keys.end());
      keys.erase(middle, keys.end());
      run = run_of(key);
    }
    std::vector<Key>& keys = run->second;
    keys.insert(std::lower_bound(keys.begin(), keys.end(), key), key);
    ++size_;
  }

  /// Returns false if it is not there.
  bool erase(const Key& key) {
    const auto run = run_of(key);
    std::vector<Key>& keys = run->second;
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    if (found == keys.end() || *found != key) return false;
    keys.erase(found);
    if (keys.empty() && run != runs_.begin()) runs_.erase(run);
    --size_;
    return true;
  }

  /// The first that is not before `key`; none: nullptr. Valid until the next change.
  [[nodiscard]] const Key* at_or_after(const Key& key) const {
    const auto after = runs_.upper_bound(key);
    const std::vector<Key>& keys = std::prev(after)->second;
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    if (found != keys.end()) return &*found;
    return after == runs_.end() ? nullptr : &after->second.front();
  }

 private:
  static constexpr std::ptrdiff_t longest_run = 128;
  static constexpr Key before_all{std::numeric_limits<std::int32_t>::min(), 0,
                                  std::numeric_limits<float>::infinity()};
  /// By a key that none of the run's is before. The first is always there; no other is empty.
  using Runs = std::map<Key, std::vector<Key>>;

  /// Where the key is or belongs.
  Runs::iterator run_of(const Key& key) { return std::prev(runs_.upper_bound(key)); }

  Runs runs_{{before_all, {}}};
  std::size_t size_ = 0;
};

}  // namespace wallheat
