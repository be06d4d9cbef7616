#include "report/node_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "core/text.hpp"
#include "view/json.hpp"

namespace wallheat {
namespace {

constexpr double bytes_a_mib = 1 << 20;

/// Returns the width of a column in the table; 0: not in the table.
std::size_t width_of(const GpuReading& reading) {
  const std::string_view unit = reading.unit;
  return unit == "J" || unit.empty() ? 0 : unit == "%" ? 4 : unit == "MiB" ? 7 : 5;
}

/// Units of columns of other tools, and of columns of the complete node.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> other_units{
    {{"seconds", "s"},
     {"cpu", "%"},
     {"ram", "MiB"},
     {"jpg", "%"},
     {"ofa", "%"},
     {"gpuUtil", "%"},
     {"memUtil", "%"},
     {"encUtil", "%"},
     {"decUtil", "%"},
     {"pwrDraw", "W"},
     {"temp", "C"},
     {"procClk", "MHz"}}};

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return std::isdigit(letter) != 0;
  });
}

/// A reading of a process, and the width of its column in the table.
struct ProcessColumn {
  const char* name;
  double GpuProcess::*reading;
  double bytes_a_unit;
  std::size_t width;
};
constexpr std::array process_columns{
    ProcessColumn{"sm", &GpuProcess::sm_pct, 1, 4},
    ProcessColumn{"mem", &GpuProcess::memory_pct, 1, 4},
    ProcessColumn{"enc", &GpuProcess::encoder_pct, 1, 4},
    ProcessColumn{"dec", &GpuProcess::decoder_pct, 1, 4},
    ProcessColumn{"fb", &GpuProcess::memory_bytes, bytes_a_mib, 7},
};

std::string node_cell(double value, std::size_t width, int decimals = 0) {
  return std::isnan(value) ? fmt::format("{:>{}}", "-", width)
                           : fmt::format("{:>{}.{}f}", value, width, decimals);
}

}  // namespace

std::vector<std::string> node_columns(const std::vector<NvmlGpu>& gpus) {
  std::vector<std::string> names{"seconds", "cpu", "ram"};
  for (const NvmlGpu& gpu : gpus)
    for_each_member<GpuSample>([&](const GpuReading& reading) {
      if (reading.column != nullptr)
        names.push_back(fmt::format("gpu{}_{}", gpu.index, reading.column));
    });
  return names;
}

std::vector<double> node_values(const NodeSample& sample) {
  std::vector<double> values{sample.seconds, sample.cpu_busy_pct,
                             sample.memory_used_bytes / bytes_a_mib};
  for (const GpuSample& gpu : sample.gpus)
    for_each_member<GpuSample>([&](const GpuReading& reading) {
      if (reading.column != nullptr) values.push_back(reading.of(gpu) / reading.per_unit);
    });
  return values;
}

bool is_single_cpu(std::string_view name) {
  return name.starts_with("cpu") && is_number(name.substr(3));
}

std::string_view unit_of_column(std::string_view name) {
  if (is_single_cpu(name)) return "%";
  const std::size_t end = name.find('_');
  if (name.starts_with("gpu") && end != std::string_view::npos &&
      is_number(name.substr(3, end - 3)))
    name.remove_prefix(end + 1);
  std::string_view unit;
  for_each_member<GpuSample>([&](const GpuReading& reading) {
    if (reading.column != nullptr && name == reading.column) unit = reading.unit;
  });
  for (const auto& [known, its_unit] : other_units)
    if (name == known) unit = its_unit;
  return unit;
}

std::string csv_header(const std::vector<std::string>& columns) {
  return fmt::format("time,{}", fmt::join(columns, ","));
}

std::string csv_row(const std::string& utc, const std::vector<double>& values) {
  std::string row = utc;
  for (const double value : values) row += std::isnan(value) ? "," : fmt::format(",{:.10g}", value);
  return row;
}

std::string json_row(const std::string& utc, const std::vector<std::string>& columns,
                     const std::vector<double>& values) {
  Json json{{"time", utc}};
  for (std::size_t i = 0; i < values.size(); ++i) json[columns[i]] = values[i];
  return json_line(json);
}

std::vector<std::string> process_lines(const std::vector<NvmlGpu>& gpus,
                                       const std::vector<std::vector<GpuProcess>>& processes) {
  std::string heading = fmt::format("{:>5} {:>9}", "gpu", "pid");
  for (const ProcessColumn& column : process_columns)
    heading += fmt::format(" {:>{}}", column.name, column.width);
  std::vector<std::string> lines{heading + "  command"};
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (const GpuProcess& process : processes[i]) {
      std::string line = fmt::format("{:>5} {:>9}", gpus[i].index, process.pid);
      for (const ProcessColumn& column : process_columns)
        line += ' ' + node_cell(process.*column.reading / column.bytes_a_unit, column.width);
      lines.push_back(line + "  " +
                      (process.name.empty() ? "-" : escape_control_chars(process.name)));
    }
  if (lines.size() == 1) lines.clear();
  return lines;
}

std::string json_line_of(const std::string& utc, const std::vector<NvmlGpu>& gpus,
                         const std::vector<std::vector<GpuProcess>>& processes) {
  Json list = Json::array();
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (const GpuProcess& process : processes[i]) {
      Json json{{"gpu", gpus[i].index},
                {"pid", process.pid},
                {"command", escape_control_chars(process.name)}};
      for (const ProcessColumn& column : process_columns)
        json[column.name] = process.*column.reading / column.bytes_a_unit;
      list.push_back(std::move(json));
    }
  return json_line(Json{{"time", utc}, {"processes", std::move(list)}});
}

std::vector<std::string> node_heading(bool has_gpus) {
  std::string names = "#     s  cpu      ram";
  std::string units = "#     s    %      MiB";
  if (has_gpus) {
    names += "  gpu";
    units += "  Idx";
    for_each_member<GpuSample>([&](const GpuReading& reading) {
      if (width_of(reading) == 0) return;
      names += fmt::format(" {:>{}}", reading.column, width_of(reading));
      units += fmt::format(" {:>{}}", reading.unit, width_of(reading));
    });
  }
  return {names, units};
}

std::vector<std::string> node_lines(const NodeSample& sample, const std::vector<NvmlGpu>& gpus) {
  const std::string node = node_cell(sample.seconds, 7, 1) + node_cell(sample.cpu_busy_pct, 5) +
                           node_cell(sample.memory_used_bytes / bytes_a_mib, 9);
  if (gpus.empty()) return {node};
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::string line =
        (i == 0 ? node : std::string(node.size(), ' ')) + fmt::format("{:>5}", gpus[i].index);
    for_each_member<GpuSample>([&](const GpuReading& reading) {
      if (const std::size_t width = width_of(reading); width > 0)
        line += ' ' + node_cell(reading.of(sample.gpus[i]) / reading.per_unit, width);
    });
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace wallheat
