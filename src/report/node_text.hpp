#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/node_telemetry.hpp"

// What a node did, as text. The names of columns are those of `nvidia-smi dmon`.

namespace wallheat {

/// The readings of a node as columns of numbers: seconds since the start; cpu and ram of the whole
/// node; gpu0_pwr, gpu0_gtemp, ... of each GPU by NVML's index.
[[nodiscard]] std::vector<std::string> node_columns(const std::vector<NvmlGpu>& gpus);
/// Their values; NaN if unknown.
[[nodiscard]] std::vector<double> node_values(const NodeSample& sample);

/// "%", "W", "C", "MHz", "MiB", "J" or "s"; empty for a column that is not known.
[[nodiscard]] std::string_view unit_of_column(std::string_view name);
/// Whether it is that of a single cpu, as cpu12, which other tools may record.
[[nodiscard]] bool is_single_cpu(std::string_view name);

/// "time,..." without the end of the line.
[[nodiscard]] std::string csv_header(const std::vector<std::string>& columns);
/// A row under it: an unknown value is empty. `utc` is the time as text.
[[nodiscard]] std::string csv_row(const std::string& utc, const std::vector<double>& values);
/// One JSON object on a line; an unknown value is null.
[[nodiscard]] std::string json_row(const std::string& utc, const std::vector<std::string>& columns,
                                   const std::vector<double>& values);

/// A line for each process of a GPU; none if nobody uses it. The first line names the columns, as
/// 'nvidia-smi pmon' does.
[[nodiscard]] std::vector<std::string> process_lines(
    const std::vector<NvmlGpu>& gpus, const std::vector<std::vector<GpuProcess>>& processes);
/// The same as one JSON object on a line; what is unknown is null.
[[nodiscard]] std::string json_line_of(const std::string& utc, const std::vector<NvmlGpu>& gpus,
                                       const std::vector<std::vector<GpuProcess>>& processes);

/// Two lines: names, and units.
[[nodiscard]] std::vector<std::string> node_heading(bool has_gpus);
/// A line, or one for each GPU.
[[nodiscard]] std::vector<std::string> node_lines(const NodeSample& sample,
                                                  const std::vector<NvmlGpu>& gpus);

}  // namespace wallheat
