#include "node/peak_memory.hpp"

#include <fstream>
#include <string>

namespace wallheat {

std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  std::int64_t kib = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  return 0;
}

bool restart_peak_memory() {
  // 5 is for the peak alone: proc(5)
  return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << "5" << std::flush);
}

}  // namespace wallheat
