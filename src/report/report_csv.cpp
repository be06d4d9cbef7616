#include <cmath>
#include <ostream>
#include <utility>

#include "core/python_float.hpp"
#include "report/report.hpp"

namespace wallheat {
namespace {

/// A text as a cell of CSV (RFC 4180).
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted.append(letter == '"' ? 2 : 1, letter);
  return quoted + '"';
}

std::string csv_field(const Value& value) {
  if (const auto* number = std::get_if<double>(&value))
    return std::isnan(*number) ? "" : python_float(*number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* is = std::get_if<bool>(&value)) return *is ? "true" : "false";
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : csv_cell(*text);
}

}  // namespace

void write_csv(const Table& table, std::ostream& out) {
  const auto write_line = [&](const auto& cell_of) {
    const char* separator = "";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (!table.columns[i].key.empty()) out << std::exchange(separator, ",") << cell_of(i);
    out << '\n';
  };
  write_line([&](std::size_t i) { return table.columns[i].key; });
  table.for_each([&](const Table::Row& row) {
    write_line([&](std::size_t i) { return csv_field(row.at(i)); });
  });
}

}  // namespace wallheat
