#include "view/thread_time.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "view/time_text.hpp"

namespace wallheat {

void ThreadTime::add(const PlanResult& result) {
  seconds_ += result.seconds;
  if (std::isnan(result.cpu_s)) return;
  known_s_ += result.seconds;
  cpu_s_ += result.cpu_s;
  if (!result.device.starts_with("cpu")) return;
  on_cpus_s_ += result.seconds;
  of_cpus_s_ += result.cpu_s;
}

double ThreadTime::cpu_seconds() const {
  return known_s_ > 0 ? cpu_s_ : std::numeric_limits<double>::quiet_NaN();
}

bool ThreadTime::cores_were_shared() const {
  constexpr double least_s = 1;  // of less, the system's own clock tick is a part
  return on_cpus_s_ > least_s && of_cpus_s_ < 0.8 * on_cpus_s_;
}

std::string ThreadTime::text() const {
  if (!(known_s_ > 0)) return fmt::format("{} of solver threads", duration_text(seconds_));
  const std::string cpu = fmt::format("{} of CPU time", duration_text(cpu_s_));
  if (cores_were_shared())
    return fmt::format("{} in {} of solver threads, which shared their cores with others", cpu,
                       duration_text(seconds_));
  return cpu;
}

}  // namespace wallheat
