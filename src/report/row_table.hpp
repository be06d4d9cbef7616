#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/row_expression.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Which rows of a result file, and in which order.
struct RowChoice {
  /// A RowExpression; empty: all rows.
  std::string where = {};
  /// A RowExpression, ascending; with a - in front descending; empty: in the order of the ids.
  std::string sort = {};
  /// So many at most, after sorting.
  std::optional<std::size_t> first = {};
};

/// Hands over rows one after the other, so that not all need be in memory; each call begins anew.
template <class Record>
using Records = std::function<void(const std::function<void(const Record&)>& take)>;
using Rows = Records<PlanResult>;
/// Those of a file or list, which must live as long.
[[nodiscard]] Rows rows_of(const ResultReader& reader);
[[nodiscard]] Rows rows_of(const std::vector<PlanResult>& rows);
/// Those for which a RowExpression holds; all where it is empty. Throws UsageError.
[[nodiscard]] Rows rows_where(const std::string& where, Rows rows);

/// The numbers of the chosen ones, from 0 on. `sort` puts numbers before texts, texts by their
/// bytes, and rows for which it is NULL last. Throws UsageError, for --where and --sort.
template <class Record>
[[nodiscard]] std::vector<std::size_t> chosen_rows(const Records<Record>& rows,
                                                   const RowChoice& choice);

using Cell = std::variant<std::string, double, std::int64_t>;

/// A column as it is shown.
template <class Record>
struct Column {
  std::string name;
  bool is_text = false;
  bool is_answer = false;  ///< two answers of a plan must agree in it
  std::function<Cell(const Record&)> cell;
};
using RowColumn = Column<PlanResult>;

/// All columns that exports show, "id" first.
[[nodiscard]] std::vector<RowColumn> all_columns();
[[nodiscard]] std::vector<std::string> all_column_names();
/// Those named, separated by commas, or "all". Throws UsageError, which names `option`.
[[nodiscard]] std::vector<RowColumn> columns_named(const std::string& option,
                                                   const std::string& names);

/// With a header line; texts with commas, quotes or ends of lines are quoted (RFC 4180), as
/// spreadsheets and pandas read them without options.
template <class Record>
void write_csv(std::ostream& out, const Records<Record>& rows,
               const std::vector<Column<Record>>& columns);
/// One array of objects; NaN is null.
template <class Record>
void write_json(std::ostream& out, const Records<Record>& rows,
                const std::vector<Column<Record>>& columns);
/// A form in which all results leave for other programs.
struct ExportFormat {
  void (*write)(std::ostream&, const Rows&) = nullptr;
  std::string_view beginning;  ///< of any file of the format
};
/// The published program's CSV, byte for byte; plans without an answer are left out.
extern const ExportFormat csv_format;
/// All plans with all columns, as write_csv writes them.
extern const ExportFormat plain_csv_format;
/// All plans with all columns, as write_json writes them.
extern const ExportFormat json_format;

/// For people: aligned, with six digits at most.
template <class Record>
void print_rows(const Records<Record>& rows, const std::vector<Column<Record>>& columns);

}  // namespace wallheat
