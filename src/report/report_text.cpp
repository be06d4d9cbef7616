#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <ostream>
#include <sstream>

#include "core/text.hpp"
#include "report/report.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

/// Formats a number with `precision` digits after the point or significant digits, like {fmt} with
/// {:.{}f} or {:.{}g}, but faster.
std::string rounded_text(double number, std::chars_format format, int precision) {
  std::array<char, 64> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format, precision);
  if (error == std::errc() && precision >= 0) return {buffer.data(), end};
  return format == std::chars_format::fixed ? fmt::format("{:.{}f}", number, precision)
                                            : fmt::format("{:.{}g}", number, precision);
}

/// Formats the smallest number with this many decimals that is not less than `number`.
std::string rounded_up_text(double number, int decimals) {
  std::string text = rounded_text(number, std::chars_format::fixed, decimals);
  if (parse_number<double>(text).value_or(number) < number)
    text = rounded_text(number + std::pow(10, -decimals), std::chars_format::fixed, decimals);
  return text;
}

std::string number_text(double number, const ValueStyle& style) {
  if (std::isnan(number)) return "-";
  switch (style.form) {
    case ValueFormat::digits:
      return rounded_text(number, std::chars_format::general, style.digits);
    case ValueFormat::decimals:
      return rounded_text(number, std::chars_format::fixed, style.digits);
    case ValueFormat::decimals_up:
      return rounded_up_text(number, style.digits);
    case ValueFormat::seconds:
      return seconds_text(number);
    case ValueFormat::duration:
      return duration_text(number);
    case ValueFormat::bytes:
      return bytes_text(number);
    case ValueFormat::time:
      break;
  }
  return fmt::format("{}", number);
}

/// Formats a time as "26 Nov 2026, 01:12:10 UTC". Returns text that is not a time with its control
/// characters escaped.
std::string time_of_day(const std::string& utc) {
  const auto time = parse_utc(utc);
  if (!time) return escape_control_chars(utc);
  const auto text = format_utc(static_cast<std::time_t>(*time), "%e %b %Y, %H:%M:%S UTC");
  return text.substr(text.find_first_not_of(' '));
}

/// Formats an integer: as it is, unless it is a number of bytes or a duration.
std::string number_text(std::int64_t number, const ValueStyle& style) {
  const bool as_it_is = style.form != ValueFormat::bytes && style.form != ValueFormat::duration;
  return as_it_is ? std::to_string(number) : number_text(static_cast<double>(number), style);
}

class TextWriter {
 public:
  TextWriter(std::ostream& out, std::optional<std::size_t> columns)
      : out_(out), columns_(columns) {}

  void line(std::string_view text, std::size_t indent) {
    const std::string shown = escape_control_chars(text);
    out_ << (columns_ ? wrap_text(shown, *columns_, indent) : shown) << '\n';
    any_ = true;
  }
  void blank_line() {
    if (any_) out_ << '\n';
  }

 private:
  std::ostream& out_;
  std::optional<std::size_t> columns_;
  bool any_ = false;
};

/// A column of text output.
struct ShownColumn {
  std::size_t index = 0;
  std::string head;
  ValueStyle style;  ///< without the unit, which is in the heading
  std::size_t width = 0;
  bool is_text = false;
};

std::vector<ShownColumn> shown_columns(const Table& table) {
  std::vector<ShownColumn> columns;
  for (std::size_t index = 0; index < table.columns.size(); ++index) {
    if (!table.columns[index].is_in_text()) continue;
    const auto& [key, name, style] = table.columns[index];
    const std::string head = style.unit.empty() ? name : name + ' ' + style.unit;
    columns.push_back({index, head, {style.form, style.digits}, display_width(head)});
  }
  return columns;
}

