#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "report/report.hpp"

// Access to the content of a report, independent of its output format.

namespace wallheat {

/// Returns the text output.
inline std::string text_of(const Report& report) {
  std::ostringstream text;
  write_text(report, text);
  return text.str();
}

/// Returns the JSON output.
inline nlohmann::json json_of(const Report& report) {
  std::ostringstream json;
  write_json(report, json);
  return nlohmann::json::parse(json.str());
}

/// Throws std::out_of_range if the report has no table with this key.
inline const Table& table_of(const Report& report, const std::string& key) {
  for (const auto& part : report.elements)
    if (const auto* table = std::get_if<Table>(&part); table && table->key == key) return *table;
  throw std::out_of_range(key);
}

inline std::vector<Table::Row> rows_of(const Report& report, const std::string& table) {
  std::vector<Table::Row> rows;
  table_of(report, table).for_each([&](const Table::Row& row) { rows.push_back(row); });
  return rows;
}

/// Returns the cell of a row in the column with this key. Throws std::out_of_range if it does not
/// exist.
inline Value cell_of(const Report& report, const std::string& table, std::size_t row,
                     const std::string& column) {
  const auto& columns = table_of(report, table).columns;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].key == column) return rows_of(report, table).at(row).at(i);
  throw std::out_of_range(column);
}

/// Returns the messages of a report: its notes, and the values of the facts without a key, which
/// only the text output contains.
inline std::vector<std::string> messages_of(const Report& report) {
  std::vector<std::string> messages;
  for (const auto& part : report.elements) {
    if (const auto* note = std::get_if<Note>(&part)) messages.push_back(note->text);
    if (const auto* fact = std::get_if<Fact>(&part); fact && fact->key.empty())
      messages.push_back(value_text(fact->value));
  }
  return messages;
}

}  // namespace wallheat
