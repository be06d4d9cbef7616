// Puts tolerances beside the deltas that Jacobi computes, and asks whether the fast-forward solver
// ends at the same iteration. The plans are small ones of the kinds that make it hard: alternating
// and random starts, few walls, rooms of different speed, sources, warm and cold scales.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "solve/source.hpp"
#include "solve/stencil.hpp"
#include "support/farthest_apart.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

using Random = std::mt19937_64;

double uniform(Random& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

struct Case {
  std::string name;
  FloorPlan plan;
  Limits limits;
};

Case random_case(Random& random) {
  const auto rows = static_cast<std::size_t>(uniform(random, 30, 62));
  const auto cols = static_cast<std::size_t>(uniform(random, 30, 62));
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols)};
  constexpr std::array starts{"checkerboard", "zero", "warm", "random", "stripes", "smooth"};
  constexpr std::array walls{"none", "around", "few", "divided"};
  const std::size_t start = random() % starts.size();
  const std::size_t wall = random() % walls.size();
  const double height = uniform(random, 1, 25);
  const double share = uniform(random, 0.0005, 0.004);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      const bool edge = row == 0 || col == 0 || row + 1 == rows || col + 1 == cols;
      const bool is_wall = (wall >= 1 && edge) || (wall == 2 && uniform(random, 0, 1) < share) ||
                           (wall == 3 && col == cols / 5);
      plan.interior(row, col) = is_wall ? 0 : 1;
      const double sign = (row + col) % 2 == 0 ? 1 : -1;
      const double striped = row % 2 == 0 ? 1 : -1;
      const double wave =
          std::sin(0.1 * static_cast<double>(row)) * std::cos(0.13 * static_cast<double>(col));
      const std::array values{sign, 0.0, 1.0, uniform(random, -1, 1), striped, wave};
      plan.domain(row, col) = is_wall ? (random() % 2 == 0 ? 5 : 25) : height * values[start];
    }
  }
  Limits limits;
  std::string name = std::to_string(rows) + " x " + std::to_string(cols) + ", start " +
                     starts[start] + ", walls " + walls[wall];
  if (random() % 5 == 0) {
    plan.source = Grid<double>(rows, cols, uniform(random, -20, 20));
    limits.spacing = 0.02;
    name += ", source";
  }
  if (random() % 4 == 0) {
    const double scale = std::pow(10, uniform(random, -6, 2.5));
    for (double& value : plan.domain.cells) value *= scale;
    for (double& value : plan.source.cells) value *= scale;
    limits.tolerance *= scale;
    name += ", scale " + std::to_string(scale);
  }
  return {std::move(name), std::move(plan), limits};
}

/// The deltas of Jacobi's iterations, until one is far below the tolerance.
std::vector<double> jacobi_deltas(const FloorPlan& plan, const Limits& limits) {
  // In a ring of zeros.
  const std::size_t stride = plan.domain.cols + 2;
  const Grid<double> terms = plan.has_source() ? source_terms(plan, limits) : Grid<double>();
  std::vector<double> field((plan.domain.rows + 2) * stride);
  for (std::size_t row = 0; row < plan.domain.rows; ++row)
    std::copy_n(&plan.domain(row, 0), plan.domain.cols, &field[(row + 1) * stride + 1]);
  std::vector<double> next = field;
  std::vector<double> deltas;
  constexpr std::size_t most = 6000;
  while (deltas.size() < most && (deltas.empty() || deltas.back() > 0.3 * limits.tolerance)) {
    double delta = 0;
    for (std::size_t row = 0; row < plan.domain.rows; ++row) {
      for (std::size_t col = 0; col < plan.domain.cols; ++col) {
        if (plan.interior(row, col) == 0) continue;
        const std::size_t i = (row + 1) * stride + col + 1;
        const double value =
            plan.has_source()
                ? updated_with_source(field[i - 1], field[i + 1], field[i - stride],
                                      field[i + stride], terms(row, col))
                : updated(field[i - 1], field[i + 1], field[i - stride], field[i + stride]);
        next[i] = value;
        const double change = std::abs(value - field[i]);
        delta = change > delta ? change : delta;
      }
    }
    std::swap(field, next);
    deltas.push_back(delta);
  }
  return deltas;
}

/// Whether a solution is what the fast-forward solver promises of Jacobi's: a last delta within
/// 4e-10 of the largest temperature, of which its uncertainty is 4e-11.
bool is_right(const Solution& found, std::int64_t iterations, double delta) {
  if (!found.converged || found.iterations != iterations) return false;
  if (found.fell_back) return found.last_delta == delta;
  return std::abs(found.last_delta - delta) <= 10 * found.uncertainty;
}

int run(std::int64_t cases, std::uint64_t seed) {
  constexpr std::int64_t per_plan = 40;
  std::int64_t tried = 0, wrong = 0, fell_back = 0, plans = 0;
  const auto exact = make_jacobi_solver(available_isas().back());
  const auto fast = make_fastforward_solver(available_isas().back());
  for (std::uint64_t number = seed; tried < cases; ++number) {
    Random random(number);
    Case one = random_case(random);
    const std::vector<double> deltas = jacobi_deltas(one.plan, one.limits);
    constexpr std::size_t first = 1100;
    if (deltas.size() < 2 * first) continue;
    ++plans;
    for (std::int64_t i = 0; i < per_plan && tried < cases; ++i) {
      // Near the end, or anywhere; from 1e-15 to 1e-3 beside a delta.
      const std::size_t spread = i % 2 == 0 ? 20 : deltas.size() - first;
      const std::size_t beside = deltas.size() - 1 - random() % spread;
      const double distance = std::pow(10, uniform(random, -15, -3));
      Limits limits = one.limits;
      limits.tolerance = deltas[beside] * (1 + (random() % 2 == 0 ? distance : -distance));
      const auto expected = std::find_if(deltas.begin(), deltas.end(), [&](double delta) {
        return has_converged(delta, limits.tolerance);
      });
      if (expected == deltas.end()) continue;
      const Solution found = *fast->solve(one.plan, limits, {});
      const std::int64_t iterations = expected - deltas.begin() + 1;
      bool right = is_right(found, iterations, *expected);
      if (i == 0) {
        const Solution solution = *exact->solve(one.plan, limits, {});
        right = right && solution.last_delta == *expected &&
                farthest_apart(found.field.cells, solution.field.cells) <= found.uncertainty / 10;
      }
      ++tried;
      wrong += right ? 0 : 1;
      fell_back += found.fell_back ? 1 : 0;
      if (!right)
        std::printf("wrong: seed %llu, %s, tolerance %.17g: %lld iterations, jacobi makes %lld\n",
                    static_cast<unsigned long long>(number), one.name.c_str(), limits.tolerance,
                    static_cast<long long>(found.iterations), static_cast<long long>(iterations));
    }
  }
  std::printf("%lld cases on %lld plans, %lld wrong, %lld fell back\n",
              static_cast<long long>(tried), static_cast<long long>(plans),
              static_cast<long long>(wrong), static_cast<long long>(fell_back));
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace wallheat

int main(int count, char** arguments) {
  return wallheat::run(count > 1 ? std::atoll(arguments[1]) : 1000,
                       count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1);
}
