#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/interior_values.hpp"
#include "report/compare.hpp"
#include "solve/single_precision.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

const Limits limits;
constexpr double other_order_of_sums = 1e-11;  // °C, at most, of temperatures as those of rooms

/// What programs do that end after a number of sweeps; several may end after the same.
using Stops = std::multimap<std::int64_t, std::string>;

std::string every(std::int64_t sweeps) {
  return fmt::format("iterates at multiples of {}: the stop is looked at every {}th sweep", sweeps,
                     sweeps);
}
std::string without_stop(std::int64_t sweeps) {
  return fmt::format("iterates after {} sweeps without a stop", sweeps);
}
constexpr const char* reference = "the reference's answer";

void add(std::int64_t sweeps, std::string how, Stops& stops) {
  stops.emplace(std::clamp<std::int64_t>(sweeps, 0, limits.max_iterations), std::move(how));
}

/// Where programs stop whose change falls below the tolerance at that sweep.
Stops stops_at(std::int64_t stop) {
  Stops stops;
  add(stop, reference, stops);
  add(stop - 1, "iterates one sweep short: the field before the last update is returned", stops);
  add(stop + 1, "iterates one sweep beyond the reference's", stops);
  for (const std::int64_t step :
       {10, 20, 25, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1000, 1024, 2000}) {
    const auto next = [&](std::int64_t sweep) { return (sweep + step - 1) / step * step; };
    add(next(stop), every(step), stops);
    add(next(stop - 1) + 1, every(step) + ", from the first one on", stops);
  }
  constexpr std::int64_t coarse = 1000;
  constexpr std::int64_t fine = 100;
  for (std::int64_t sweeps = fine; sweeps <= limits.max_iterations; sweeps += fine)
    add(sweeps, sweeps % coarse == 0 ? without_stop(sweeps) : "", stops);
  return stops;
}

/// Makes `sweeps` iterations more.
void go_on(FloorPlan& plan, std::int64_t sweeps, Solver& jacobi) {
  if (sweeps > 0)
    plan.domain = jacobi.solve(plan, {.tolerance = 0, .max_iterations = sweeps}, {})->field;
}

/// Made from values of cells; a program may have others, up to `error` °C apart.
Iterate iterate_of(std::string how, std::int64_t sweeps, const std::vector<double>& values,
                   double error = other_order_of_sums) {
  const auto [statistics, doubt] = summary_of(values, Thresholds(), error);
  return {std::move(how),
          sweeps,
          statistics,
          error,
          static_cast<double>(doubt.cells),
          100 / static_cast<double>(values.size())};
}

/// The same iterate, averaged otherwise.
void add_other_averages(const FloorPlan& now, const std::string& how, std::int64_t sweeps,
                        std::vector<Iterate>& found) {
  const auto [rows, cols, cells] = now.domain;
  std::vector<double> ringed(cols + 2);  // with the zeros around it
  for (std::size_t row = 0; row < rows; ++row) {
    ringed.push_back(0);
    ringed.insert(ringed.end(), &now.domain(row, 0), &now.domain(row, 0) + cols);
    ringed.push_back(0);
  }
  ringed.resize(ringed.size() + cols + 2);
  found.push_back(iterate_of(how + ", averaged over all cells of the grid", sweeps, cells));
  found.push_back(iterate_of(how + ", averaged over the grid and its ring", sweeps, ringed));
  const std::vector<double> interior = interior_values(now.domain, now.interior);
  const std::vector<float> narrowed(interior.begin(), interior.end());
  found.push_back(
      {how + ", averaged in single precision", sweeps, single_precision_statistics(narrowed)});
}

}  // namespace

std::vector<Iterate> iterates_of(const FloorPlan& plan, Solver& jacobi) {
  if (plan.has_source()) throw InputError("has a heat source, which is another exercise");
  const std::int64_t stop = jacobi.solve(plan, limits, {})->iterations;
  std::vector<Iterate> found;
  if (stop == 0) return {{reference}};
  FloorPlan now = plan;
  Iterate last{.sweeps = -1};
  for (const auto& [sweeps, how] : stops_at(stop)) {
    if (sweeps > last.sweeps) {
      go_on(now, sweeps - std::max<std::int64_t>(last.sweeps, 0), jacobi);
      last = iterate_of("", sweeps, interior_values(now.domain, now.interior));
    }
    found.emplace_back(last).how = how;
    for (const std::string& common : {std::string(reference), every(100), every(500), every(1000),
                                      without_stop(limits.max_iterations)})
      if (how == common) add_other_averages(now, how, sweeps, found);
  }
  const Solution steady = *make_steady_solver(available_isas().back())->solve(plan, limits, {});
  found.push_back(iterate_of("the steady state", 0, interior_values(steady.field, plan.interior),
                             2 * limits.accuracy));  // of two solvers
  return found;
}

std::vector<Iterate> single_precision_iterates(const FloorPlan& plan) {
  std::vector<Iterate> found;
  if (count_interior(plan) == 0) return found;
  SinglePrecision program(plan);
  std::int64_t stop = 1;
  while (!(program.sweep() < limits.tolerance) && stop < limits.max_iterations) ++stop;
  program = SinglePrecision(plan);
  std::int64_t made = 0;
  for (const auto& [sweeps, how] : stops_at(stop)) {
    if (how.empty()) continue;
    for (; made < sweeps; ++made) (void)program.sweep();
    const std::vector<float> values = program.values();
    found.push_back({how + ", in single precision", sweeps, single_precision_statistics(values)});
    found.push_back(iterate_of(how + ", in single precision, averaged in double precision", sweeps,
                               {values.begin(), values.end()}));
  }
  return found;
}

std::vector<Iterate> iterates_between(const FloorPlan& plan, Solver& jacobi, std::int64_t first,
                                      std::int64_t last) {
  std::vector<Iterate> found;
  FloorPlan now = plan;
  go_on(now, first, jacobi);
  for (std::int64_t sweeps = first; sweeps <= last; ++sweeps, go_on(now, 1, jacobi))
    found.push_back(iterate_of("", sweeps, interior_values(now.domain, now.interior)));
  return found;
}

}  // namespace wallheat
