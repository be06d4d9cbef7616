#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace wallheat {

/// One of `count` disjoint subsets of a campaign, solved by one job: the plans whose index i in the
/// list of IDs (from 0) satisfies i % count == number - 1.
struct Shard {
  std::size_t number = 1;  ///< from 1 to count
  std::size_t count = 1;
  [[nodiscard]] bool contains(std::size_t plan) const { return plan % count == number - 1; }
  /// Returns the number of plans of this shard in a list of `listed` plans.
  [[nodiscard]] std::size_t plan_count(std::size_t listed) const {
    return (listed + count - number) / count;
  }
  /// Returns the shard as text, such as "3/16".
  [[nodiscard]] std::string text() const;
};

/// Returns a shard. Throws UsageError if number is not from 1 to count.
[[nodiscard]] Shard make_shard(std::size_t number, std::size_t count);
/// Parses "K/N". Throws UsageError if the text has another form, or if K is not from 1 to N.
[[nodiscard]] Shard parse_shard(const std::string& text);

/// Returns the path of the shard file: results.part-03-of-16.h5 for results.h5. A single shard has
/// the path of the result file itself.
[[nodiscard]] std::filesystem::path shard_path(const std::filesystem::path& file,
                                               const Shard& shard);
/// Returns the shard of `file` to which a file name belongs: the name of a shard file, or of a
/// journal or another file next to it, except its status file, which may remain after the shard
/// file was removed. The shard file itself need not exist: it may be about to be created, or only
/// its event log may be left. `file` is as returned by result_path().
[[nodiscard]] std::optional<Shard> shard_in_name(const std::string& name,
                                                 const std::filesystem::path& file);

}  // namespace wallheat
