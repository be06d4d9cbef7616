#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/row_table.hpp"

namespace wallheat {

/// A formula of SQL over the columns of a row, as "pct_below_15 > 50 and status = 'converged'".
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
