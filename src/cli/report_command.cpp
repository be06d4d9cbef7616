#include <fmt/format.h>

#include <optional>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "report/page.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// FILE, --compare and --out, checked.
void check_files_of_report(const std::string& file, const std::string& other,
                           const std::filesystem::path& out, bool overwrite,
                           std::string_view beginning, const std::filesystem::path& events = {}) {
  CommandFiles files;
  files.reads_store("FILE", file);
  files.reads_store("--compare", other);
  files.reads("--events", events);
  files.makes("--out", out, overwrite, beginning);
  files.check();
}

}  // namespace

int report_command(const Arguments& arguments) {
  std::string file;
  std::string compare;
  std::filesystem::path out;
  bool overwrite = false;
  bool json = false;
  Options options(
      "report FILE --out PAGE [options]",
      "Makes one HTML page of a run: answers, histogram, coldest and warmest plans, "
      "failures, where the time of all threads went, threads over time, predicted and "
      "actual times, sessions, and a table of all plans. The page needs no network. Its script "
      "sorts the table and saves figures as SVG or PNG; the rest needs no JavaScript. The run may "
      "live, or may have been killed.",
      {"wallheat report results.h5 --out run.html",
       "wallheat report results.h5 --compare steady.h5 --out two-runs.html"});
  declare_result_file(options, file);
  options.add("out,o", value(out, "PAGE"), "the page, as run.html");
  options.add("compare", value(compare, "FILE"),
              "another result file: tell what differs in settings, times, answers, and where the "
              "time went");
  options.add("overwrite", flag(overwrite), "replace an existing page");
  options.add("json", flag(json), "print the data as one JSON object instead");
  if (!options.parse(arguments)) return exit_done;
  if (json == !out.empty()) throw UsageError("give either --out or --json");
  if (!json) check_files_of_report(file, compare, out, overwrite, "<!doctype html>\n");
  const ResultReader reader = open_result_file(file);
  const Answers run{file, {}, &reader};
  std::optional<ResultReader> other_reader;
  if (!compare.empty()) other_reader.emplace(open_result_file(compare));
  const Answers other{compare, {}, other_reader ? &*other_reader : nullptr};
  const Answers* const compared = other_reader ? &other : nullptr;
  if (json) {
    fmt::print("{}", report_json(run, compared));
    return exit_done;
  }
  write_output(out, [&](std::ostream& to) { write_report_page(run, compared, to); });
  fmt::print("{}\n", out.string());
  return exit_done;
}

int trace_command(const Arguments& arguments) {
  std::string file;
  std::filesystem::path out;
  std::filesystem::path events;
  bool overwrite = false;
  Options options(
      "trace FILE --out TRACE [options]",
      "Writes when each solver thread did what to which plan, in Chrome's trace format: "
      "open it at ui.perfetto.dev or in chrome://tracing.",
      {"wallheat trace results.h5 --out trace.json", "wallheat trace steady.h5 --out steady.json"});
  declare_result_file(options, file);
  options.add("out,o", value(out, "TRACE"), "the file, as trace.json");
  options.add(
      "events", value(events, "FILE"),
      "the event log of the run (its --events): shows what host and GPU did in each solve on "
      "a GPU, with stream, grid and block");
  options.add("overwrite", flag(overwrite), "replace an existing trace");
  options.require({"file", "out"});
  if (!options.parse(arguments)) return exit_done;
  check_files_of_report(file, "", out, overwrite, "{\"traceEvents\":[", events);
  const ResultReader reader = open_result_file(file);
  const PlanDeviceTimes on_gpus = events.empty() ? PlanDeviceTimes{} : device_times_in(events);
  write_output(out, [&](std::ostream& to) { write_trace(reader, on_gpus, to); });
  return exit_done;
}

}  // namespace wallheat
