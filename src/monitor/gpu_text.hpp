#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/gpu_stats.hpp"
#include "view/json_forward.hpp"

namespace wallheat {

/// Returns a table with a header and one line per kernel: its number of plans, and the total, mean,
/// minimum and maximum of its time per plan. `kernels` has these times, in s, by the name of the
/// kernel. Returns an empty list if there are no kernels.
[[nodiscard]] std::vector<std::string> kernel_table(
    const std::map<std::string, SampleStats>& kernels);

/// Returns the known readings of a sample, by their names in GpuSample.
[[nodiscard]] Json to_json(const GpuSample& sample);
/// Returns the energy per plan in J; NaN if it is unknown.
[[nodiscard]] double energy_per_plan(const GpuUsage& usage, std::size_t plans);
/// Returns the known means and maxima, and the energy per plan.
[[nodiscard]] Json to_json(const GpuUsage& usage, std::size_t plans);

/// Formats the known readings as "97 % busy, 3.0 of 141.0 GB, 512 W, 61 °C, 1980 MHz". Returns an
/// empty string if none is known.
[[nodiscard]] std::string gpu_text(const GpuSample& sample);
/// Formats a cell of a table: mean and maximum of a reading as "95 / 100", or one number. An
/// unknown value is "-".
[[nodiscard]] std::string table_cell(const SampleStats& reading);
[[nodiscard]] std::string table_cell(double number, int digits = 0);

}  // namespace wallheat
