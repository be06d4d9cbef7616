#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace wallheat {

/// One job's share of a campaign: the plans whose number (from 0, in the order of the list) leaves
/// the remainder `number` - 1 when divided by `count`.
struct Shard {
  std::size_t number = 1;  ///< from 1 to count
  std::size_t count = 1;
  [[nodiscard]] bool holds(std::size_t plan) const { return plan % count == number - 1; }
  /// "3/16"
  [[nodiscard]] std::string text() const;
};

/// Reads "K/N". Throws UsageError.
[[nodiscard]] Shard parse_shard(const std::string& text);

/// The place of this process's task among those of its Slurm or LSF job array; nothing outside of
/// one. Throws UsageError where the scheduler's variables do not tell it.
[[nodiscard]] std::optional<Shard> shard_of_array_task();

/// The file of a shard: results.h5 becomes results.part-03-of-16.h5; unchanged for a single shard.
[[nodiscard]] std::filesystem::path shard_path(const std::filesystem::path& file,
                                               const Shard& shard);

/// Reads a stretch of time: seconds ("5400"), "H:MM:SS", or units ("1h30m", "90m", "2d", "45s").
/// Throws UsageError.
[[nodiscard]] std::chrono::seconds parse_duration(const std::string& text);

/// When Slurm or LSF will end this job; nothing outside of a job, or where the job has no limit.
/// Asks the scheduler where its variables do not tell: call it once.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> scheduled_end();

}  // namespace wallheat
