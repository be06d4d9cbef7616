// Chooses tolerances close to the deltas of Jacobi, and checks that the fast-forward solver ends at
// the same iteration. The plans are small and difficult: alternating and random initial fields, few
// walls, rooms that converge at different rates, heat sources, large and small temperatures.
//
//   fastforward_tolerances [CASES]

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include "support/same_bits.hpp"

namespace wallheat {
namespace {

using Random = std::mt19937_64;

double uniform(Random& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

std::pair<FloorPlan, SolveParameters> random_case(Random& random) {
  const auto rows = static_cast<std::size_t>(uniform(random, 30, 62));
  const auto cols = static_cast<std::size_t>(uniform(random, 30, 62));
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols)};
  const std::size_t start = random() % 6;
  const std::size_t walls = random() % 4;  // none, around, around and few, around and divided
  const double height = uniform(random, 1, 25);
  const double share = uniform(random, 0.0005, 0.004);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      const bool edge = row == 0 || col == 0 || row + 1 == rows || col + 1 == cols;
      const bool is_wall = (walls >= 1 && edge) || (walls == 2 && uniform(random, 0, 1) < share) ||
                           (walls == 3 && col == cols / 5);
      plan.interior(row, col) = is_wall ? 0 : 1;
      const double sign = (row + col) % 2 == 0 ? 1 : -1;
      const double striped = row % 2 == 0 ? 1 : -1;
      const double wave =
          std::sin(0.1 * static_cast<double>(row)) * std::cos(0.13 * static_cast<double>(col));
      const std::array values{sign, 0.0, 1.0, uniform(random, -1, 1), striped, wave};
      plan.domain(row, col) = is_wall ? (random() % 2 == 0 ? 5 : 25) : height * values[start];
    }
  }
  SolveParameters limits;
  if (random() % 5 == 0) {
    plan.source = Grid<double>(rows, cols, uniform(random, -20, 20));
    limits.spacing = 0.02;
  }
  if (random() % 4 == 0) {
    const double scale = std::pow(10, uniform(random, -6, 2.5));
    for (double& value : plan.domain.cells) value *= scale;
    for (double& value : plan.source.cells) value *= scale;
    limits.tolerance *= scale;
  }
  return {std::move(plan), limits};
}

}  // namespace
}  // namespace wallheat

int main(int count, char** arguments) {
  using namespace wallheat;
  const std::int64_t cases = count > 1 ? std::atoll(arguments[1]) : 1000;
  const auto exact = make_jacobi_solver(available_isas().back());
  const auto fast = make_fastforward_solver(available_isas().back());
  std::int64_t tried = 0, jumped = 0;
  for (std::uint64_t seed = 1; tried < cases; ++seed) {
    Random random(seed);
    auto [plan, limits] = random_case(random);
    constexpr std::int64_t enough = 2200;  // jumps begin after 1100
    limits.max_iterations = 6000;
    const std::int64_t most = exact->solve(plan, limits, {})->iterations;
    if (most < enough) continue;
    for (int k = 0; k < 10 && tried < cases; ++k, ++tried) {
      // Near the end, or anywhere; at a relative distance of 1e-15 to 1e-3 from a delta.
      const auto before = static_cast<std::int64_t>(random() % (k % 2 == 0 ? 20 : most - 1100));
      SolveParameters until = limits;
      until.tolerance = 0;
      until.max_iterations = most - before;
      const double delta = exact->solve(plan, until, {})->last_delta;
      const double distance = std::pow(10, uniform(random, -15, -3));
      limits.tolerance = delta * (1 + (random() % 2 == 0 ? distance : -distance));
      jumped += expect_same_iterate(*fast, *exact, plan, limits,
                                    "seed " + std::to_string(seed) + ", case " + std::to_string(k))
                    ? 1
                    : 0;
    }
  }
  std::printf("%lld cases, of which %lld were fast-forwarded\n", static_cast<long long>(tried),
              static_cast<long long>(jumped));
  return testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed() || jumped == 0 ? 1 : 0;
}
