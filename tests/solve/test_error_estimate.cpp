#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/generator.hpp"
#include "solve/convergence.hpp"
#include "solve/norms.hpp"
#include "support/farthest_apart.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

TEST(PortableLog, MatchesStandardLogarithm) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double number = 1e-300; number < 1e300; number *= 1.37)
    EXPECT_NEAR(portable_log(number), std::log(number), 4e-16 * std::abs(std::log(number)))
        << number;
  for (double above_1 = 1e-12; above_1 < 1; above_1 *= 1.3)
    EXPECT_NEAR(portable_log(1 + above_1), std::log(1 + above_1), 4e-16 * above_1) << above_1;
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_log(0), -infinity);
  EXPECT_EQ(portable_log(infinity), infinity);
  EXPECT_TRUE(std::isnan(portable_log(std::nan(""))));
}

TEST(ErrorEstimator, SumsAllFutureDeltas) {
  ErrorEstimator estimate;
  double delta = 1;
  for (int iteration = 1; iteration <= 100; ++iteration) estimate.add(iteration, delta *= 0.9);
  EXPECT_NEAR(estimate.value(), delta * 0.9 / (1 - 0.9), 1e-12 * delta);
}

TEST(ErrorEstimator, StaysUnknownWhileDeltasDoNotDecay) {
  ErrorEstimator estimate;
  EXPECT_TRUE(std::isnan(estimate.value()));
  estimate.add(1, 0.5);
  EXPECT_TRUE(std::isnan(estimate.value()));
  for (int iteration = 2; iteration <= 100; ++iteration) estimate.add(iteration, 0.5);
  EXPECT_TRUE(std::isinf(estimate.value()));
  estimate.add(101, 0);
  EXPECT_EQ(estimate.value(), 0);
}

/// The estimate against the farthest cell from the steady state, or by the 2-norm against the root
/// mean square of all.
double ratio(const FloorPlan& plan, Solver& solver, Norm norm = Norm::max) {
  const auto found = solver.solve(plan, {.norm = norm}, {});
  const auto truth = make_steady_solver(available_isas().back())->solve(plan, {}, {});
  const auto cells = static_cast<double>(count_interior(plan));
  const double error = norm == Norm::max
                           ? farthest_apart(found->field.cells, truth->field.cells)
                           : l2_distance(found->field, truth->field) / std::sqrt(cells);
  return found->error_estimate / error;
}

TEST(ErrorEstimator, ApproximatesTrueErrorOfFloorPlans) {
  const auto isa = available_isas().back();
  const auto jacobi = make_jacobi_solver(isa);
  const auto fastforward = make_fastforward_solver(isa);
  for (std::uint32_t number = 1; number <= 6; ++number) {
    const FloorPlan plan = generate_floor_plan(7, number, 256);
    for (Solver* solver : {jacobi.get(), fastforward.get()}) {
      EXPECT_GT(ratio(plan, *solver), 0.7) << number;
      EXPECT_LT(ratio(plan, *solver), 1.6) << number;
    }
    EXPECT_NEAR(ratio(plan, *jacobi, Norm::l2), 1, 0.3) << number;
  }
}

}  // namespace
}  // namespace wallheat
