#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "solve/norms.hpp"
#include "support/farthest_apart.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Expects that field, iterations, last delta and error estimate are bit-identical.
inline void expect_same_bits(const Solution& actual, const Solution& expected,
                             const std::string& what) {
  EXPECT_EQ(actual.iterations, expected.iterations) << what;
  EXPECT_EQ(actual.converged, expected.converged) << what;
  EXPECT_EQ(std::memcmp(&actual.last_delta, &expected.last_delta, sizeof(double)), 0)
      << what << ": " << actual.last_delta << " is not " << expected.last_delta;
  EXPECT_TRUE(actual.error_estimate == expected.error_estimate ||
              (std::isnan(actual.error_estimate) && std::isnan(expected.error_estimate)))
      << what << ": " << actual.error_estimate << " is not " << expected.error_estimate;
  ASSERT_EQ(actual.field.cells.size(), expected.field.cells.size()) << what;
  EXPECT_EQ(std::memcmp(actual.field.cells.data(), expected.field.cells.data(),
                        expected.field.cells.size() * sizeof(double)),
            0)
      << what << ": the fields differ";
}

/// Expects that two solvers return bit-identical solutions of a plan.
inline void expect_same_bits(Solver& actual, Solver& expected, const FloorPlan& plan,
                             const SolveParameters& limits, const std::string& what) {
  expect_same_bits(*actual.solve(plan, limits, {}), *expected.solve(plan, limits, {}), what);
}

inline std::vector<std::unique_ptr<Solver>> every_solver() {
  const Isa isa = available_isas().back();
  std::vector<std::unique_ptr<Solver>> solvers;
  solvers.push_back(make_reference_solver());
  solvers.push_back(make_jacobi_solver(isa));
  solvers.push_back(make_fastforward_solver(isa));
  solvers.push_back(make_steady_solver(isa));
  return solvers;
}

/// Expects that a solver that jumps returns the iterate of an exact solver, within less than half
/// of the guaranteed relative error of the largest temperature. Returns true if it did not fall
/// back; otherwise expects bit-identical solutions.
inline bool expect_same_iterate(Solver& fast, Solver& exact, const FloorPlan& plan,
                                const SolveParameters& limits, const std::string& what) {
  const Solution found = *fast.solve(plan, limits, {});
  const Solution expected = *exact.solve(plan, limits, {});
  if (found.fell_back) {
    expect_same_bits(found, expected, what);
    return false;
  }
  EXPECT_EQ(found.iterations, expected.iterations) << what;
  EXPECT_EQ(found.converged, expected.converged) << what;
  const double largest =
      std::max(largest_magnitude(plan.domain), largest_magnitude(expected.field));
  EXPECT_NEAR(found.last_delta, expected.last_delta, 4e-14 * largest) << what;
  EXPECT_LE(farthest_apart(found.field.cells, expected.field.cells), 4e-12 * largest) << what;
  return true;
}

}  // namespace wallheat
