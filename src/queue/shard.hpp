#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace wallheat {

/// One job's share of a campaign: the plans whose number (from 0, in the order of the list) leaves
/// the remainder `number` - 1 when divided by `count`.
struct Shard {
  std::size_t number = 1;  ///< from 1 to count
  std::size_t count = 1;
  [[nodiscard]] bool contains(std::size_t plan) const { return plan % count == number - 1; }
  /// Returns the number of plans of this shard in a list of so many plans.
  [[nodiscard]] std::size_t plan_count(std::size_t listed) const {
    return (listed + count - number) / count;
  }
  /// "3/16"
  [[nodiscard]] std::string text() const;
};

/// Throws UsageError if number is not from 1 to count.
[[nodiscard]] Shard make_shard(std::size_t number, std::size_t count);
/// Reads "K/N". Throws UsageError.
[[nodiscard]] Shard parse_shard(const std::string& text);

/// The file of a shard: results.h5 becomes results.part-03-of-16.h5; unchanged for a single shard.
[[nodiscard]] std::filesystem::path shard_path(const std::filesystem::path& file,
                                               const Shard& shard);

}  // namespace wallheat
