#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// A partition of a cluster, or a queue of LSF.
struct Partition {
  std::string name;
  std::size_t nodes = 0;          ///< of the most frequent kind
  std::size_t cores = 0;          ///< of such a node
  std::size_t gpus = 0;           ///< of such a node
  std::int64_t limit_s = 0;       ///< the longest run time of a job; 0: none
  std::size_t most_nodes = 0;     ///< of a job; 0: no limit
  std::int64_t memory_bytes = 0;  ///< of such a node; 0: unknown
  friend bool operator==(const Partition&, const Partition&) = default;
};

/// Reads what `sinfo -h -o FORMAT` prints, without what is down; the memory, which stands last, may
/// be left out. Throws RunError, which tells the line.
[[nodiscard]] std::vector<Partition> parse_sinfo(const std::string& name, std::string_view text);
inline constexpr const char* sinfo_format = "%R|%a|%D|%c|%G|%l|%s|%m";

/// How many tasks, numbered from 1, an array can have, by what `scontrol show config` prints: one
/// less than MaxArraySize. Throws RunError if it is missing.
[[nodiscard]] std::size_t most_array_tasks(const std::string& name, std::string_view text);

}  // namespace wallheat
