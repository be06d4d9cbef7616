#include "report/exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "report/report.hpp"
#include "report/row_table.hpp"
#include "report/time_breakdown.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

/// Returns a slice of Chrome's trace format. Times are in s.
Json slice(const std::string& name, std::int64_t process, std::int32_t thread, double at_s,
           double seconds) {
  constexpr double us = 1e6;
  return {{"ph", "X"},     {"name", name},    {"pid", process},
          {"tid", thread}, {"ts", at_s * us}, {"dur", seconds * us}};
}

/// Returns the slices of host and GPU in a solve that started at `at_s` and took `solve_s`.
std::vector<Json> device_slices(const GpuPlanTimes& times, std::int64_t process,
                                std::int32_t thread, double at_s, double solve_s) {
  std::vector<Json> slices;
  double left_s = solve_s;
  for (const auto& [name, seconds] : {std::pair{"host", times.host_s(solve_s)},
                                      {"upload", times.upload_s},
                                      {"kernel", times.kernel_s},
                                      {"download", times.download_s}}) {
    const double part_s = std::clamp(seconds, 0.0, left_s);
    slices.push_back(slice(name, process, thread, at_s + solve_s - left_s, part_s));
    left_s -= part_s;
    if (name == std::string_view("host")) continue;
    slices.back()["args"] = {{"stream", times.stream}};
    if (name == std::string_view("kernel"))
      slices.back()["args"].update(
          {{"kernel", times.kernel}, {"grid", times.grid}, {"block", times.block}});
  }
  return slices;
}

}  // namespace

void write_trace(const ResultReader& reader, const std::vector<GpuTimesOfPlans>& on_gpus,
                 std::ostream& out) {
  const GpuTimesOfPlans unknown;
  out << "{\"traceEvents\":[";
  const char* separator = "";
  const auto write = [&](const Json& event) {
    out << std::exchange(separator, ",") << json_line(event);
  };
  for (const SlotTimeline& slot : slot_timelines(rows_of(reader))) {
    const GpuTimesOfPlans& of_session =
        slot.session < on_gpus.size() ? on_gpus[slot.session] : unknown;
    // Process IDs are numbers in this format: a process for each rank of each session.
    const auto process = static_cast<std::int64_t>(slot.session) * 1'000'000 + slot.rank;
    write({{"ph", "M"},
           {"name", "process_name"},
           {"pid", process},
           {"args",
            {{"name", fmt::format("session {} rank {}: {} on {}", slot.session, slot.rank,
                                  slot.device, slot.host)}}}});
    for (const SlotInterval& times : slot.plans) {
      const PlanResult plan = reader.row(times.row);
      Json whole = slice(plan.id, process, slot.thread, plan.started_s, plan.seconds);
      whole["cat"] = std::string(to_string(plan.status));
      whole["args"] = {{"iterations", plan.iterations}, {"cells", plan.interior_cells}};
      write(whole);
      const auto on_gpu = of_session.find(plan.id);
      double at = plan.started_s;
      for (const Phase& phase : phases_of_a_plan) {
        const auto seconds = static_cast<double>(plan.phases.*phase.seconds);
        if (seconds > 0) write(slice(phase.step, process, slot.thread, at, seconds));
        if (phase.seconds == &PhaseTimes::solve_s && on_gpu != of_session.end())
          for (const Json& part : device_slices(on_gpu->second, process, slot.thread, at, seconds))
            write(part);
        at += seconds;
      }
    }
  }
  out << "],\"displayTimeUnit\":\"ms\"}\n";
}

const std::string_view xdmf_magic = "<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.0\">\n<Domain>\n";

std::string make_xdmf(const std::vector<FieldLocation>& fields,
                      const std::filesystem::path& results) {
  const std::string file = results.string();
  // XDMF takes the text after the first colon as the dataset, and removes blanks at the ends.
  if (file.find(':') != std::string::npos || file.starts_with(' ') ||
      escape_control_chars(file) != file)
    throw RunError(fmt::format(
        "an XDMF file cannot refer to '{}': choose a file name without ':', control characters and "
        "leading spaces",
        escape_control_chars(file)));
  std::map<GridShape, std::string> series;
  for (const FieldLocation& field : fields) {
    const auto [rows, cols] = field.shape;
    // Three dimensions with one layer, because ParaView displays a two-dimensional grid edge-on.
    fmt::format_to(std::back_inserter(series[field.shape]),
                   "<Grid Name=\"{}\">\n"
                   " <Time Value=\"{}\"/>\n"
                   " <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"2 {} {}\"/>\n"
                   " <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
                   "  <DataItem Dimensions=\"3\">0 0 0</DataItem>\n"
                   "  <DataItem Dimensions=\"3\">1 1 1</DataItem>\n"
                   " </Geometry>\n"
                   " <Attribute Name=\"temperature\" Center=\"Cell\">\n"
                   "  <DataItem Dimensions=\"1 {} {}\" NumberType=\"Float\" Precision=\"8\" "
                   "Format=\"HDF\">{}:{}</DataItem>\n"
                   " </Attribute>\n"
                   "</Grid>\n",
                   escape_html(field.id), field.row, rows + 1, cols + 1, rows, cols,
                   escape_html(file), escape_html(field.dataset));
  }
  std::string text(xdmf_magic);
  for (const auto& [shape, grids] : series)
    text += fmt::format(
        "<Grid Name=\"{}x{}\" GridType=\"Collection\" CollectionType=\"Temporal\">\n{}</Grid>\n",
        shape.rows, shape.cols, grids);
  return text + "</Domain>\n</Xdmf>\n";
}

}  // namespace wallheat
