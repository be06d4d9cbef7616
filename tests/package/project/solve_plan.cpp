// Solves a plan of a directory: solve_plan DIR ID
#include <cstdio>

#include "wallheat/floor_plan.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/solver.hpp"
#include "wallheat/statistics.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto plan = wallheat::load_floor_plan(argv[1], argv[2]);
  const auto solver = wallheat::make_jacobi_solver(wallheat::available_isas().back());
  const auto solution = solver->solve(plan, {}, {});
  const auto answer = wallheat::statistics(solution->field, plan.interior);
  std::printf("%s %a %a\n", argv[2], answer.mean_temp, answer.std_temp);
}
