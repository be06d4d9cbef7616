#include "core/machine.hpp"

#include <cmath>

namespace wallheat {

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
  if (!std::isnan(sample.energy_j)) energy_j = sample.energy_j;
}

}  // namespace wallheat
