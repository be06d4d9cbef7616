#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/formula.hpp"
#include "wallheat/plan_result.hpp"

struct sqlite3_stmt;

namespace wallheat {

struct RoomRow;

/// What a formula makes of a row: nothing for NULL, which is what NaN is to SQL.
using FormulaValue = std::variant<std::monostate, double, std::string_view>;

/// A formula of SQL over the columns of a result, as "pct_below_15 > 50 and status = 'converged'",
/// or of a room. Each row's columns are bound to one statement of SQLite: numbers as doubles,
/// pending rows' statistics being NULL, hashes as the texts that lists show. Copies share the
/// statement, so that one thread uses them.
template <class Record>
class Expression {
 public:
  /// Throws UsageError, which names `option`, the formula, what is wrong with it and where.
  Expression(const std::string& option, const std::string& formula);

  /// A text is valid until the next call. Throws UsageError if SQLite cannot compute it.
  [[nodiscard]] FormulaValue value(const Record& row) const;
  /// Whether it is a number, or a text that begins with one, other than 0.
  [[nodiscard]] bool holds(const Record& row) const;

 private:
  void step(const Record& row) const;

  Formula formula_;
  std::shared_ptr<sqlite3_stmt> statement_;
  std::vector<std::function<void(sqlite3_stmt*, const Record&)>> binds_;  // of the columns it names
};

using RowExpression = Expression<PlanResult>;
extern template class Expression<PlanResult>;
extern template class Expression<RoomRow>;

}  // namespace wallheat
