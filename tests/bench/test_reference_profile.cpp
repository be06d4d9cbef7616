#include <gtest/gtest.h>

#include "bench/bench.hpp"
#include "core/generator.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

TEST(ReferenceProfile, counts_each_step_in_every_iteration_of_the_same_answer) {
  const FloorPlan plan = generate_floor_plan(1, 0, 64);
  for (const Limits limits : {Limits{1e-4, 20000}, Limits{1e-4, 7}}) {
    SolverOptions solver;
    solver.limits = limits;
    const auto expected = make_reference_solver()->solve(plan, limits, {});
    const ReferenceProfile profile = profile_reference(plan, solver);
    EXPECT_EQ(profile.iterations, expected->iterations);
    EXPECT_EQ(profile.converged, expected->converged);
    ASSERT_EQ(profile.steps.size(), 5U);
    double seconds = 0;
    for (const ProfiledStep& step : profile.steps) {
      EXPECT_EQ(step.hits, expected->iterations) << step.name;
      seconds += step.seconds;
    }
    EXPECT_EQ(seconds, profile.seconds);
    EXPECT_GT(profile.speedup(), 0);
  }
}

TEST(ReferenceProfile, needs_something_to_solve) {
  const FloorPlan wall{Grid<double>(4, 4, 5.0), Grid<std::uint8_t>(4, 4)};
  EXPECT_THROW((void)profile_reference(wall, {}), InputError);
}

}  // namespace
}  // namespace wallheat
