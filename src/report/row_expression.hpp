#pragma once

#include <memory>
#include <string>

#include "wallheat/plan_result.hpp"

namespace wallheat {

struct RoomRow;

/// A formula over the columns of a result, as "pct_below_15 > 50 and mean_temp < 14", or of a room.
/// Columns of numbers stand for their values, pending rows' statistics being NaN; the names of the
/// statuses are numbers to compare `status` with; a column of text takes a word: host("gpu") is 1
/// where the text contains it, else 0. Operators and functions are muParser's, and `and`, `or`,
/// `not(...)`.
template <class Record>
class Expression {
 public:
  /// Throws UsageError, which names `option`, the formula, what is wrong with it and where.
  Expression(const std::string& option, const std::string& formula);
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression();

  [[nodiscard]] double value(const Record& row) const;
  /// Neither 0 nor NaN.
  [[nodiscard]] bool holds(const Record& row) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

using RowExpression = Expression<PlanResult>;
extern template class Expression<PlanResult>;
extern template class Expression<RoomRow>;

}  // namespace wallheat
