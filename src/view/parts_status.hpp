#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/file_status.hpp"

namespace wallheat {

/// Everything that is known of several parts of a campaign at one moment.
struct PartsStatus {
  std::filesystem::path whole;    ///< the file that they belong into; empty where parts were named
  std::size_t shards = 0;         ///< parts that there are to be, begun or not
  std::vector<FileStatus> parts;  ///< those that have begun
  std::size_t total = 0;          ///< plans, those of parts that have not begun included
  std::size_t solved = 0;
  std::size_t failed = 0;

  [[nodiscard]] std::size_t pending() const { return total - solved - failed; }
  [[nodiscard]] std::size_t not_begun() const { return shards - parts.size(); }
  [[nodiscard]] std::size_t count(RunState state) const;
  /// Of the parts that are being written, together.
  [[nodiscard]] double plans_per_s() const;
  /// Until the last part that is being written ends.
  [[nodiscard]] std::optional<double> seconds_left() const;
  [[nodiscard]] std::string advice() const;
  [[nodiscard]] int exit_status() const;
  /// As that of a file: "killed" if a part is, and none runs.
  [[nodiscard]] std::string_view word() const;
};

/// Into how many parts a campaign was cut, as the names of files beside `whole` tell; 0 where there
/// are none. Throws RunError where they tell of several numbers.
[[nodiscard]] std::size_t shards_beside(const std::filesystem::path& whole);

/// Looks at all parts of a campaign, or at those that are named, without changing anything. Throws
/// RunError.
[[nodiscard]] PartsStatus status_of_shards(const std::filesystem::path& whole, std::size_t shards);
[[nodiscard]] PartsStatus status_of_parts(const std::vector<std::filesystem::path>& files);

[[nodiscard]] Json to_json(const PartsStatus& look);
/// Prints the sums, and a line for each part that needs attention.
void print_text(const PartsStatus& look);
/// The sums in one line, with the time of day (UTC).
void print_line(const PartsStatus& look);

}  // namespace wallheat
