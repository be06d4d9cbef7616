#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace wallheat {

/// Plans in the order in which they should be started. Made for tens of millions of them: sorted
/// runs of up to 128 keys, found through a tree of their first keys, take 16 to 32 bytes a plan,
/// and little memory is touched to add or take one.
class PendingPlans {
 public:
  struct Key {
    std::int32_t trouble = 0;    ///< failures and lost workers: the untroubled go first
    std::uint32_t position = 0;  ///< in the list of plans; last, it decides between equals
    double updates = 0;          ///< long before short; 0 where not known
    friend bool operator==(const Key&, const Key&) = default;
    friend bool operator<(const Key& a, const Key& b) {
      if (a.trouble != b.trouble) return a.trouble < b.trouble;
      if (a.updates != b.updates) return a.updates > b.updates;
      return a.position < b.position;
    }
  };

  [[nodiscard]] bool empty() const { return runs_.empty(); }

  /// A key that is not there yet.
  void insert(const Key& key) {
    auto run = run_of(key);
    if (run == runs_.end()) {
      start_run(key);
      return;
    }
    std::vector<Key>& keys = run->second;
    if (keys.size() == longest_run) {
      // Keys that come in order fill one run after the other.
      if (keys.back() < key) {
        start_run(key);
        return;
      }
      const auto middle = keys.begin() + longest_run / 2;
      std::vector<Key>& upper = start_run(*middle);
      upper.assign(middle, keys.end());
      keys.erase(middle, keys.end());
      if (!(key < upper.front())) return insert_sorted(upper, key);
    }
    insert_sorted(keys, key);
  }

  /// Returns false if it is not there.
  bool erase(const Key& key) {
    const auto run = run_of(key);
    if (run == runs_.end()) return false;
    std::vector<Key>& keys = run->second;
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    if (found == keys.end() || *found != key) return false;
    keys.erase(found);
    if (keys.empty()) runs_.erase(run);
    return true;
  }

  /// The first that is not before `key`; none: nullptr. Valid until the next change.
  [[nodiscard]] const Key* at_or_after(const Key& key) const {
    auto run = runs_.upper_bound(key);
    if (run != runs_.begin()) {
      const std::vector<Key>& keys = std::prev(run)->second;
      const auto found = std::lower_bound(keys.begin(), keys.end(), key);
      if (found != keys.end()) return &*found;
    }
    return run == runs_.end() ? nullptr : &run->second.front();
  }

 private:
  static constexpr std::size_t longest_run = 128;
  /// By a key that none of the run's is before; no run is empty.
  using Runs = std::map<Key, std::vector<Key>>;

  /// Where the key is or belongs; end() where there is no run at all.
  Runs::iterator run_of(const Key& key) {
    const auto after = runs_.upper_bound(key);
    if (after != runs_.begin()) return std::prev(after);
    if (after == runs_.end()) return after;
    // Before all others: the first run begins earlier now.
    auto first = runs_.extract(after);
    first.key() = key;
    return runs_.insert(std::move(first)).position;
  }
  std::vector<Key>& start_run(const Key& key) {
    std::vector<Key>& keys = runs_[key];
    keys.push_back(key);
    return keys;
  }
  static void insert_sorted(std::vector<Key>& keys, const Key& key) {
    keys.insert(std::lower_bound(keys.begin(), keys.end(), key), key);
  }

  Runs runs_;
};

}  // namespace wallheat
