#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "core/npy.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "report/result_export.hpp"
#include "store/results/result_store.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

/// Throws UsageError, or RunError where there is no such field.
void export_field(const std::string& file, const std::string& id, const std::string& output,
                  bool overwrite) {
  if (output.empty()) throw UsageError("--field needs --output: a NumPy array is no text");
  require_replaceable(output, overwrite, npy::beginning);
  const ResultReader reader(file);
  std::optional<PlanResult> row;
  reader.for_each_row([&](const PlanResult& each) {
    if (each.id == id) row = each;
  });
  if (!row) throw RunError(fmt::format("{} has no plan \"{}\"", file, id));
  const auto stored = reader.field(row->index);
  if (!stored)
    throw RunError(
        fmt::format("{} has no field of plan \"{}\", which is {}: run with --save-fields", file, id,
                    to_string(row->status)));
  write_output(output, npy::bytes_of(*stored));
}

}  // namespace

int export_command(const Arguments& arguments) {
  std::string file;
  std::string output;
  std::string format;
  std::string field;
  bool overwrite = false;
  Options options(
      "export FILE [options]",
      "Writes the results in the order of the ids: as the reference program's CSV, byte for byte, "
      "or as JSON with the columns of each plan. Plans without a result are listed on stderr; exit "
      "status 3 if any plan failed, 75 if any is not solved yet.\nWith --field ID: the plan's "
      "stored "
      "temperatures (°C) as a NumPy array.");
  options.add()("file", po::value(&file)->value_name("FILE"),
                "the result file (also as an argument)");
  options.add()("output,o", po::value(&output)->value_name("FILE"),
                "write there instead of to stdout");
  options.add()("format,f", po::value(&format)->default_value("csv")->value_name("NAME"),
                "csv or json");
  options.add()("field", po::value(&field)->value_name("ID"),
                "write this plan's stored field as a NumPy array (float64), by --output");
  options.add()("overwrite", po::bool_switch(&overwrite),
                "replace an output file of the same format");
  options.positional("file", 1);
  options.require({"file"});
  if (!options.parse(arguments)) return exit_done;
  const auto chosen =
      choose<ExportFormat>("format", format, {{"csv", csv_format}, {"json", json_format}});

  CommandFiles files;
  files.reads_store("FILE", file);
  files.writes("--output", output);
  files.require_different();
  if (!field.empty()) {
    export_field(file, field, output, overwrite);
    return exit_done;
  }
  if (!output.empty()) require_replaceable(output, overwrite, chosen.beginning);
  const ResultReader reader(file);
  for (const std::string& sentence : reader.damage())
    print_error("wallheat: {}", printable(sentence));
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
  if (output.empty()) {
    chosen.write(std::cout, rows);
    if (!std::cout.flush())
      throw RunError(fmt::format("stdout cannot be written: {}", std::strerror(errno)));
  } else {
    write_output(output, [&](std::ostream& out) { chosen.write(out, rows); });
  }
  for (const std::string& plan : failed) print_error("failed: {}", plan);
  if (pending > 0) print_error("{} plan(s) are not solved yet", pending);
  if (pending > 0) return exit_work_left;
  return !failed.empty() ? exit_some_plans_failed : exit_done;
}

}  // namespace wallheat
