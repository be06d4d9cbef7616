#include "core/gpu_usage.hpp"

#include <cmath>
#include <utility>

namespace wallheat {

std::vector<std::string> slowdown_reasons(std::uint64_t slowdown) {
  // nvml.h, NVIDIA's "NVML API Reference Guide", nvmlClocksThrottleReasons.
  constexpr std::pair<std::uint64_t, const char*> names[] = {{0x004, "power cap"},
                                                             {0x008, "hardware slowdown"},
                                                             {0x010, "sync boost"},
                                                             {0x020, "thermal, by software"},
                                                             {0x040, "thermal, by hardware"},
                                                             {0x080, "power brake"}};
  std::vector<std::string> reasons;
  for (const auto& [bit, name] : names) {
    if ((slowdown & bit) != 0) reasons.emplace_back(name);
  }
  return reasons;
}

void MeanAndMax::add(double reading) {
  if (std::isnan(reading)) return;
  ++count_;
  sum_ += reading;
  max_ = std::fmax(max_, reading);  // ignores the NaN of the start
}

double MeanAndMax::mean() const {
  return count_ == 0 ? GpuSample::unknown : sum_ / static_cast<double>(count_);
}

void GpuUsage::add(const GpuSample& sample) {
  ++samples;
  utilisation_pct.add(sample.utilisation_pct);
  memory_used_bytes.add(sample.memory_used_bytes);
  power_w.add(sample.power_w);
  temperature_c.add(sample.temperature_c);
  sm_clock_mhz.add(sample.sm_clock_mhz);
  uncorrected_ecc_errors.add(sample.uncorrected_ecc_errors);
  if (!std::isnan(sample.energy_j)) energy_j = sample.energy_j;
  slowdown |= sample.slowdown;
}

}  // namespace wallheat
