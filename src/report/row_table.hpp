#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Selects and sorts the rows of a result file.
struct RowSelection {
  /// Formula that is not 0 for the selected rows; empty: all rows.
  std::string where = {};
  /// Formula by which rows are sorted in ascending order, or in descending order after a "-";
  /// empty: in the order of the IDs.
  std::string sort = {};
  /// Maximum number of rows, after sorting.
  std::size_t first = SIZE_MAX;
};

/// Streams rows one by one, so that they need not all be in memory. Each call starts from the first
/// row. A room is streamed as the row of its plan, with `rooms` containing only that room.
using RowCallback = std::function<void(const PlanResult&)>;
using Rows = std::function<void(const RowCallback& take)>;
/// Streams the rows of a file or a list, which must outlive the result.
[[nodiscard]] Rows rows_of(const ResultReader& reader);
[[nodiscard]] Rows rows_of(const std::vector<PlanResult>& rows);
/// Streams the rows for which a formula is not 0; all rows if it is empty. Throws UsageError if the
/// formula is invalid.
[[nodiscard]] Rows rows_where(const std::string& where, Rows rows);
/// Streams the rooms of a file that have at least `min_cells` cells, in order. `reader` must
/// outlive the result. The stream throws RunError if they are damaged.
[[nodiscard]] Rows rooms_of(const ResultReader& reader, std::size_t min_cells);
/// Streams the rooms of one plan that have at least `min_cells` cells.
[[nodiscard]] Rows rooms_of(PlanResult plan, std::size_t min_cells);

/// A column of rows, with its format.
struct RowColumn {
  Table::Column head;  ///< its key and its name are equal, and are its name in formulas
  bool is_text = false;
  bool is_deterministic = false;  ///< two results of a plan must agree in it
  std::function<Value(const PlanResult&)> value;
  std::vector<std::string> words = {};  ///< all values of a text column; empty: any text
};

/// Returns all columns of plans for output, "id" first; with `with_hidden`, also those for formulas
/// only.
[[nodiscard]] std::vector<RowColumn> all_columns(bool with_hidden = false);
/// Returns all columns of rooms; `area_m2` only if the width of a cell is known. `cell_metres` is
/// in m; 0: unknown.
[[nodiscard]] std::vector<RowColumn> room_columns(double cell_metres);
/// Adds the thresholds as the columns `above` and `below` of JSON and CSV, whose rows are often
/// read without the file, if one of the columns counts cells. Returns true if it has added them.
bool add_threshold_columns(const Thresholds& thresholds, std::vector<RowColumn>& columns);
[[nodiscard]] std::vector<std::string> names_of(const std::vector<RowColumn>& columns);
/// Returns the columns of `all` with these names, separated by commas, or all columns for "all".
/// Throws UsageError, with a message that names `option`.
[[nodiscard]] std::vector<RowColumn> parse_columns(const std::string& option,
                                                   const std::string& names,
                                                   const std::vector<RowColumn>& all);

/// Returns "; did you mean 'pct_above'?" for the old name of a renamed column, or for a word that
/// is similar to one of `names`; otherwise an empty string.
[[nodiscard]] std::string column_hint(const std::string& unknown,
                                      const std::vector<std::string>& names);

/// Returns the percentage of the cells of a room that are below the threshold.
[[nodiscard]] double pct_below(const RoomResult& room);

/// Returns the indices of the selected rows. `columns` are the columns that formulas can use.
/// Sorting puts numbers before strings, strings in the order of their bytes, and rows for which the
/// formula is NULL last. Throws UsageError if a formula of --where or --sort is invalid.
[[nodiscard]] std::vector<std::size_t> select_rows(
    const Rows& rows, const RowSelection& choice,
    const std::vector<RowColumn>& columns = all_columns(true));

/// Returns a table that streams its rows, so that their number is unlimited.
[[nodiscard]] Table table_of(std::string key, Rows rows, std::vector<RowColumn> columns);

/// Writes the CSV of the published program, which is byte-identical if the thresholds are those of
/// that program. Leaves out plans without a result.
void write_reference_csv(std::ostream& out, const Rows& rows, const Thresholds& thresholds);

/// A SQL expression over the columns of a row, such as "pct_below > 50 and status = 'converged'".
/// SQLite computes it, with the values of each row bound to one prepared statement: numbers as
/// doubles, NaN as NULL. Copies share the statement, so use all of them in one thread.
class Formula {
 public:
  /// Throws UsageError, with a message that contains `option`, the formula and the error.
  Formula(std::string option, std::string text, const std::vector<RowColumn>& columns);

  /// Returns a number, a string, or an unknown value for NULL. Throws UsageError if SQLite cannot
  /// compute the expression, or if a column is compared with a word that it never contains.
  [[nodiscard]] Value value(const PlanResult& row) const;

 private:
  struct Statement;
  std::shared_ptr<const Statement> statement_;
};

}  // namespace wallheat
