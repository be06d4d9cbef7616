#include "bench/reference_profile.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/cpu_time.hpp"
#include "solve/stencil.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

/// The arrays of the published program: the field lies in a ring of zeros.
class ArrayProgram {
 public:
  explicit ArrayProgram(const FloorPlan& plan)
      : rows_(plan.domain.rows),
        cols_(plan.domain.cols),
        u_(rows_ + 2, cols_ + 2),
        fresh_(rows_, cols_) {
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t col = 0; col < cols_; ++col) {
        u_(row + 1, col + 1) = plan.domain(row, col);
        if (plan.interior(row, col) != 0) {
          in_fresh_.push_back(row * cols_ + col);
          in_u_.push_back((row + 1) * (cols_ + 2) + col + 1);
        }
      }
    }
    values_.resize(in_u_.size());
  }

  [[nodiscard]] bool is_empty() const { return in_u_.empty(); }

  void stencil() {
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t col = 0; col < cols_; ++col)
        fresh_(row, col) =
            updated(u_(row + 1, col), u_(row + 1, col + 2), u_(row, col + 1), u_(row + 2, col + 1));
    }
  }
  void gather() {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = fresh_.cells[in_fresh_[i]];
  }
  [[nodiscard]] double delta() const {
    double largest = 0;
    for (std::size_t i = 0; i < values_.size(); ++i)
      largest = std::max(largest, std::abs(u_.cells[in_u_[i]] - values_[i]));
    return largest;
  }
  void write_back() {
    for (std::size_t i = 0; i < values_.size(); ++i) u_.cells[in_u_[i]] = values_[i];
  }

  [[nodiscard]] Grid<double> field() const {
    Grid<double> field(rows_, cols_);
    for (std::size_t row = 0; row < rows_; ++row)
      std::copy_n(&u_(row + 1, 1), cols_, &field(row, 0));
    return field;
  }

 private:
  std::size_t rows_;
  std::size_t cols_;
  Grid<double> u_;
  Grid<double> fresh_;
  std::vector<std::size_t> in_fresh_;  // interior cells, row by row
  std::vector<std::size_t> in_u_;
  std::vector<double> values_;
};

}  // namespace

ReferenceProfile profile_reference(const FloorPlan& plan, const SolverOptions& solver) {
  ReferenceProfile profile;
  profile.steps = {{"stencil", "u_new = 0.25 * (left + right + up + down)"},
                   {"gather", "values = u_new[interior]"},
                   {"delta", "delta = abs(u[interior] - values).max()"},
                   {"write back", "u[interior] = values"},
                   {"test", "if delta < tolerance: break"}};
  ArrayProgram program(plan);
  if (program.is_empty())
    throw InputError("the plan has no interior cell, so there is no iteration to profile");
  const auto timed = [&](std::size_t step, const auto& work) {
    const double start_s = thread_cpu_seconds();
    work();
    profile.steps[step].seconds += thread_cpu_seconds() - start_s;
    ++profile.steps[step].hits;
  };
  const Limits& limits = solver.limits;
  double delta = std::numeric_limits<double>::quiet_NaN();
  while (profile.iterations < limits.max_iterations && !profile.converged) {
    timed(0, [&] { program.stencil(); });
    timed(1, [&] { program.gather(); });
    timed(2, [&] { delta = program.delta(); });
    timed(3, [&] { program.write_back(); });
    timed(4, [&] { profile.converged = has_converged(delta, limits.tolerance); });
    ++profile.iterations;
  }
  for (const ProfiledStep& step : profile.steps) profile.seconds += step.seconds;

  const auto fast = solver.make();
  profile.solver_seconds = std::numeric_limits<double>::infinity();
  constexpr int tries = 3;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const double start_s = thread_cpu_seconds();
    const auto solution = fast->solve(plan, limits, {});
    profile.solver_seconds = std::min(profile.solver_seconds, thread_cpu_seconds() - start_s);
    const Grid<double> field = program.field();
    if (solution->iterations != profile.iterations ||
        std::memcmp(solution->field.cells.data(), field.cells.data(),
                    field.cells.size() * sizeof(double)) != 0)
      throw RunError(
          "the solver's answer is not that of the published algorithm, so there is nothing to "
          "compare");
  }
  return profile;
}

}  // namespace wallheat
