#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/gpu_stats.hpp"
#include "view/json_forward.hpp"

namespace wallheat {

/// Those of a plan that a GPU solved, and back. What is not there or is no number throws
/// nlohmann::json::exception.
[[nodiscard]] Json to_json(const GpuPlanTimes& times);
[[nodiscard]] GpuPlanTimes gpu_plan_times_from_json(const Json& json);

/// Title and a line a kernel: its plans, and their total, mean, least and largest time, of the
/// seconds for plans of each, by its name; empty if there is none.
[[nodiscard]] std::vector<std::string> kernel_table(
    const std::map<std::string, SampleStats>& kernels);

/// The readings that are known, each under its name in GpuSample.
[[nodiscard]] Json to_json(const GpuSample& sample);
/// Joules; NaN if it is not known.
[[nodiscard]] double energy_per_plan(const GpuUsage& usage, std::size_t plans);
/// Means and maxima that are known, and energy per plan.
[[nodiscard]] Json to_json(const GpuUsage& usage, std::size_t plans);

/// "97 % busy, 3.0 of 141.0 GB, 512 W, 61 °C, 1980 MHz", as far as it is known; empty if nothing
/// is.
[[nodiscard]] std::string gpu_text(const GpuSample& sample);
/// For a table: "95 / 100", and a number; "-" for what is not known.
[[nodiscard]] std::string table_cell(const SampleStats& reading);
[[nodiscard]] std::string table_cell(double number, int digits = 0);

}  // namespace wallheat
