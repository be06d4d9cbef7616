#include "report/result_export.hpp"

#include <string>

#include "core/python_float.hpp"
#include "report/row_table.hpp"

namespace wallheat {
namespace {

constexpr std::string_view csv_beginning =
    "building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n";

void write_reference_csv(std::ostream& out, const Rows& rows) {
  out << csv_beginning;
  rows([&](const PlanResult& row) {
    if (!is_answer(row.status)) return;
    out << row.id;
    for (const double value : {row.statistics.mean_temp, row.statistics.std_temp,
                               row.statistics.pct_above_18, row.statistics.pct_below_15}) {
      out << ", " << python_float(value);
    }
    out << '\n';
  });
}

constexpr std::string_view plain_csv_beginning = "id,status,";

void write_all_as_csv(std::ostream& out, const Rows& rows) { write_csv(out, rows, all_columns()); }

constexpr std::string_view json_beginning = "[\n {\n  \"id\":";

void write_all_as_json(std::ostream& out, const Rows& rows) {
  write_json(out, rows, all_columns());
}

}  // namespace

const ExportFormat csv_format{write_reference_csv, csv_beginning};
const ExportFormat plain_csv_format{write_all_as_csv, plain_csv_beginning};
const ExportFormat json_format{write_all_as_json, json_beginning};

}  // namespace wallheat
