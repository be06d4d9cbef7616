// What holds for all solvers.
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

TEST(EverySolver, gives_the_same_bits_for_every_instruction_set_and_whatever_came_before) {
  std::vector<NamedPlan> plans = adversarial_plans(67);
  std::ranges::move(awkward_plans(), std::back_inserter(plans));
  // Shapes that take as much memory, or whose rows do; and some for which fastforward jumps.
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

TEST(EverySolver, tells_how_far_it_is_and_stops_when_asked_to_and_is_as_before_then) {
  const FloorPlan plan = room(100, 100);
  for (const auto& solver : every_solver()) {
    std::int64_t last = 0;
    const auto tell = [&](std::int64_t iterations, double delta) {
      EXPECT_GE(iterations, last);
      EXPECT_GT(delta, 0);
      last = iterations;
    };
    const Solution first = *solver->solve(plan, {}, {{}, tell});
    EXPECT_GT(last, 5);
    std::stop_source stop;
    const SolveControl control{stop.get_token(), [&](std::int64_t iterations, double) {
                                 EXPECT_FALSE(stop.stop_requested()) << iterations;
                                 stop.request_stop();
                               }};
    EXPECT_FALSE(solver->solve(plan, {}, control)) << "on its way";
    EXPECT_FALSE(solver->solve(room(100, 80), {}, {stop.get_token(), {}})) << "before it began";
    expect_same_bits(*solver->solve(plan, {}, {}), first, "after that");
    volatile double subnormal = 5e-324;
    EXPECT_NE(subnormal * 1.0, 0.0) << "the thread computes as before";
  }
}

TEST(EverySolver, refuses_what_is_no_number_or_could_become_none) {
  const FloorPlan good = room(21, 21);
  const auto expect_refused = [](const FloorPlan& plan, const Limits& limits, const char* words) {
    for (const auto& solver : every_solver())
      EXPECT_THAT(error_message_of<InputError>([&] { (void)solver->solve(plan, limits, {}); }),
                  HasSubstr(words));
  };
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), -1e301}) {
    FloorPlan plan = good;
    plan.domain(20, 20) = bad;
    expect_refused(plan, {}, "its start field: the value in row 20, column 20 is ");
    plan.domain(0, 7) = bad;
    expect_refused(plan, {}, "its start field: the value in row 0, column 7 is ");
  }
  FloorPlan plan = good;
  plan.source = Grid<double>(21, 21);
  // The square is infinite, times 0 it is not a number; or it is 0, but its product need not be.
  for (const double spacing : {1e200, 1e-170})
    expect_refused(plan, {.max_iterations = 50, .spacing = spacing},
                   "whose square is beyond the range of double precision");
  plan.source = Grid<double>(21, 21, 1e299);
  expect_refused(plan, {.spacing = 1000},
                 "with a spacing of 1000.0, could make temperatures beyond 1e300");
}

TEST(EverySolver, does_not_mind_what_a_source_is_outside_the_rooms) {
  const FloorPlan plan = generate_poisson_plan(1, 0, 64);
  FloorPlan other = plan;
  for (std::size_t cell = 0; cell < plan.source.cells.size(); ++cell)
    if (plan.interior.cells[cell] == 0) other.source.cells[cell] = 1e300;
  const Limits limits{.max_iterations = 100000, .norm = Norm::l2, .spacing = 1.0 / 64};
  for (const auto& solver : every_solver())
    expect_same_bits(*solver->solve(other, limits, {}), *solver->solve(plan, limits, {}), "edges");
}

}  // namespace
}  // namespace wallheat
