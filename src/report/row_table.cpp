#include "report/row_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/python_float.hpp"
#include "core/result_columns.hpp"
#include "core/room_columns.hpp"
#include "report/formula.hpp"
#include "report/room_table.hpp"

namespace wallheat {
namespace {

Value cell_of(const std::string& text) { return text; }
Value cell_of(PlanStatus status) { return std::string(to_string(status)); }
Value cell_of(double value) { return value; }
/// With the digits of the float, not those of the double nearest to it.
Value cell_of(float value) { return std::stod(fmt::format("{}", value)); }
/// Most readers take numbers for doubles, which do not hold all of a hash.
Value cell_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }
template <std::integral Number>
Value cell_of(Number value) {
  return static_cast<std::int64_t>(value);
}

std::vector<RowColumn> columns_for_formulas(const PlanResult*) { return all_columns(true); }
std::vector<RoomColumn> columns_for_formulas(const RoomRow*) { return room_columns(true); }

std::vector<std::string> words_of_column(const std::string& name) {
  std::vector<std::string> words;
  if (name == "status")
    for (const PlanStatus status :
         {PlanStatus::pending, PlanStatus::converged, PlanStatus::max_iterations, PlanStatus::empty,
          PlanStatus::failed})
      words.emplace_back(to_string(status));
  return words;
}

/// A text is no condition.
bool is_true(const Value& value) {
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr && *number != 0;
}

}  // namespace

Rows rows_of(const ResultReader& reader) {
  return [&reader](const auto& take) { reader.for_each_row(take); };
}

Rows rows_of(const std::vector<PlanResult>& rows) {
  return [&rows](const auto& take) {
    for (const PlanResult& row : rows) take(row);
  };
}

Rows rows_where(const std::string& where, Rows rows) {
  if (where.empty()) return rows;
  return [formula = row_formula<PlanResult>("where", where),
          rows = std::move(rows)](const auto& take) {
    rows([&](const PlanResult& row) {
      if (is_true(formula(row))) take(row);
    });
  };
}

template <class Record>
RowFormula<Record> row_formula(const std::string& option, const std::string& text) {
  auto columns = columns_for_formulas(static_cast<const Record*>(nullptr));
  std::vector<FormulaColumn> names;
  for (const Column<Record>& column : columns)
    names.push_back({column.head.key, column.is_text, words_of_column(column.head.key)});
  const Formula formula(option, text, names);
  return [formula, columns = std::move(columns),
          values = std::vector<Value>()](const Record& row) mutable {
    values.clear();
    for (const std::size_t place : formula.needed()) values.push_back(columns[place].value(row));
    return formula.value(values);
  };
}
template RowFormula<PlanResult> row_formula(const std::string&, const std::string&);
template RowFormula<RoomRow> row_formula(const std::string&, const std::string&);

template <class Record>
std::vector<std::size_t> chosen_rows(const Records<Record>& rows, const RowChoice& choice) {
  const bool falls = choice.sort.starts_with('-');
  RowFormula<Record> where;
  RowFormula<Record> sort;
  if (!choice.where.empty()) where = row_formula<Record>("where", choice.where);
  if (!choice.sort.empty()) sort = row_formula<Record>("sort", choice.sort.substr(falls ? 1 : 0));
  std::vector<std::size_t> chosen;
  std::vector<std::pair<Value, std::size_t>> sorted;  // with what they are sorted by
  std::size_t number = 0;
  rows([&](const Record& row) {
    if (!where || is_true(where(row))) {
      if (sort)
        sorted.emplace_back(sort(row), number);
      else
        chosen.push_back(number);
    }
    ++number;
  });
  std::ranges::stable_sort(
      sorted,
      [&](const Value& a, const Value& b) {
        if (!a.is_known() || !b.is_known()) return a.is_known();
        return falls ? a > b : a < b;
      },
      &decltype(sorted)::value_type::first);
  for (const auto& [value, place] : sorted) chosen.push_back(place);
  chosen.resize(std::min(chosen.size(), choice.first));
  return chosen;
}
template std::vector<std::size_t> chosen_rows(const Rows& rows, const RowChoice& choice);
template std::vector<std::size_t> chosen_rows(const RoomRows& rows, const RowChoice& choice);

std::vector<RowColumn> all_columns(bool with_hidden) {
  std::vector<RowColumn> columns;
  for_each_column([&](const auto& column) {
    if (column.use == ColumnUse::kept && !with_hidden) return;
    const auto of = column.of;
    const PlanResult none;
    columns.push_back({{column.name, column.name},
                       std::holds_alternative<std::string>(cell_of(of(none))),
                       column.use == ColumnUse::answer,
                       [of](const PlanResult& row) { return cell_of(of(row)); }});
  });
  const auto id = std::ranges::find_if(
      columns, [](const RowColumn& column) { return column.head.key == "id"; });
  std::rotate(columns.begin(), id, id + 1);
  return columns;
}

std::vector<std::string> all_column_names() {
  std::vector<std::string> names;
  for (const RowColumn& column : all_columns()) names.push_back(column.head.key);
  return names;
}

const std::string_view reference_csv_beginning =
    "building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n";

void write_reference_csv(std::ostream& out, const Rows& rows) {
  out << reference_csv_beginning;
  rows([&](const PlanResult& row) {
    if (!is_answer(row.status)) return;
    out << row.id;
    for (const double value : {row.statistics.mean_temp, row.statistics.std_temp,
                               row.statistics.pct_above_18, row.statistics.pct_below_15})
      out << ", " << python_float(value);
    out << '\n';
  });
}

double RoomRow::area_m2() const {
  if (cell_metres == 0) return std::nan("");
  return static_cast<double>(room.cells) * cell_metres * cell_metres;
}

std::vector<RoomColumn> room_columns(bool with_area) {
  std::vector<RoomColumn> columns;
  const auto add = [&](const char* name, auto of) {
    columns.push_back({{name, name},
                       std::holds_alternative<std::string>(cell_of(of(RoomRow()))),
                       false,
                       [of](const RoomRow& row) { return cell_of(of(row)); }});
  };
  add("id", [](const RoomRow& row) -> const std::string& { return row.id; });
  for_each_room_column([&](const char* name, auto member, const char*) {
    if (const std::string_view column = name; column != "plan" && column != "room_crc32")
      add(name, [member](const RoomRow& row) { return row.room.*member; });
  });
  add("pct_above", [](const RoomRow& row) { return row.pct_above(); });
  add("pct_below", [](const RoomRow& row) { return row.pct_below(); });
  if (with_area) add("area_m2", [](const RoomRow& row) { return row.area_m2(); });
  return columns;
}

RoomRows rooms_of(const ResultReader& reader, double cell_metres) {
  return [&reader, cell_metres](const auto& take) {
    reader.for_each_row([&](const PlanResult& row) {
      for (const RoomResult& room : reader.rooms(row.index)) take({row.id, room, cell_metres});
    });
  };
}

RoomRows rooms_of(std::shared_ptr<const PlanResult> plan, double cell_metres) {
  return [plan = std::move(plan), cell_metres](const auto& take) {
    for (const RoomResult& room : plan->rooms) take({plan->id, room, cell_metres});
  };
}

}  // namespace wallheat
