#include "node/cpu_telemetry.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

namespace fs = std::filesystem;

/// MemTotal less MemAvailable (proc(5)); without these NaN.
double memory_used(const fs::path& meminfo) {
  constexpr double bytes_a_kb = 1024;
  std::ifstream stream(meminfo);
  std::optional<double> total;
  std::optional<double> available;
  std::string name;
  for (double kb = 0; stream >> name >> kb; stream.ignore(80, '\n')) {
    if (name == "MemTotal:") total = kb;
    if (name == "MemAvailable:") available = kb;
  }
  return total && available ? (*total - *available) * bytes_a_kb : CpuSample::unknown;
}

}  // namespace

CpuTelemetry::CpuTelemetry(fs::path root) : root_(std::move(root)), last_(ticks()) {}

CpuTelemetry::Ticks CpuTelemetry::ticks() const {
  const fs::path file = root_ / "proc/stat";
  std::ifstream stream(file);
  std::string name;
  // user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); what follows is in user.
  std::array<double, 8> times{};
  stream >> name;
  for (double& time : times) stream >> time;
  if (name != "cpu") throw RunError(file.string() + " does not tell how busy the processors are");
  Ticks ticks;
  for (const double time : times) ticks.all += time;
  ticks.busy = ticks.all - times[3] - times[4];
  return ticks;
}

CpuSample CpuTelemetry::sample() {
  const Ticks before = std::exchange(last_, ticks());
  const double all = last_.all - before.all;
  // The times of idle cpus may go back a little (proc(5)).
  return {
      all > 0 ? std::clamp(100 * (last_.busy - before.busy) / all, 0.0, 100.0) : CpuSample::unknown,
      memory_used(root_ / "proc/meminfo")};
}

}  // namespace wallheat