std::string table_line(const std::vector<ShownColumn>& columns, const auto& cell_of) {
  std::string line;
  for (const ShownColumn& column : columns) {
    const std::string cell = cell_of(column);
    const std::size_t padding = column.width - display_width(cell);
    if (&column != columns.data()) line += "  ";
    line.append(column.is_text ? 0 : padding, ' ')
        .append(cell)
        .append(column.is_text ? padding : 0, ' ');
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

/// Writes a table. Returns false if text output does not contain it.
bool write(const Table& table, TextWriter& out) {
  if (!table.is_in_text() || table.is_collapsed) return false;  // reading its rows may take long
  std::vector<ShownColumn> columns = shown_columns(table);
  std::size_t rows = 0;
  table.for_each([&](const Table::Row& row) {
    if (rows++ >= table.max_text_rows) return;
    for (ShownColumn& column : columns) {
      const Value& value = row.at(column.index);
      column.width = std::max(column.width, display_width(value_text(value, column.style)));
      if (std::holds_alternative<std::string>(value)) column.is_text = true;
    }
  });
  if (rows == 0) return false;
  const std::string margin(table.name.empty() ? 0 : 2, ' ');
  out.blank_line();
  if (!table.name.empty()) out.line(table.name, 2);
  const auto write_line = [&](const auto& cell_of) {
    out.line(margin + table_line(columns, cell_of), margin.size() + 4);
  };
  write_line([](const ShownColumn& column) { return column.head; });
  std::size_t shown = 0;
  table.for_each([&](const Table::Row& row) {
    if (shown++ < table.max_text_rows)
      write_line([&](const ShownColumn& column) {
        return value_text(row.at(column.index), column.style);
      });
  });
  if (rows > table.max_text_rows)
    out.line(fmt::format("{}and {} more", margin, rows - table.max_text_rows), 4);
  return true;
}

}  // namespace

std::string value_text(const Value& value, const ValueStyle& style) {
  const auto with_unit = [&](std::string text) {
    return style.unit.empty() || text == "-" ? text : text + ' ' + style.unit;
  };
  if (const auto* number = std::get_if<double>(&value))
    return with_unit(number_text(*number, style));
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return with_unit(number_text(*number, style));
  if (const auto* is = std::get_if<bool>(&value)) return *is ? "yes" : "no";
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return "-";
  return style.form == ValueFormat::time ? time_of_day(*text) : escape_control_chars(*text);
}

std::string Report::share(double part, double whole) {
  return whole > 0 ? fmt::format(", {:.1f} %", 100 * part / whole) : "";
}

bool Table::is_in_text() const { return std::ranges::any_of(columns, &Column::is_in_text); }

void Table::hide() { std::ranges::for_each(columns, &Column::hide); }

void Table::hide_constant_columns(const Value& nothing, std::size_t from) {
  for (std::size_t i = from; i < columns.size(); ++i)
    if (std::ranges::all_of(rows, [&](const Row& row) { return row.at(i) == nothing; }))
      columns[i].hide();
}

const Table* Report::csv_table_or_null() const {
  for (const auto& part : elements)
    if (const auto* table = std::get_if<Table>(&part);
        table && (csv_table.empty() || table->key == csv_table))
      return table;
  return nullptr;
}

Value value_of(const Report& report, const std::string& key) {
  for (const auto& part : report.elements)
    if (const auto* fact = std::get_if<Fact>(&part); fact && fact->key == key) return fact->value;
  return {};
}

Table table_of_json_facts(const Report& report) {
  Table table;
  table.rows.emplace_back();
  for (const auto& part : report.elements)
    if (const auto* fact = std::get_if<Fact>(&part); fact && !fact->key.empty()) {
      table.columns.push_back({fact->key, fact->name, fact->style});
      table.rows.front().push_back(fact->value);
    }
  return table;
}

void Table::for_each(const std::function<void(const Row&)>& take) const {
  if (row_source) return row_source(take);
  for (const Row& row : rows) take(row);
}

void write_text(const Report& report, std::ostream& out, std::optional<std::size_t> columns) {
  constexpr std::size_t widest_name = 40;
  std::size_t column = 0;
  for (const auto& part : report.elements)
    if (const auto* fact = std::get_if<Fact>(&part))
      if (const std::size_t width = display_width(fact->name); width <= widest_name)
        column = std::max(column, width + 2);
  TextWriter writer(out, columns);
  bool is_below_table = false;
  for (const auto& part : report.elements) {
    if (const auto* table = std::get_if<Table>(&part); table && write(*table, writer))
      is_below_table = true;
    if (const auto* fact = std::get_if<Fact>(&part)) {
      if (!fact->is_in_text()) continue;
      if (std::exchange(is_below_table, false)) writer.blank_line();
      const std::size_t width = display_width(fact->name);
      const std::string padding(width + 2 <= column ? column - width : 2, ' ');
      writer.line(fact->name + padding + value_text(fact->value, fact->style) + fact->suffix,
                  column);
    }
    if (const auto* note = std::get_if<Note>(&part)) {
      if (std::exchange(is_below_table, false)) writer.blank_line();
      std::istringstream lines(note->text);
      for (std::string line; std::getline(lines, line);) writer.line(line, 2);
    }
  }
}

}  // namespace wallheat
