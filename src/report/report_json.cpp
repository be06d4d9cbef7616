#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/members.hpp"
#include "core/text.hpp"
#include "report/report.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

/// Quotes a string as a cell of CSV (RFC 4180).
std::string csv_cell(const std::string& text, char separator) {
  if (text.find_first_of("\"\r\n") == std::string::npos &&
      text.find(separator) == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted.append(letter == '"' ? 2 : 1, letter);
  return quoted + '"';
}

/// Formats a number with the digits of text output and a decimal comma. A number whose text output
/// contains a unit has six significant digits.
std::string spreadsheet_number(double number, const ValueStyle& style) {
  using enum ValueFormat;
  const bool has_style =
      style.form == decimals || style.form == decimals_up || style.form == digits;
  std::string text =
      value_text(number, has_style ? ValueStyle{style.form, style.digits} : ValueStyle{});
  std::ranges::replace(text, '.', ',');
  return text;
}

std::string csv_field(const Value& value, const ValueStyle& style, CsvDialect dialect) {
  const bool is_spreadsheet = dialect == CsvDialect::semicolons;
  if (const auto* number = std::get_if<double>(&value)) {
    if (std::isnan(*number)) return "";
    return is_spreadsheet ? spreadsheet_number(*number, style) : format_repr(*number);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* is = std::get_if<bool>(&value)) return *is ? "true" : "false";
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : csv_cell(*text, is_spreadsheet ? ';' : ',');
}

}  // namespace

void write_csv(const Table& table, std::ostream& out, CsvDialect dialect) {
  const bool is_spreadsheet = dialect == CsvDialect::semicolons;
  if (is_spreadsheet) out << byte_order_mark;
  const auto write_line = [&](const auto& cell_of) {
    const char* separator = "";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].is_in_json())
        out << std::exchange(separator, is_spreadsheet ? ";" : ",") << cell_of(i);
    out << '\n';
  };
  write_line([&](std::size_t i) { return table.columns[i].key; });
  table.for_each([&](const Table::Row& row) {
    write_line(
        [&](std::size_t i) { return csv_field(row.at(i), table.columns[i].style, dialect); });
  });
}

// The layout of a report is an array for each of its elements: these members, in this order. All
// other members are data.
WALLHEAT_MEMBERS(ValueStyle, form, digits, unit);
WALLHEAT_MEMBERS(Fact, key, name, style, suffix);
WALLHEAT_MEMBERS(Table::Column, key, name, style);
WALLHEAT_MEMBERS(Table, key, name, columns, max_text_rows, is_collapsed);
WALLHEAT_MEMBERS(Note, text);
WALLHEAT_MEMBERS(Figure::Axis, name, scale, names, from, to);
WALLHEAT_MEMBERS(Figure::Series, name, mark, labels, is_dashed);
WALLHEAT_MEMBERS(Figure, key, name, x, y, series, is_sequential);

namespace {

constexpr ValueFormat last_of(ValueFormat) { return ValueFormat::decimals_up; }
constexpr Figure::Scale last_of(Figure::Scale) { return Figure::Scale::powers_of_10; }
constexpr Figure::Mark last_of(Figure::Mark) { return Figure::Mark::rectangles; }

Json layout_of(auto of) {
  using T = decltype(of);
  if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(of);
  } else if constexpr (HasMembers<T>) {
    Json layout = Json::array();
    for_each_member<T>([&](const auto& member) { layout.push_back(layout_of(member.of(of))); });
    return layout;
  } else if constexpr (requires { of.push_back(of.front()); } && !std::is_same_v<T, std::string>) {
    Json layout = Json::array();
    for (const auto& one : of) layout.push_back(layout_of(one));
    return layout;
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    return of ? Json(*of) : Json();
  } else {
    return of;
  }
}

/// Reads a value from the layout. Throws Json::exception or std::out_of_range if the layout has
/// another structure.
void read_layout(const Json& layout, auto& of) {
  using T = std::remove_reference_t<decltype(of)>;
  if constexpr (std::is_enum_v<T>) {
    const int number = layout.get<int>();
    if (number < 0 || number > static_cast<int>(last_of(of)))
      throw std::out_of_range("no such kind");
    of = static_cast<T>(number);
  } else if constexpr (HasMembers<T>) {
    std::size_t index = 0;
    for_each_member<T>([&]<class Value>(const MemberOf<T, Value>& member) {
      // Files of earlier versions lack the optional members at the end.
      if (std::is_same_v<Value, std::optional<double>> && index >= layout.size()) return;
      read_layout(layout.at(index++), member.of(of));
    });
  } else if constexpr (requires { of.push_back(of.front()); } && !std::is_same_v<T, std::string>) {
    for (const Json& one : layout) read_layout(one, of.emplace_back());
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    if (!layout.is_null()) of = layout.get<double>();
  } else {
    of = layout.get<T>();
  }
}

