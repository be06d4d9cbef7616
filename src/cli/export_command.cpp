#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "core/printable.hpp"
#include "core/python_float.hpp"
#include "io/print_error.hpp"
#include "store/results/result_store.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

constexpr const char* csv_beginning =
    "building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n";

void write_csv(std::ostream& out, const std::vector<PlanResult>& rows) {
  out << csv_beginning;
  for (const PlanResult& row : rows) {
    if (!is_answer(row.status)) continue;
    out << row.id;
    for (const double value : {row.statistics.mean_temp, row.statistics.std_temp,
                               row.statistics.pct_above_18, row.statistics.pct_below_15}) {
      out << ", " << python_float(value);
    }
    out << '\n';
  }
}

constexpr const char* json_beginning = "[\n {\n  \"id\":";

void write_json(std::ostream& out, const std::vector<PlanResult>& rows) {
  // JSON has no NaN: null stands for it.
  const auto number = [](double value) {
    return std::isnan(value) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
  };
  auto plans = nlohmann::ordered_json::array();
  for (const PlanResult& row : rows) {
    plans.push_back({{"id", row.id},
                     {"status", to_string(row.status)},
                     {"mean_temp", number(row.statistics.mean_temp)},
                     {"std_temp", number(row.statistics.std_temp)},
                     {"pct_above_18", number(row.statistics.pct_above_18)},
                     {"pct_below_15", number(row.statistics.pct_below_15)},
                     {"iterations", row.iterations},
                     {"last_delta", number(row.last_delta)},
                     {"interior_cells", row.interior_cells},
                     {"rows", row.rows},
                     {"cols", row.cols},
                     {"seconds", row.seconds},
                     {"attempts", row.attempts},
                     {"rank", row.rank},
                     {"host", row.host},
                     {"device", row.device},
                     {"solver", row.solver},
                     {"input_hash", fmt::format("{:016x}", row.input_hash)},
                     {"error", row.error}});
  }
  out << plans.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

struct Format {
  void (*write)(std::ostream&, const std::vector<PlanResult>&);
  std::string_view beginning;  ///< of any file of the format
};

}  // namespace

int export_command(const Arguments& arguments) {
  std::string file;
  std::string output;
  std::string format;
  bool overwrite = false;
  Options options(
      "export FILE [options]",
      "Writes the results in the order of the ids: as the reference program's CSV, byte for byte, "
      "or as JSON with the columns of each plan. Plans without a result are listed on stderr; exit "
      "status 3 if any plan failed, 75 if any is not solved yet.");
  options.add()("file", po::value(&file)->value_name("FILE"),
                "the result file (also as an argument)");
  options.add()("output,o", po::value(&output)->value_name("FILE"),
                "write there instead of to stdout");
  options.add()("format,f", po::value(&format)->default_value("csv")->value_name("NAME"),
                "csv or json");
  options.add()("overwrite", po::bool_switch(&overwrite),
                "replace an output file of the same format");
  options.positional("file", 1);
  options.require({"file"});
  if (!options.parse(arguments)) return exit_done;
  const auto chosen =
      choose<Format>("format", format,
                     {{"csv", {write_csv, csv_beginning}}, {"json", {write_json, json_beginning}}});

  CommandFiles files;
  files.reads_store("FILE", file);
  files.writes("--output", output);
  files.require_different();
  if (!output.empty()) require_replaceable(output, overwrite, chosen.beginning);
  const ResultReader reader(file);
  for (const std::string& sentence : reader.damage())
    print_error("wallheat: {}", printable(sentence));
  if (output.empty()) {
    chosen.write(std::cout, reader.rows());
    if (!std::cout.flush())
      throw RunError(fmt::format("stdout cannot be written: {}", std::strerror(errno)));
  } else {
    std::ostringstream text;
    chosen.write(text, reader.rows());
    write_output(output, text.view());
  }

  std::size_t failed = 0;
  std::size_t pending = 0;
  for (const PlanResult& row : reader.rows()) {
    if (row.status == PlanStatus::failed) {
      ++failed;
      print_error("failed: {}: {}", printable(row.id), printable(row.error));
    } else if (row.status == PlanStatus::pending) {
      ++pending;
    }
  }
  if (pending > 0) print_error("{} plan(s) are not solved yet", pending);
  if (pending > 0) return exit_work_left;
  return failed > 0 ? exit_some_plans_failed : exit_done;
}

}  // namespace wallheat
