#pragma once

#include <memory>
#include <string>

#include "wallheat/plan_result.hpp"

namespace wallheat {

/// A formula over the columns of a result, as "pct_below_15 > 50 and mean_temp < 14". Columns of
/// numbers stand for their values, pending rows' statistics being NaN; the names of the statuses
/// are numbers to compare `status` with; a column of text takes a word: host("gpu") is 1 where the
/// text contains it, else 0. Operators and functions are muParser's, and `and`, `or`, `not(...)`.
class RowExpression {
 public:
  /// Throws UsageError, which names `option`, the formula, what is wrong with it and where.
  RowExpression(const std::string& option, const std::string& formula);
  RowExpression(RowExpression&&) noexcept;
  RowExpression& operator=(RowExpression&&) noexcept;
  RowExpression(const RowExpression&) = delete;
  RowExpression& operator=(const RowExpression&) = delete;
  ~RowExpression();

  [[nodiscard]] double value(const PlanResult& row) const;
  /// Neither 0 nor NaN.
  [[nodiscard]] bool holds(const PlanResult& row) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wallheat
