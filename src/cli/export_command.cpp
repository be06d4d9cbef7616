#include <fmt/format.h>

#include <iostream>
#include <tuple>

#include "cli/commands.hpp"
#include "cli/result_file.hpp"
#include "core/npy.hpp"
#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "report/exports.hpp"
#include "report/result_csv.hpp"
#include "report/row_table.hpp"
#include "store/result_path.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

namespace fs = std::filesystem;
namespace {

enum class Export { reference_csv, xdmf, field };

/// Writes to the file `out`, or to stdout if `out` is "" or "-".
void put_out(const fs::path& out, const std::function<void(std::ostream&)>& write) {
  if (out.empty() || out == "-") return write(std::cout);
  write_output(out, write);
}

/// Throws UsageError if the output is one of the plans to which the results belong, provided that
/// these still exist where the run found them.
void require_output_is_not_plan(const std::string& file, const ResultReader& reader,
                                const fs::path& out) {
  FileConflictCheck files;
  files.add("--out", out == "-" ? "" : out, FileRole::appended);
  try {
    files.add("the plans of FILE", recorded_plans(file, reader), FileRole::plans);
  } catch (const RunError&) {
    return;
  }
  files.check(false);
}

/// Writes the stored field of a plan.
void export_field(const std::string& file, const std::string& id, const fs::path& out) {
  const ResultReader reader = open_result_file(file);
  require_output_is_not_plan(file, reader, out);
  const auto& rows = reader.rows();
  const auto row = std::ranges::find(rows, id, &PlanResult::id);
  if (row == rows.end()) throw_unknown_plan(file, reader, id);
  const auto stored = reader.field(static_cast<std::size_t>(row - rows.begin()));
  if (!stored)
    throw RunError(
        fmt::format("{} contains no field of plan \"{}\", which is {}; run with --save-fields",
                    file, id, to_string(row->status)));
  put_out(out, [&](std::ostream& to) { to << npy::to_bytes(*stored); });
}

/// Writes an XDMF file for the stored fields of `file`, whose path in it is relative to the folder
/// of `out`.
void export_xdmf(const std::string& file, const fs::path& out) {
  require_result_file(file);
  const auto fields = stored_fields(file);
  if (fields.empty())
    throw RunError(fmt::format("{} contains no fields; run with --save-fields", file));
  const fs::path seen_from = result_path(out).parent_path();
  write_output(out, make_xdmf(fields, fs::relative(result_path(file), seen_from)));
}

/// Reports the plans without a result on stderr.
void log_unsolved_plans(const ResultReader& reader, std::size_t pending) {
  reader.for_each_row([&](const PlanResult& row) {
    if (row.status == PlanStatus::failed)
      print_error("failed: {}: {}", escape_control_chars(row.id), escape_control_chars(row.error));
  });
  if (pending > 0) print_error("{} not solved yet", count_text(pending, "plan is", "plans are"));
}

}  // namespace

int export_command(Options& options) {
  std::string file;
  fs::path out;
  std::string field;
  bool overwrite = false;
  Export what = Export::reference_csv;
  const char* ending = "";
  options.describe(
      "FILE [options]",
      "Exports the results in the CSV format of the reference program, byte for byte (other "
      "thresholds change its header, for example to pct_above_20.5); with --out NAME.xdmf as an "
      "XDMF file, with which ParaView shows the stored fields; with --field ID the stored "
      "temperatures of a plan (°C) as a NumPy array. 'wallheat list FILE --columns all' prints all "
      "columns.\nExit status: 0 success, 1 error, 2 usage error, 75 if plans are pending, "
      "otherwise 3 if plans failed; stderr lists the failed plans.",
      {"wallheat export results.h5 --out results.csv",
       "wallheat export results.h5 --field 00001 --out field.npy"});
  declare_result_file(options, file);
  options.add("out,o", value(out, "FILE"),
              "write to NAME.csv, NAME.xdmf or, with --field, NAME.npy; -: stdout (default)");
  options.add("field", value(field, "ID"), "export the stored field of this plan, as float64");
  options.add("overwrite", flag(overwrite), "overwrite an output file of the same format");
  options.check([&] {
    if (!field.empty() && out.empty())
      throw UsageError(
          "--field requires --out, because a field is not text; use --out - to write it to stdout");
    what = !field.empty()               ? Export::field
           : out.extension() == ".xdmf" ? Export::xdmf
                                        : Export::reference_csv;
    std::string_view magic;
    std::tie(ending, magic) = what == Export::field  ? std::pair(".npy", npy::magic)
                              : what == Export::xdmf ? std::pair(".xdmf", xdmf_magic)
                                                     : std::pair(".csv", reference_csv_magic);
    if (out != "-") options.files().add("--out", out, FileRole::output, magic);
  });
  options.parse();
  if (out.has_extension() && out.extension() != ending)
    throw UsageError(fmt::format(
        "--out must be NAME.csv, NAME.xdmf or, with --field, NAME.npy, not {}", out.string()));

  if (what == Export::field) {
    export_field(file, field, out);
    return exit_done;
  }
  if (what == Export::xdmf) export_xdmf(file, out);
  const ResultReader reader = open_result_file(file);
  if (what == Export::reference_csv) {
    const Thresholds thresholds = recorded_thresholds(file, reader.settings());
    put_out(out, [&](std::ostream& to) { write_reference_csv(to, rows_of(reader), thresholds); });
  }
  const PlanCounts counts = counts_of(reader);
  log_unsolved_plans(reader, counts.pending);
  return exit_status_of(counts.pending, counts.failed);
}

Report trace_command(Options& options) {
  std::string name;
  std::filesystem::path out;
  std::filesystem::path events;
  options.describe(
      "FILE --out TRACE [options]",
      "Writes the timelines of all solver threads in Chrome's trace format; open the file at "
      "ui.perfetto.dev or in chrome://tracing.",
      {"wallheat trace results.h5 --out trace.json", "wallheat trace steady.h5 --out steady.json"});
  declare_result_file(options, name);
  options.add("out,o", output_file(out, "{\"traceEvents\":[", "TRACE").required(),
              "trace file, such as trace.json");
  options.add("events", file(events, FileRole::input),
              "event log of the run (its --events), to show the phases of host and GPU for each "
              "plan that a GPU solved");
  options.parse();
  const ResultReader reader = open_result_file(name);
  std::vector<GpuTimesOfPlans> on_gpus;
  if (!events.empty()) on_gpus = read_gpu_times(events, reader.sessions());
  write_output(out, [&](std::ostream& to) { write_trace(reader, on_gpus, to); });
  return {};
}

}  // namespace wallheat
