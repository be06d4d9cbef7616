#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "bench/bench.hpp"
#include "core/cell_statistics.hpp"
#include "core/threads.hpp"
#include "solve/stencil.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

ReferenceProfile profile_reference(const FloorPlan& plan, const SolverOptions& solver) {
  const std::size_t rows = plan.domain.rows;
  const std::size_t cols = plan.domain.cols;
  // Arrays of the published program: u has a border of zeros.
  Grid<double> u(rows + 2, cols + 2);
  Grid<double> u_new(rows, cols);
  std::vector<double*> interior_of_u;
  std::vector<const double*> interior_of_u_new;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      u(row + 1, col + 1) = plan.domain(row, col);
      if (plan.interior(row, col) == 0) continue;
      interior_of_u.push_back(&u(row + 1, col + 1));
      interior_of_u_new.push_back(&u_new(row, col));
    }
  }
  if (interior_of_u.empty())
    throw InputError("the plan has no interior cell, so it has no iteration to profile");
  std::vector<double> values = interior_values(plan.domain, plan.interior);
  double delta = std::numeric_limits<double>::quiet_NaN();

  ReferenceProfile profile;
  profile.steps = {{"stencil", "u_new = 0.25 * (left + right + up + down)"},
                   {"gather", "values = u_new[interior]"},
                   {"delta", "delta = abs(u[interior] - values).max()"},
                   {"write back", "u[interior] = values"},
                   {"test", "if delta < tolerance: break"}};
  const std::array<std::function<void()>, 5> work{
      [&] {
        for (std::size_t row = 0; row < rows; ++row)
          for (std::size_t col = 0; col < cols; ++col)
            u_new(row, col) =
                updated(u(row + 1, col), u(row + 1, col + 2), u(row, col + 1), u(row + 2, col + 1));
      },
      [&] {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = *interior_of_u_new[i];
      },
      [&] {
        delta = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
          delta = std::max(delta, std::abs(*interior_of_u[i] - values[i]));
      },
      [&] {
        for (std::size_t i = 0; i < values.size(); ++i) *interior_of_u[i] = values[i];
      },
      [&] { profile.converged = has_converged(delta, solver.limits.tolerance); }};
  while (profile.iterations < solver.limits.max_iterations && !profile.converged) {
    for (std::size_t step = 0; step < work.size(); ++step) {
      const double start_s = thread_cpu_seconds();
      work[step]();
      profile.steps[step].seconds += thread_cpu_seconds() - start_s;
      ++profile.steps[step].hits;
    }
    ++profile.iterations;
  }
  for (const ProfiledStep& step : profile.steps) profile.total_seconds += step.seconds;

  const auto fast = solver.make();
  profile.solver_seconds = std::numeric_limits<double>::infinity();
  constexpr int attempts = 3;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const double start_s = thread_cpu_seconds();
    const auto solution = fast->solve(plan, solver.limits, {});
    profile.solver_seconds = std::min(profile.solver_seconds, thread_cpu_seconds() - start_s);
    const std::vector<double> found = interior_values(solution->field, plan.interior);
    if (solution->iterations != profile.iterations ||
        std::memcmp(found.data(), values.data(), values.size() * sizeof(double)) != 0)
      throw RunError(
          "the results of the solver and the published algorithm differ, so their times cannot "
          "be compared");
  }
  return profile;
}

}  // namespace wallheat
