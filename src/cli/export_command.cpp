#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "core/npy.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "report/row_table.hpp"
#include "report/vtk_files.hpp"
#include "store/result_path.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

struct FieldFormat {
  std::string (*bytes_of)(const Grid<double>&) = nullptr;
  std::string_view beginning;
};

/// Throws UsageError where the output is one of the plans that the results are of, if these are
/// still where the run found them.
void keep_plans(const std::string& file, const ResultReader& reader, const std::string& output) {
  CommandFiles files;
  files.writes("--out", output);
  try {
    files.reads_plans("the plans of FILE", plans_of(file, reader));
  } catch (const RunError&) {
    return;
  }
  files.check();
}

/// Writes the stored field of a plan.
void export_field(const std::string& file, const std::string& id, const std::string& format,
                  const std::string& output, bool overwrite) {
  const auto chosen = choose<FieldFormat>(
      "format", format.empty() ? "npy" : format,
      {{"npy", {npy::bytes_of, npy::beginning}}, {"vti", {vti_of, vti_beginning}}});
  if (output.empty()) throw UsageError("--field needs --out: a field is no text");
  require_replaceable(output, overwrite, chosen.beginning);
  const ResultReader reader = open_result_file(file);
  keep_plans(file, reader, output);
  const auto& rows = reader.rows();
  const auto row = std::ranges::find(rows, id, &PlanResult::id);
  if (row == rows.end()) refuse_plan(file, reader, id);
  const auto stored = reader.field(static_cast<std::size_t>(row - rows.begin()));
  if (!stored)
    throw RunError(
        fmt::format("{} has no field of plan \"{}\", which is {}: run with --save-fields", file, id,
                    to_string(row->status)));
  write_output(output, chosen.bytes_of(*stored));
}

/// Writes an XDMF file that shows the stored fields of `file`, which it names as seen from where it
/// lies.
void export_xdmf(const std::string& file, const std::string& output, bool overwrite) {
  if (output.empty())
    throw UsageError(
        "--format xdmf needs --out: the XDMF file names the result file as seen "
        "from where it lies");
  require_replaceable(output, overwrite, xdmf_beginning);
  require_result_file(file);
  const auto places = field_places(file);
  if (places.empty()) throw RunError(fmt::format("{} has no field: run with --save-fields", file));
  const std::filesystem::path seen_from = result_path(output).parent_path();
  write_output(output, xdmf_of(places, std::filesystem::relative(result_path(file), seen_from)));
}

}  // namespace

int export_command(Options& options) {
  std::string file;
  std::string output;
  std::string format;
  std::string field;
  bool overwrite = false;
  options.describe(
      "FILE [options]",
      "Writes the results in the order of the ids: as the reference program's CSV, byte for byte, "
      "or as JSON with the columns of each plan; or an XDMF file, with which ParaView shows the "
      "stored fields where they are. Plans without a result are listed on stderr; exit "
      "status 3 if any plan failed, 75 if any is not solved yet.\nWith --field ID: the plan's "
      "stored "
      "temperatures (°C) as a NumPy array, or as an image for VTK and ParaView.",
      {"wallheat export results.h5 --out results.csv",
       "wallheat export results.h5 --field 00001 --out field.npy"});
  declare_result_file(options, file);
  options.add("out,o", value(output, "FILE"), "write there instead of to stdout");
  options.add(
      "format,f", value(format, "NAME"),
      "csv (default), plain-csv (all columns, as spreadsheets and pandas read them), json or "
      "xdmf; with --field npy (default) or vti");
  options.add("field", value(field, "ID"), "write this plan's stored field (float64), to --out");
  options.add("overwrite", flag(overwrite), "replace an output file of the same format");
  options.words("format", {"csv", "plain-csv", "json", "xdmf", "npy", "vti"});
  options.parse();

  CommandFiles files;
  files.reads_store("FILE", file);
  files.writes("--out", output);
  files.check();
  if (!field.empty()) {
    export_field(file, field, format, output, overwrite);
    return exit_done;
  }
  if (format == "npy" || format == "vti")
    throw UsageError(fmt::format("--format {} is for one field: name its plan by --field", format));
  // Nothing: xdmf, which is about fields, not rows.
  const auto chosen = choose<std::optional<ExportFormat>>("format", format.empty() ? "csv" : format,
                                                          {{"csv", csv_format},
                                                           {"plain-csv", plain_csv_format},
                                                           {"json", json_format},
                                                           {"xdmf", std::nullopt}});
  if (!chosen) {
    export_xdmf(file, output, overwrite);
  } else if (!output.empty()) {
    require_replaceable(output, overwrite, chosen->beginning);
  }
  const ResultReader reader = open_result_file(file);
  if (chosen) tell_thresholds(file, reader);
  std::vector<std::string> failed;
  std::size_t pending = 0;
  const Rows rows = [&](const auto& take) {
    reader.for_each_row([&](const PlanResult& row) {
      if (row.status == PlanStatus::failed)
        failed.push_back(fmt::format("{}: {}", printable(row.id), printable(row.error)));
      pending += row.status == PlanStatus::pending ? 1 : 0;
      take(row);
    });
  };
  if (!chosen) {
    rows([](const PlanResult&) {});
  } else if (output.empty()) {
    chosen->write(std::cout, rows);
  } else {
    write_output(output, [&](std::ostream& out) { chosen->write(out, rows); });
  }
  for (const std::string& plan : failed) print_error("failed: {}", plan);
  if (pending > 0) print_error("{} plan(s) are not solved yet", pending);
  if (pending > 0) return exit_work_left;
  return !failed.empty() ? exit_some_plans_failed : exit_done;
}

}  // namespace wallheat
