#include <algorithm>
#include <cstdint>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "core/id_list.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// The numbers of the rows of these plans, each once. Throws RunError if one is not in the file.
std::vector<std::size_t> rows_of_plans(const std::string& file, const ResultReader& reader,
                                       const std::vector<std::string>& ids) {
  IdList named;
  for (const std::string& id : ids) named.add(id);
  std::vector<std::size_t> rows(named.size(), SIZE_MAX);
  std::size_t number = 0;
  reader.for_each_row([&](const PlanResult& row) {
    if (const auto place = named.find(row.id)) rows[*place] = number;
    ++number;
  });
  if (const auto none = std::ranges::find(rows, SIZE_MAX); none != rows.end())
    refuse_plan(file, reader, std::string(named[static_cast<std::size_t>(none - rows.begin())]));
  return rows;
}

}  // namespace

int list_command(const Arguments& arguments) {
  std::vector<std::string> names;
  RowChoice choice;
  std::string column_names;
  ListForm form;
  Options options("list FILE [ID ...] [options]",
                  "Lists plans of a result file: which are too cold, which failed, which took "
                  "longest?\nAs a table, as CSV that spreadsheets and pandas read without options, "
                  "or as JSON.",
                  {"wallheat list results.h5 --sort mean_temp --first 10",
                   "wallheat list results.h5 --where \"iterations > 100 and status = 'converged'\""
                   " -f csv"});
  options.add("file", value(names, "FILE"),
              "the result file, then the plans to list (also as arguments)");
  options.positional("file", -1);
  options.require({"file"});
  declare_rows(options, choice);
  options.add("columns",
              value(column_names, "NAMES",
                    "id,status,mean_temp,std_temp,pct_above_18,pct_below_15,"
                    "iterations,seconds"),
              "separated by commas, or all (temperatures in °C)");
  form.declare(options, "plans");
  if (!options.parse(arguments)) return exit_done;
  const auto columns = columns_named("columns", column_names);
  form.finish(choice);
  const std::string file = names.front();
  const std::vector<std::string> ids(names.begin() + 1, names.end());
  if (!ids.empty() && (!choice.where.empty() || !choice.sort.empty()))
    throw UsageError("name plans, or choose them by --where and --sort, not both");

  const ResultReader reader = open_result_file(file);
  tell_thresholds(file, reader);
  auto selected =
      ids.empty() ? selected_rows(file, reader, choice) : rows_of_plans(file, reader, ids);
  selected.resize(std::min(selected.size(), choice.first.value_or(SIZE_MAX)));
  const bool all_in_order = ids.empty() && selected.size() == reader.count() && choice.sort.empty();
  const Rows rows = all_in_order ? rows_of(reader) : Rows([&](const auto& take) {
    for (const std::size_t row : selected) take(reader.row(row));
  });
  form.print(rows, columns);
  return exit_done;
}

}  // namespace wallheat
