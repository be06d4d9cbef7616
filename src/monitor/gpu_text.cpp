#include "monitor/gpu_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "view/json.hpp"

namespace wallheat {
namespace {

void add_known(Json& json, const std::string& name, double number) {
  if (std::isfinite(number)) json[name] = number;
}

}  // namespace

std::vector<std::string> kernel_table(const std::map<std::string, SampleStats>& kernels) {
  std::vector<std::string> lines;
  constexpr const char* columns = "{:<10}  {:>8}  {:>9}  {:>8}  {:>8}  {:>10}";
  for (const auto& [name, seconds] : kernels) {
    if (lines.empty())
      lines.push_back(
          fmt::format(columns, "kernel", "plans", "total s", "mean ms", "min ms", "max ms"));
    const auto number = [](double value) { return fmt::format("{:.3f}", value); };
    lines.push_back(fmt::format(columns, name, seconds.count(), number(seconds.sum()),
                                number(1e3 * seconds.mean()), number(1e3 * seconds.min()),
                                number(1e3 * seconds.max())));
  }
  return lines;
}

Json to_json(const GpuSample& sample) {
  Json json = Json::object();
  for_each_member<GpuSample>(
      [&](const GpuReading& reading) { add_known(json, reading.name, reading.of(sample)); });
  return json;
}

double energy_per_plan(const GpuUsage& usage, std::size_t plans) {
  return plans == 0 ? nan_value : usage.energy_j / static_cast<double>(plans);
}

Json to_json(const GpuUsage& usage, std::size_t plans) {
  Json json{{"plans", plans}, {"samples", usage.samples}};
  const auto add = [&](const std::string& name, const SampleStats& reading) {
    add_known(json, name + "_mean", reading.mean());
    add_known(json, name + "_max", reading.max());
  };
  add("utilisation_pct", usage.utilisation_pct);
  add("memory_used_bytes", usage.memory_used_bytes);
  add("power_w", usage.power_w);
  add("temperature_c", usage.temperature_c);
  add("sm_clock_mhz", usage.sm_clock_mhz);
  add_known(json, "energy_j", usage.energy_j);
  add_known(json, "energy_j_per_plan", energy_per_plan(usage, plans));
  return json;
}

std::string gpu_text(const GpuSample& sample) {
  std::vector<std::string> parts;
  const auto add = [&](double number, const std::string& text) {
    if (!std::isnan(number)) parts.push_back(text);
  };
  add(sample.utilisation_pct, fmt::format("{:.0f} % busy", sample.utilisation_pct));
  add(sample.memory_used_bytes, fmt::format("{:.1f} of {:.1f} GB", sample.memory_used_bytes * 1e-9,
                                            sample.memory_total_bytes * 1e-9));
  add(sample.power_w, fmt::format("{:.0f} W", sample.power_w));
  add(sample.temperature_c, fmt::format("{:.0f} °C", sample.temperature_c));
  add(sample.sm_clock_mhz, fmt::format("{:.0f} MHz", sample.sm_clock_mhz));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string table_cell(double number, int digits) {
  return std::isnan(number) ? "-" : fmt::format("{:.{}f}", number, digits);
}

std::string table_cell(const SampleStats& reading) {
  return fmt::format("{} / {}", table_cell(reading.mean()), table_cell(reading.max()));
}

}  // namespace wallheat
