#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "report/report.hpp"

// What a report holds, whatever form it gets.

namespace wallheat {

/// What people read.
inline std::string text_of(const Report& report) {
  std::ostringstream text;
  write_text(report, text);
  return text.str();
}

/// What scripts read.
inline nlohmann::json json_of(const Report& report) {
  std::ostringstream json;
  write_json(report, json);
  return nlohmann::json::parse(json.str());
}

inline const Table& table_of(const Report& report, const std::string& key) {
  for (const auto& part : report.parts)
    if (const auto* table = std::get_if<Table>(&part); table && table->key == key) return *table;
  throw std::out_of_range(key);
}

inline std::vector<Table::Row> rows_of(const Report& report, const std::string& table) {
  std::vector<Table::Row> rows;
  table_of(report, table).for_each([&](const Table::Row& row) { rows.push_back(row); });
  return rows;
}

/// In the column of this key.
inline Value cell_of(const Report& report, const std::string& table, std::size_t row,
                     const std::string& column) {
  const auto& columns = table_of(report, table).columns;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].key == column) return rows_of(report, table).at(row).at(i);
  throw std::out_of_range(column);
}

/// The values of facts without a key, and the notes: what people read in words.
inline std::vector<std::string> sentences_of(const Report& report) {
  std::vector<std::string> sentences;
  for (const auto& part : report.parts) {
    if (const auto* note = std::get_if<Note>(&part)) sentences.push_back(note->text);
    if (const auto* fact = std::get_if<Fact>(&part); fact && fact->key.empty())
      sentences.push_back(value_text(fact->value));
  }
  return sentences;
}

}  // namespace wallheat
