#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"

namespace wallheat {

int list_command(Options& options) {
  std::string file;
  RowChoice choice;
  std::string column_names;
  ListForm form;
  options.describe(
      "FILE [options]",
      "Lists plans of a result file: which are too cold, which failed, which took "
      "longest?\nAs a table, as CSV that spreadsheets and pandas read without options, "
      "or as JSON.",
      {"wallheat list results.h5 --sort mean_temp --first 10",
       "wallheat list results.h5 --where 'iterations > 100' -f csv"});
  declare_result_file(options, file);
  declare_rows(options, choice);
  options.add("columns",
              value(column_names, "NAMES",
                    "id,status,mean_temp,std_temp,pct_above_18,pct_below_15,"
                    "iterations,seconds"),
              "separated by commas, or all (temperatures in °C)");
  form.declare(options, "plans");
  options.parse();
  const auto columns = columns_named("columns", column_names);
  form.finish(choice);

  const ResultReader reader = open_result_file(file);
  tell_thresholds(file, reader);
  const auto selected = selected_rows(file, reader, choice);
  const bool all_in_order = selected.size() == reader.count() && choice.sort.empty();
  const Rows rows = all_in_order ? rows_of(reader) : Rows([&](const auto& take) {
    for (const std::size_t row : selected) take(reader.row(row));
  });
  form.print(rows, columns);
  return exit_done;
}

}  // namespace wallheat
