#include <fmt/format.h>

#include <cstdint>
#include <iostream>
#include <limits>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

enum class ListFormat { table, csv, json };

}  // namespace

int list_command(const Arguments& arguments) {
  std::string file;
  RowChoice choice;
  std::string column_names;
  std::string format_name;
  constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = all;
  bool json = false;
  Options options("list FILE [options]",
                  "Lists plans of a result file: which are too cold, which failed, which took "
                  "longest?\nAs a table, as CSV that spreadsheets and pandas read without options, "
                  "or as JSON.");
  declare_result_file(options, file);
  declare_rows(options, choice);
  options.add("first,n", value(first, "N", all, "all"), "so many plans at most");
  options.add("columns",
              value(column_names, "NAMES",
                    "id,status,mean_temp,std_temp,pct_above_18,pct_below_15,"
                    "iterations,seconds"),
              "separated by commas, or all (temperatures in °C)");
  options.add("format,f", value(format_name, "NAME", "table"), "table, csv or json");
  options.add("json", flag(json), "the same as --format json");
  options.words("format", {"table", "csv", "json"});
  if (!options.parse(arguments)) return exit_done;
  if (json) format_name = "json";
  const auto format = choose<ListFormat>(
      "format", format_name,
      {{"table", ListFormat::table}, {"csv", ListFormat::csv}, {"json", ListFormat::json}});
  const auto columns = columns_named("columns", column_names);
  if (first < 1) throw UsageError("--first must be at least 1");
  choice.first = static_cast<std::size_t>(first);

  const ResultReader reader = open_result_file(file);
  tell_thresholds(file, reader);
  const auto selected = selected_rows(file, reader, choice);
  const bool all_in_order = selected.size() == reader.count() && choice.sort.empty();
  const Rows rows = all_in_order ? rows_of(reader) : Rows([&](const auto& take) {
    for (const std::size_t row : selected) take(reader.row(row));
  });
  switch (format) {
    case ListFormat::table:
      print_rows(rows, columns);
      break;
    case ListFormat::csv:
      write_csv(std::cout, rows, columns);
      break;
    case ListFormat::json:
      write_json(std::cout, rows, columns);
      break;
  }
  return exit_done;
}

}  // namespace wallheat
