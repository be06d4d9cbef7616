#pragma once

#include <string>
#include <vector>

#include "wallheat/grid.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

/// What decides whether two answers to a plan are the same: the columns whose use is `answer`, and
/// the field as values. (PlanResult::field is compressed, and two libraries need not compress
/// alike.)
struct Answer {
  const PlanResult& columns;
  const Grid<double>* field = nullptr;  ///< null if there is none
};

/// Something in which two answers differ, and what each of them says.
struct Difference {
  std::string what;  ///< a column, or the field
  std::string first;
  std::string second;
};

/// True if the reference would print the same: they agree to the last bit. 0 differs from -0. A NaN
/// equals any NaN: it is printed as `nan` whatever its bits, and these depend on the processor
/// (inf - inf sets the sign on x86-64, but not on Arm).
[[nodiscard]] bool same_value(double a, double b);

/// True if an iteration ended far from the steady state, as far as its error can be estimated:
/// by more than a tenth of what the plan's temperatures are.
[[nodiscard]] bool is_far_from_steady(const PlanResult& result);

/// What the plan would take on a core of its own, in s: its CPU time if that is known and a CPU
/// solved it. What other runs may expect is foretold by this.
[[nodiscard]] double seconds_on_own_core(const PlanResult& result);

/// Empty if the answers are the same. Fields are compared if both are there and of one shape.
[[nodiscard]] std::vector<Difference> differences(const Answer& first, const Answer& second);

/// "mean_temp is 14.5 FIRST, 14.75 SECOND; iterations is ..."; empty if there are none.
[[nodiscard]] std::string to_text(const std::vector<Difference>& differences,
                                  const std::string& first, const std::string& second);

}  // namespace wallheat
