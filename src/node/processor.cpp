#include "node/processor.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace wallheat {
namespace {

std::size_t cache_bytes(int name) {
  const long bytes = ::sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

/// The value of the first line "name : value" of /proc/cpuinfo.
std::string cpu_info(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(name) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

double clock_hz() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (double kilohertz = 0; file >> kilohertz) return kilohertz * 1e3;
  return std::strtod(cpu_info("cpu MHz").c_str(), nullptr) * 1e6;  // 0 if it is no number
}

}  // namespace

Processor local_processor() {
  return {cpu_info("model name"), clock_hz(), cache_bytes(_SC_LEVEL1_DCACHE_SIZE),
          cache_bytes(_SC_LEVEL2_CACHE_SIZE), cache_bytes(_SC_LEVEL3_CACHE_SIZE)};
}

}  // namespace wallheat
