#include "cli/commands.hpp"
#include "cli/result_file.hpp"
#include "report/trace.hpp"
#include "view/output_file.hpp"

namespace wallheat {

Report trace_command(Options& options) {
  std::string name;
  std::filesystem::path out;
  std::filesystem::path events;
  options.describe(
      "FILE --out TRACE [options]",
      "Writes what each solver thread did when, in Chrome's trace format: open it at "
      "ui.perfetto.dev or in chrome://tracing.",
      {"wallheat trace results.h5 --out trace.json", "wallheat trace steady.h5 --out steady.json"});
  declare_result_file(options, name);
  options.add("out,o", made_file(out, "{\"traceEvents\":[", "TRACE"), "the file, as trace.json");
  options.add(
      "events", file(events, FileRole::read),
      "the event log of the run (its --events), to show what host and GPU did in each solve on a "
      "GPU");
  options.require({"file", "out"});
  options.parse();
  const ResultReader reader = open_result_file(name);
  const PlanDeviceTimes on_gpus = events.empty() ? PlanDeviceTimes{} : device_times_in(events);
  write_output(out, [&](std::ostream& to) { write_trace(reader, on_gpus, to); });
  return {};
}

}  // namespace wallheat
