#include "view/result_export.hpp"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/python_float.hpp"
#include "core/result_columns.hpp"

namespace wallheat {
namespace {

constexpr std::string_view csv_beginning =
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

constexpr std::string_view json_beginning = "[\n {\n  \"id\":";

nlohmann::ordered_json json_of(const std::string& text) { return text; }
nlohmann::ordered_json json_of(PlanStatus status) { return to_string(status); }
/// JSON has no NaN: null stands for it.
nlohmann::ordered_json json_of(double value) {
  return std::isnan(value) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}
/// Most readers of JSON take numbers for doubles, which do not hold all of a hash.
nlohmann::ordered_json json_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }
template <std::integral Number>
nlohmann::ordered_json json_of(Number value) {
  return value;
}

void write_json(std::ostream& out, const std::vector<PlanResult>& rows) {
  auto plans = nlohmann::ordered_json::array();
  for (const PlanResult& row : rows) {
    nlohmann::ordered_json plan{{"id", row.id}};  // first, whatever the order of the columns
    for_each_column([&](const auto& column) {
      if (column.use != ColumnUse::kept) plan[column.name] = json_of(column.of(row));
    });
    plans.push_back(std::move(plan));
  }
  out << plans.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

const ExportFormat csv_format{write_csv, csv_beginning};
const ExportFormat json_format{write_json, json_beginning};

}  // namespace wallheat
