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

/// Which rows of a result file, and in which order.
struct RowSelection {
  /// A formula that is not 0; empty: all rows.
  std::string where = {};
  /// A formula, ascending; with a - in front descending; empty: in the order of the ids.
  std::string sort = {};
  /// The largest number of rows, after sorting.
  std::size_t first = SIZE_MAX;
};

/// Hands over rows one after the other, so that not all need be in memory; each call begins anew.
/// A room is a row, too: its plan's, with that room alone.
using RowCallback = std::function<void(const PlanResult&)>;
using Rows = std::function<void(const RowCallback& take)>;
/// Those of a file or list, which must live as long.
[[nodiscard]] Rows rows_of(const ResultReader& reader);
[[nodiscard]] Rows rows_of(const std::vector<PlanResult>& rows);
/// Those for which a formula is not 0; all if it is empty. Throws UsageError.
[[nodiscard]] Rows rows_where(const std::string& where, Rows rows);
/// Returns the rooms of a file that have at least `min_cells` cells, in order. `reader` must live
/// as long. Throws RunError if they are damaged.
[[nodiscard]] Rows rooms_of(const ResultReader& reader, std::size_t min_cells);
/// Those of one plan.
[[nodiscard]] Rows rooms_of(PlanResult plan);

/// A value of each row, as it is shown.
struct RowColumn {
  Table::Column head;  ///< with one name for scripts and people, which formulas know
  bool is_text = false;
  bool is_deterministic = false;  ///< two answers of a plan must agree in it
  std::function<Value(const PlanResult&)> value;
  std::vector<std::string> words = {};  ///< all that its texts can be; empty: anything
};

/// All columns of plans that are shown, "id" first; or also those that only formulas know.
[[nodiscard]] std::vector<RowColumn> all_columns(bool with_hidden = false);
/// All columns of rooms; `area_m2` only if the width of a cell is known, in metres.
[[nodiscard]] std::vector<RowColumn> room_columns(double cell_metres);
/// Adds the thresholds as the columns `above` and `below` of JSON and CSV, whose rows are often
/// read without the file, if one of the columns counts cells. Returns true if it has added them.
bool add_threshold_columns(const Thresholds& thresholds, std::vector<RowColumn>& columns);
[[nodiscard]] std::vector<std::string> names_of(const std::vector<RowColumn>& columns);
/// Those of `all` that are named, separated by commas, or "all". Throws UsageError, which names
/// `option`.
[[nodiscard]] std::vector<RowColumn> parse_columns(const std::string& option,
                                                   const std::string& names,
                                                   const std::vector<RowColumn>& all);

/// Returns "; did you mean 'pct_above'?" for the old name of a renamed column, or for a word that
/// looks like one of `names`. Returns an empty string otherwise.
[[nodiscard]] std::string column_hint(const std::string& unknown,
                                      const std::vector<std::string>& names);

/// Rooms of fewer cells are mostly corners that walls cut off. Reports suggest to leave them out.
inline constexpr std::uint32_t corner_cells = 20;

/// % of a room's cells that are below the threshold.
[[nodiscard]] double pct_below(const RoomResult& room);

/// The numbers of the chosen rows, from 0 on; formulas know the columns. Sorting puts numbers
/// before texts, texts by their bytes, and rows for which it is NULL last. Throws UsageError, for
/// --where and --sort.
[[nodiscard]] std::vector<std::size_t> select_rows(
    const Rows& rows, const RowSelection& choice,
    const std::vector<RowColumn>& columns = all_columns(true));

/// One row after the other, however many there are.
[[nodiscard]] Table table_of(std::string key, Rows rows, std::vector<RowColumn> columns);

/// Writes the published program's CSV, byte for byte if the thresholds are its own. Leaves out
/// plans without an answer.
void write_reference_csv(std::ostream& out, const Rows& rows, const Thresholds& thresholds);

/// A formula of SQL over the columns of a row, as "pct_below > 50 and status = 'converged'".
/// SQLite computes it with the values of each row bound to one statement: numbers as doubles, NaN
/// as NULL. Copies share the statement, so that one thread uses them.
class Formula {
 public:
  /// Throws UsageError, which names `option`, the formula and what is wrong with it.
  Formula(std::string option, std::string text, const std::vector<RowColumn>& columns);

  /// A number, a text, or nothing for NULL. Throws UsageError if SQLite cannot compute it, or a
  /// column is compared with a word that it can never be.
  [[nodiscard]] Value value(const PlanResult& row) const;

 private:
  struct Statement;
  std::shared_ptr<const Statement> statement_;
};

}  // namespace wallheat
