#include "report/row_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/cell_statistics.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "report/result_csv.hpp"
#include "view/spelling.hpp"

namespace wallheat {
namespace {

Value cell_of(const std::string& text) { return text; }
Value cell_of(PlanStatus status) { return to_string(status); }
Value cell_of(double value) { return value; }
/// Returns the double with the same decimal digits as the float, not the nearest double.
Value cell_of(float value) {
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return *parse_number<double>({text.data(), end});
}
/// Formats a hash as a string, because most readers parse numbers as doubles, which cannot
/// represent every hash.
Value cell_of(std::uint64_t hash) { return fmt::format("{:016x}", hash); }
template <std::integral Number>
Value cell_of(Number value) {
  return value;
}

/// Returns a column. `of` returns its value in a row. Text output rounds temperatures.
RowColumn column_named(const char* name, auto of, const PlanResult& any_row) {
  const bool is_temperature = std::string_view(name).ends_with("_temp");
  return {{name, name, is_temperature ? temperature_format : ValueStyle()},
          std::holds_alternative<std::string>(cell_of(of(any_row))),
          false,
          [of](const PlanResult& row) { return cell_of(of(row)); }};
}

/// Old and new names of columns that were renamed before the first release.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> renamed_columns{
    {{"pct_above_18", "pct_above"},
     {"pct_below_15", "pct_below"},
     {"pct_above_18_least", "pct_above_lower"},
     {"pct_above_18_most", "pct_above_upper"},
     {"pct_below_15_least", "pct_below_lower"},
     {"pct_below_15_most", "pct_below_upper"},
     {"cells_in_doubt", "uncertain_cells"},
     {"store_s", "store_wait_s"}}};

void take_rooms(PlanResult plan, const std::vector<RoomResult>& rooms, std::size_t min_cells,
                const RowCallback& take) {
  for (const RoomResult& room : rooms) {
    if (room.cells < min_cells) continue;
    plan.rooms.assign(1, room);
    take(plan);
  }
}

/// Returns true for a number that is not 0. Strings are not conditions.
bool is_true(const Value& value) {
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr && *number != 0;
}

}  // namespace

Rows rows_of(const ResultReader& reader) {
  return [&reader](const RowCallback& take) { reader.for_each_row(take); };
}

Rows rows_of(const std::vector<PlanResult>& rows) {
  return [&rows](const RowCallback& take) { std::ranges::for_each(rows, take); };
}

Rows rows_where(const std::string& where, Rows rows) {
  if (where.empty()) return rows;
  return [formula = Formula("where", where, all_columns(true)),
          rows = std::move(rows)](const RowCallback& take) {
    rows([&](const PlanResult& row) {
      if (is_true(formula.value(row))) take(row);
    });
  };
}

Rows rooms_of(const ResultReader& reader, std::size_t min_cells) {
  return [&reader, min_cells](const RowCallback& take) {
    reader.for_each_row([&](const PlanResult& plan) {
      take_rooms(plan, reader.rooms(plan.index), min_cells, take);
    });
  };
}

Rows rooms_of(PlanResult plan, std::size_t min_cells) {
  return [plan = std::move(plan), min_cells](const RowCallback& take) {
    take_rooms(plan, plan.rooms, min_cells, take);
  };
}

std::vector<RowColumn> all_columns(bool with_hidden) {
  std::vector<RowColumn> columns;
  for_each_member<PlanResult>([&](const auto& column) {
    if (column.use == ColumnUse::internal && !with_hidden) return;
    columns.push_back(column_named(column.name, column.of, {}));
    columns.back().is_deterministic = column.use == ColumnUse::deterministic;
  });
  for (RowColumn& column : columns) {
    if (column.head.key == "status")
      for (const PlanStatus status : plan_statuses) column.words.emplace_back(to_string(status));
    if (column.head.key == "iterations")
      column.value = [](const PlanResult& row) {
        const auto iterations = known_iterations(row);
        return iterations ? Value(*iterations) : Value(nan_value);
      };
  }
  const auto id = std::ranges::find_if(
      columns, [](const RowColumn& column) { return column.head.key == "id"; });
  std::rotate(columns.begin(), id, id + 1);
  return columns;
}