Json json_value(const Value& value) {
  return std::visit(
      []<class T>(const T& known) {
        if constexpr (std::is_same_v<T, std::monostate>)
          return Json();
        else
          return Json(known);
      },
      value);
}

/// Writes the rows of a table as an array of objects, one by one, because there may be too many for
/// memory.
void write_rows(const Table& table, std::ostream& out) {
  std::vector<std::string> keys;
  for (const Table::Column& column : table.columns) keys.push_back(json_line(column.key) + ": ");
  const char* separator = "[\n  ";
  table.for_each([&](const Table::Row& row) {
    out << std::exchange(separator, ",\n  ");
    const char* comma = "{";
    for (std::size_t i = 0; i < row.size(); ++i)
      if (table.columns.at(i).is_in_json())
        out << std::exchange(comma, ", ") << keys[i] << json_line(json_value(row[i]));
    out << '}';
  });
  out << (*separator == '[' ? "[]" : "\n ]");
}

Json json_value(const Figure& figure) {
  Json all = Json::array();
  for (const auto& [name, mark, x, y, x_end, y_end, labels, is_dashed] : figure.series) {
    Json& series = all.emplace_back(Json{{"name", name}, {"x", x}, {"y", y}});
    if (!x_end.empty()) series["x_end"] = x_end;
    if (!y_end.empty()) series["y_end"] = y_end;
  }
  return all;
}

void read_series(const Json& all, Figure& figure) {
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    Figure::Series& of = figure.series[i];
    for (const auto& [name, numbers] :
         {std::pair("x", &of.x), {"y", &of.y}, {"x_end", &of.x_end}, {"y_end", &of.y_end}})
      for (const Json& number : all.at(i).value(name, Json::array()))
        numbers->push_back(number.is_null() ? nan_value : number.get<double>());
  }
}

}  // namespace

Value value_from_json(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

void add_rows(Table& table, const Json& rows) {
  for (const Json& object : rows) {
    Table::Row& row = table.rows.emplace_back();
    for (const Table::Column& column : table.columns)
      row.push_back(column.is_in_json() ? value_from_json(object.at(column.key)) : Value());
  }
}

void write_json(const Report& report, std::ostream& out) {
  const char* separator = "{\n ";
  const auto member = [&](const std::string& name) -> std::ostream& {
    return out << std::exchange(separator, ",\n ") << json_line(name) << ": ";
  };
  Json figures = Json::object();
  Json layout = Json::array({report.title});
  for (const auto& part : report.elements) {
    if (const auto* fact = std::get_if<Fact>(&part)) {
      layout.push_back({"fact", layout_of(*fact)});
      if (fact->key.empty())
        layout.back().push_back(json_value(fact->value));
      else
        member(fact->key) << json_line(json_value(fact->value));
    }
    if (const auto* table = std::get_if<Table>(&part)) {
      write_rows(*table, member(table->key));
      Table head{table->key, table->name, table->columns};
      head.max_text_rows = table->max_text_rows;
      head.is_collapsed = table->is_collapsed;
      std::erase_if(head.columns, std::not_fn(&Table::Column::is_in_json));
      layout.push_back({"table", layout_of(std::move(head))});
    }
    if (const auto* note = std::get_if<Note>(&part)) layout.push_back({"note", layout_of(*note)});
    if (const auto* figure = std::get_if<Figure>(&part); figure && !figure->fields) {
      figures[figure->key] = json_value(*figure);
      layout.push_back({"figure", layout_of(*figure)});
    }
  }
  if (!figures.empty()) member("figures") << json_line(figures);
  if (!report.elements.empty()) member("layout") << json_line(layout);
  out << (*separator == '{' ? "{}\n" : "\n}\n");
}

Report parse_report(const std::string& file, const std::string& text) {
  const std::string refusal = file + " is not the output of 'wallheat COMMAND --json'";
  try {
    const Json json = Json::parse(text);
    const Json& layout = json.at("layout");
    Report report{layout.at(0)};
    const auto add = [&]<class Part>(Part part, const Json& of) -> Part& {
      read_layout(of, part);
      return report.add(std::move(part));
    };
    for (std::size_t i = 1; i < layout.size(); ++i) {
      const std::string kind = layout[i].at(0);
      const Json& of = layout[i].at(1);
      if (kind == "fact") {
        Fact& fact = add(Fact(), of);
        fact.value = value_from_json(fact.key.empty() ? layout[i].at(2) : json.at(fact.key));
      }
      if (kind == "table") {
        Table& table = add(Table(), of);
        add_rows(table, json.at(table.key));
      }
      if (kind == "note") add(Note(), of);
      if (kind == "figure") {
        Figure& figure = add(Figure(), of);
        read_series(json.at("figures").at(figure.key), figure);
      }
    }
    return report;
  } catch (const Json::exception&) {
    throw RunError(refusal);
  } catch (const std::out_of_range&) {
    throw RunError(refusal);
  }
}

}  // namespace wallheat
