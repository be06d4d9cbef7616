#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report.hpp"
#include "view/spelling.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Which rows of a result file, and in which order.
struct RowChoice {
  /// A formula that is not 0; empty: all rows.
  std::string where = {};
  /// A formula, ascending; with a - in front descending; empty: in the order of the ids.
  std::string sort = {};
  /// So many at most, after sorting.
  std::size_t first = SIZE_MAX;
};

/// Hands over rows one after the other, so that not all need be in memory; each call begins anew.
template <class Record>
using Records = std::function<void(const std::function<void(const Record&)>& take)>;
using Rows = Records<PlanResult>;
/// Those of a file or list, which must live as long.
[[nodiscard]] Rows rows_of(const ResultReader& reader);
[[nodiscard]] Rows rows_of(const std::vector<PlanResult>& rows);
/// Those for which a formula is not 0; all if it is empty. Throws UsageError.
[[nodiscard]] Rows rows_where(const std::string& where, Rows rows);

/// The numbers of the chosen ones, from 0 on. Sorting puts numbers before texts, texts by their
/// bytes, and rows for which it is NULL last. Throws UsageError, for --where and --sort.
template <class Record>
[[nodiscard]] std::vector<std::size_t> chosen_rows(const Records<Record>& rows,
                                                   const RowChoice& choice);

/// What a formula (report/formula.hpp) makes of a plan or a room, by all of its columns.
template <class Record>
using RowFormula = std::function<Value(const Record&)>;
template <class Record>
[[nodiscard]] RowFormula<Record> row_formula(const std::string& option, const std::string& formula);

/// A column as it is shown.
template <class Record>
struct Column {
  Table::Column head;  ///< with one name for scripts and people, which formulas know
  bool is_text = false;
  bool is_answer = false;  ///< two answers of a plan must agree in it
  std::function<Value(const Record&)> value;
};
using RowColumn = Column<PlanResult>;

/// All columns of plans that are shown, "id" first; or also those that only formulas know.
[[nodiscard]] std::vector<RowColumn> all_columns(bool with_hidden = false);
[[nodiscard]] std::vector<std::string> all_column_names();
/// Those of `all` that are named, separated by commas, or "all". Throws UsageError, which names
/// `option`.
template <class Record>
[[nodiscard]] std::vector<Column<Record>> columns_named(const std::string& option,
                                                        const std::string& names,
                                                        const std::vector<Column<Record>>& all) {
  if (names == "all") return all;
  std::vector<std::string> known{"all"};
  for (const Column<Record>& column : all) known.push_back(column.head.key);
  std::vector<Column<Record>> columns;
  for (const std::string& name : words_of(names)) {
    const auto found = std::ranges::find(known.begin() + 1, known.end(), name);
    if (found == known.end()) refuse_value(option, name, known);
    columns.push_back(all[static_cast<std::size_t>(found - known.begin()) - 1]);
  }
  return columns;
}

/// One row after the other, however many there are.
template <class Record>
[[nodiscard]] Table table_of(std::string key, Records<Record> rows,
                             std::vector<Column<Record>> columns) {
  Table table{std::move(key), "", {}};
  for (const Column<Record>& column : columns) table.columns.push_back(column.head);
  table.source = [rows = std::move(rows), columns = std::move(columns)](const auto& take) {
    Table::Row values(columns.size());
    rows([&](const Record& row) {
      for (std::size_t i = 0; i < columns.size(); ++i) values[i] = columns[i].value(row);
      take(values);
    });
  };
  return table;
}

/// The published program's CSV, byte for byte; plans without an answer are left out.
void write_reference_csv(std::ostream& out, const Rows& rows);
/// How every such file begins.
extern const std::string_view reference_csv_beginning;

}  // namespace wallheat
