#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

/// A processor that works where the data are, and a GPU to which they must go. Operations are of
/// any kind, as long as it is the same for both: floating point, or updates of cells.
struct Offload {
  double bytes_per_s = 0;  ///< between host and GPU
  double cpu_per_s = 0;    ///< operations
  double gpu_per_s = 0;    ///< operations
  double start_s = 0;      ///< what each hand-over costs beside the bytes
};

/// From how many operations on it pays to hand `bytes` to the GPU (and back, if they are
/// counted): n* = (start + bytes / B) / (1 / C - 1 / G), at which start + bytes / B + n* / G = n* /
/// C. Infinite if the GPU is no faster.
[[nodiscard]] constexpr double break_even_operations(const Offload& offload, double bytes) {
  const double gain_s = 1 / offload.cpu_per_s - 1 / offload.gpu_per_s;
  if (!(gain_s > 0)) return std::numeric_limits<double>::infinity();
  return (offload.start_s + bytes / offload.bytes_per_s) / gain_s;
}

}  // namespace wallheat
