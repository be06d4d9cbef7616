#include "core/gpu_stats.hpp"

#include <cmath>

namespace wallheat {

void SampleStats::add(double number) {
  if (std::isnan(number)) return;
  ++count_;
  sum_ += number;
  min_ = std::fmin(min_, number);  // fmin and fmax ignore the initial NaN
  max_ = std::fmax(max_, number);
}

double SampleStats::mean() const {
  return count_ == 0 ? nan_value : sum_ / static_cast<double>(count_);
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

void GpuTimeTotals::add(const GpuPlanTimes& times, double solve_s) {
  host += times.host_s(solve_s);
  upload += times.upload_s;
  kernel += times.kernel_s;
  download += times.download_s;
  waiting += std::max(times.wait_s - times.on_device_s(), 0.0);
}

}  // namespace wallheat