std::vector<RowColumn> room_columns(double cell_metres) {
  std::vector<RowColumn> columns;
  PlanResult any_row;
  any_row.rooms.emplace_back();
  const auto add = [&](const char* name, auto of) {
    columns.push_back(column_named(name, of, any_row));
  };
  add("id", [](const PlanResult& row) { return row.id; });
  for_each_member<RoomResult>([&](const auto& column) {
    if (const std::string_view name = column.name; name != "plan" && name != "room_crc32")
      add(column.name, [column](const PlanResult& row) { return column.of(row.rooms.front()); });
  });
  add("pct_above", [](const PlanResult& row) {
    return percent_of(row.rooms.front().cells_above, row.rooms.front().cells);
  });
  add("pct_below", [](const PlanResult& row) { return pct_below(row.rooms.front()); });
  if (cell_metres > 0)
    add("area_m2", [cell_metres](const PlanResult& row) {
      return static_cast<double>(row.rooms.front().cells) * cell_metres * cell_metres;
    });
  return columns;
}

bool add_threshold_columns(const Thresholds& thresholds, std::vector<RowColumn>& columns) {
  const auto counts_cells = [](const RowColumn& column) {
    const std::string& name = column.head.key;
    return name.find("_above") != std::string::npos || name.find("_below") != std::string::npos ||
           name == "uncertain_cells";
  };
  if (std::ranges::none_of(columns, counts_cells)) return false;
  for (const auto& [name, threshold] :
       {std::pair("above", thresholds.above), {"below", thresholds.below}})
    columns.push_back({json_only_column(name), false, false,
                       [threshold](const PlanResult&) { return Value(threshold); }});
  return true;
}

std::vector<std::string> names_of(const std::vector<RowColumn>& columns) {
  std::vector<std::string> names;
  for (const RowColumn& column : columns) names.push_back(column.head.key);
  return names;
}

std::vector<RowColumn> parse_columns(const std::string& option, const std::string& names,
                                     const std::vector<RowColumn>& all) {
  if (names == "all") return all;
  std::vector<std::string> known = names_of(all);
  std::vector<RowColumn> columns;
  for (const std::string& name : split_list(names)) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      known.insert(known.begin(), "all");
      throw_invalid_value(option, name, known, column_hint(name, known));
    }
    columns.push_back(all[static_cast<std::size_t>(found - known.begin())]);
  }
  return columns;
}

std::string column_hint(const std::string& unknown, const std::vector<std::string>& names) {
  for (const auto& [old_name, new_name] : renamed_columns)
    if (unknown == old_name && std::ranges::count(names, new_name) > 0)
      return fmt::format("; did you mean '{}'?", new_name);
  return did_you_mean(unknown, names);
}

double pct_below(const RoomResult& room) { return percent_of(room.cells_below, room.cells); }

std::vector<std::size_t> select_rows(const Rows& rows, const RowSelection& choice,
                                     const std::vector<RowColumn>& columns) {
  const bool falls = choice.sort.starts_with('-');
  std::optional<Formula> where;
  std::optional<Formula> sort;
  if (!choice.where.empty()) where.emplace("where", choice.where, columns);
  if (!choice.sort.empty()) sort.emplace("sort", choice.sort.substr(falls ? 1 : 0), columns);
  std::vector<std::size_t> chosen;
  std::vector<std::pair<Value, std::size_t>> sorted;  // sort key and index
  std::size_t number = 0;
  rows([&](const PlanResult& row) {
    if (!where || is_true(where->value(row))) {
      if (sort)
        sorted.emplace_back(sort->value(row), number);
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
  for (const auto& [value, row] : sorted) chosen.push_back(row);
  chosen.resize(std::min(chosen.size(), choice.first));
  return chosen;
}

Table table_of(std::string key, Rows rows, std::vector<RowColumn> columns) {
  Table table{std::move(key), "", {}};
  for (const RowColumn& column : columns) table.columns.push_back(column.head);
  table.row_source = [rows = std::move(rows), columns = std::move(columns)](const auto& take) {
    Table::Row values(columns.size());
    rows([&](const PlanResult& row) {
      for (std::size_t i = 0; i < columns.size(); ++i) values[i] = columns[i].value(row);
      take(values);
    });
  };
  return table;
}

void write_reference_csv(std::ostream& out, const Rows& rows, const Thresholds& thresholds) {
  out << reference_csv_header(thresholds);
  rows([&](const PlanResult& row) {
    if (!is_solved(row.status)) return;
    out << row.id;
    for (const PrintedColumn& column : printed_columns)
      out << ", " << format_repr(row.statistics.*column.of);
    out << '\n';
  });
}

}  // namespace wallheat
