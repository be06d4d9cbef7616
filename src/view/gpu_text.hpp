#pragma once

#include <cstddef>
#include <string>

#include "core/gpu_usage.hpp"
#include "view/json_forward.hpp"

namespace wallheat {

/// The readings that are known, each under its name in GpuSample.
[[nodiscard]] Json to_json(const GpuSample& sample);
/// Throws nlohmann::json::exception or DecodeError if a reading is no number.
[[nodiscard]] GpuSample gpu_sample_from_json(const Json& json);
/// Means and maxima that are known, and energy per plan.
[[nodiscard]] Json to_json(const GpuUsage& usage, std::size_t plans);

/// "97 % busy, 3.0 of 141.0 GB, 512 W, 61 °C, 1980 MHz", as far as it is known; empty if nothing
/// is.
[[nodiscard]] std::string gpu_text(const GpuSample& sample);
/// Title of the columns of gpu_row.
[[nodiscard]] std::string gpu_header();
/// One worker's GPU over a run.
[[nodiscard]] std::string gpu_row(int rank, const std::string& host, const GpuUsage& usage,
                                  std::size_t plans);

}  // namespace wallheat
