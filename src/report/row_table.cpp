#include "report/row_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <memory_resource>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/python_float.hpp"
#include "core/result_columns.hpp"
#include "report/table_columns.hpp"

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

/// The same value, with the letters of a text in `letters`.
FormulaValue kept(const FormulaValue& value, std::pmr::memory_resource& letters) {
  const auto* const text = std::get_if<std::string_view>(&value);
  if (text == nullptr || text->empty()) return value;
  auto* const copy = static_cast<char*>(letters.allocate(text->size(), 1));
  std::ranges::copy(*text, copy);
  return std::string_view(copy, text->size());
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
  const auto formula = std::make_shared<const RowExpression>("where", where);
  return [formula, rows = std::move(rows)](const auto& take) {
    rows([&](const PlanResult& row) {
      if (formula->holds(row)) take(row);
    });
  };
}

template <class Record>
std::vector<std::size_t> chosen_rows(const Records<Record>& rows, const RowChoice& choice) {
  std::optional<Expression<Record>> where;
  std::optional<Expression<Record>> sort;
  const bool falls = choice.sort.starts_with('-');
  if (!choice.where.empty()) where.emplace("where", choice.where);
  if (!choice.sort.empty()) sort.emplace("sort", choice.sort.substr(falls ? 1 : 0));
  std::vector<std::size_t> chosen;
  std::vector<FormulaValue> keys;               // of all rows, if they are sorted
  std::pmr::monotonic_buffer_resource letters;  // of the keys that are texts
  std::size_t number = 0;
  rows([&](const Record& row) {
    const bool is_chosen = !where || where->holds(row);
    if (is_chosen) chosen.push_back(number);
    if (sort) keys.push_back(is_chosen ? kept(sort->value(row), letters) : FormulaValue());
    ++number;
  });
  if (sort) {
    std::ranges::stable_sort(chosen, [&](std::size_t a, std::size_t b) {
      const bool a_is_null = keys[a].index() == 0;
      const bool b_is_null = keys[b].index() == 0;
      if (a_is_null || b_is_null) return b_is_null && !a_is_null;
      return falls ? keys[a] > keys[b] : keys[a] < keys[b];
    });
  }
  chosen.resize(std::min(chosen.size(), choice.first));
  return chosen;
}
template std::vector<std::size_t> chosen_rows(const Rows& rows, const RowChoice& choice);
template std::vector<std::size_t> chosen_rows(const RoomRows& rows, const RowChoice& choice);

std::vector<RowColumn> all_columns() {
  std::vector<RowColumn> columns;
  for_each_column([&](const auto& column) {
    if (column.use == ColumnUse::kept) return;
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
  for_each_column_of(static_cast<const RoomRow*>(nullptr), [&](const char* name, auto of) {
    const std::string_view column = name;
    if (column == "plan" || column == "room_crc32" || (column == "area_m2" && !with_area)) return;
    columns.push_back({{name, name},
                       std::holds_alternative<std::string>(cell_of(of(RoomRow()))),
                       false,
                       [of](const RoomRow& row) { return cell_of(of(row)); }});
  });
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
