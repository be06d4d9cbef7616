// Properties of all solvers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/generator.hpp"
#include "solve/solver_options.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/rooms.hpp"
#include "support/same_bits.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

constexpr SolverKind every_kind[]{SolverKind::jacobi, SolverKind::fastforward, SolverKind::steady};

TEST(EverySolver, GivesSameBitsForEveryInstructionSet) {
  std::vector<NamedPlan> plans = adversarial_plans(67);
  std::ranges::move(awkward_plans(), std::back_inserter(plans));
  // Shapes of equal size, or with rows of equal size; and some for which fastforward jumps.
  for (const auto& [rows, cols] : {std::pair{62U, 32U}, {30, 96}, {30, 95}, {62, 31}, {62, 32}})
    plans.push_back({"random", random_plan(rows, cols, 75, 31)});
  for (const auto& [rows, cols] : {std::pair{90U, 120U}, {90, 117}, {70, 33}, {141, 120}})
    plans.push_back({"a room of " + std::to_string(cols), room(rows, cols)});
  const auto solver_of = [](SolverKind kind, Isa isa) {
    return SolverOptions{.limits = {}, .isa = isa, .kind = kind}.make();
  };
  for (const SolverKind kind : every_kind) {
    const auto used = solver_of(kind, available_isas().back());
    for (const auto& [name, plan] : plans) {
      const Solution expected = *used->solve(plan, {1e-6, 20000}, {});
      for (const Isa isa : available_isas())
        expect_same_bits(*solver_of(kind, isa)->solve(plan, {1e-6, 20000}, {}), expected,
                         std::string(to_string(kind)) + ", " + name);
    }
  }
}

TEST(EverySolver, ReportsProgressUntilStopIsRequested) {
  const FloorPlan plan = room(100, 100);
  for (const auto& solver : every_solver()) {
    std::int64_t last = 0;
    const auto on_progress = [&](std::int64_t iterations, double delta) {
      EXPECT_GE(iterations, last);
      EXPECT_GT(delta, 0);
      last = iterations;
    };
    const Solution first = *solver->solve(plan, {}, {{}, on_progress});
    EXPECT_GT(last, 5);
    std::stop_source stop;
    const SolveControl control{stop.get_token(), [&](std::int64_t iterations, double) {
                                 EXPECT_FALSE(stop.stop_requested()) << iterations;
                                 stop.request_stop();
                               }};
    EXPECT_FALSE(solver->solve(plan, {}, control)) << "stopped in progress";
    EXPECT_FALSE(solver->solve(room(100, 80), {}, {stop.get_token(), {}}))
        << "stopped before the start";
    expect_same_bits(*solver->solve(plan, {}, {}), first, "after a stop");
    volatile double subnormal = 5e-324;
    EXPECT_NE(subnormal * 1.0, 0.0) << "the floating-point mode of the thread is restored";
  }
}

TEST(EverySolver, RejectsNonFiniteOrOverflowingValues) {
  const FloorPlan good = room(21, 21);
  const auto expect_error = [](const FloorPlan& plan, const SolveParameters& limits,
                               const Facts& facts) {
    for (const auto& solver : every_solver())
      EXPECT_THAT(error_message_of<InputError>([&] { (void)solver->solve(plan, limits, {}); }),
                  Mentions(facts));
  };
  const std::pair<double, const char*> invalid_values[]{
      {std::nan(""), "NaN"},
      {std::numeric_limits<double>::infinity(), "infinite"},
      {-1e301, "too large"}};
  for (const auto& [value, cause] : invalid_values) {
    FloorPlan plan = good;
    plan.domain(20, 20) = value;
    expect_error(plan, {}, {"row 20", "column 20", cause});
    plan.domain(0, 7) = value;
    expect_error(plan, {}, {"row 0", "column 7", cause});
  }
  FloorPlan plan = good;
  plan.source = Grid<double>(21, 21);
  // The square overflows, and infinity * 0 is NaN; or it underflows to 0, but the product may not.
  const std::pair<double, const char*> extreme_spacings[]{{1e200, "1e+200"}, {1e-170, "1e-170"}};
  for (const auto& [spacing, text] : extreme_spacings)
    expect_error(plan, {.max_iterations = 50, .spacing = spacing}, {text, "--spacing"});
  plan.source = Grid<double>(21, 21, 1e299);
  expect_error(plan, {.spacing = 1000}, {"1000.0", "1e300", "--spacing"});
}

TEST(EverySolver, IgnoresHeatSourceOutsideInterior) {
  const FloorPlan plan = generate_poisson_plan(1, 0, 64);
  FloorPlan other = plan;
  for (std::size_t cell = 0; cell < plan.source.cells.size(); ++cell)
    if (plan.interior.cells[cell] == 0) other.source.cells[cell] = 1e300;
  const SolveParameters limits{.max_iterations = 100000, .norm = Norm::l2, .spacing = 1.0 / 64};
  for (const auto& solver : every_solver())
    expect_same_bits(*solver->solve(other, limits, {}), *solver->solve(plan, limits, {}), "edges");
}

}  // namespace
}  // namespace wallheat
