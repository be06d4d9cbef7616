#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/node_telemetry.hpp"

// Text output of the readings of a node. The names of columns are those of `nvidia-smi dmon`.

namespace wallheat {

/// Returns the names of the columns: `seconds` since the start; `cpu` and `ram` of the complete
/// node; `gpu0_pwr`, `gpu0_gtemp`, ... of each GPU, numbered as in NVML.
[[nodiscard]] std::vector<std::string> node_columns(const std::vector<NvmlGpu>& gpus);
/// Returns the values of these columns; NaN if unknown.
[[nodiscard]] std::vector<double> node_values(const NodeSample& sample);

/// Returns the unit of a column: "%", "W", "C", "MHz", "MiB", "J" or "s"; an empty string for an
/// unknown column.
[[nodiscard]] std::string_view unit_of_column(std::string_view name);
/// Returns true for the column of a single CPU, such as cpu12, which other tools may record.
[[nodiscard]] bool is_single_cpu(std::string_view name);

/// Returns the header of a CSV, "time,...", without a line feed.
[[nodiscard]] std::string csv_header(const std::vector<std::string>& columns);
/// Returns a row of the CSV. An unknown value is empty. `utc` is the time as text.
[[nodiscard]] std::string csv_row(const std::string& utc, const std::vector<double>& values);
/// Returns a JSON object on one line. An unknown value is null.
[[nodiscard]] std::string json_row(const std::string& utc, const std::vector<std::string>& columns,
                                   const std::vector<double>& values);

/// Returns a line for each process that uses a GPU; an empty list if there is none. The first line
/// names the columns, as 'nvidia-smi pmon' does.
[[nodiscard]] std::vector<std::string> process_lines(
    const std::vector<NvmlGpu>& gpus, const std::vector<std::vector<GpuProcess>>& processes);
/// Returns the processes as a JSON object on one line. Unknown values are null.
[[nodiscard]] std::string json_line_of(const std::string& utc, const std::vector<NvmlGpu>& gpus,
                                       const std::vector<std::vector<GpuProcess>>& processes);

/// Returns two lines: the names and the units of the columns.
[[nodiscard]] std::vector<std::string> node_heading(bool has_gpus);
/// Returns one line, or one for each GPU.
[[nodiscard]] std::vector<std::string> node_lines(const NodeSample& sample,
                                                  const std::vector<NvmlGpu>& gpus);

}  // namespace wallheat
