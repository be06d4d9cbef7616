#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace wallheat {

/// What a formula can name.
struct FormulaColumn {
  std::string name;
  bool is_text = false;
  std::vector<std::string> words = {};  ///< all that its texts can be; empty: anything
};

/// A formula of SQL over the columns of a row, as "pct_below_15 > 50 and status = 'converged'".
/// SQLite computes it with the values of each row bound to one statement: numbers as doubles, NaN
/// as NULL. Copies share the statement, so that one thread uses them.
class Formula {
 public:
  /// Throws UsageError, which names `option`, the formula and what is wrong with it.
  Formula(std::string option, std::string text, const std::vector<FormulaColumn>& columns);

  /// The places of the columns whose values it needs.
  [[nodiscard]] const std::vector<std::size_t>& needed() const;
  /// A number, a text, or nothing for NULL, by the values of the needed columns. Throws UsageError
  /// if SQLite cannot compute it, or a column is compared with a word that it can never be.
  [[nodiscard]] Value value(std::span<const Value> needed) const;

 private:
  struct Statement;
  std::shared_ptr<const Statement> statement_;
};

}  // namespace wallheat
