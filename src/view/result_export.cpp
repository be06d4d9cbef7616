#include "view/result_export.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/python_float.hpp"

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

}  // namespace

const ExportFormat csv_format{write_csv, csv_beginning};
const ExportFormat json_format{write_json, json_beginning};

}  // namespace wallheat
