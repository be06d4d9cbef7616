#include "solve/gpu/known_answer.hpp"

#include <cstring>

#include "core/generator.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {

KnownAnswer::KnownAnswer()
    : plan_(generate_floor_plan(1, 0, 256)),
      limits_{1e-4, 250},
      answer_(*make_reference_solver()->solve(plan_, limits_, {})) {}

void KnownAnswer::expect_of(Solver& solver) const {
  const auto given = solver.solve(plan_, limits_, {});
  const auto& expected = answer_.field.cells;
  if (!given || given->iterations != answer_.iterations ||
      std::memcmp(&given->last_delta, &answer_.last_delta, sizeof(double)) != 0 ||
      std::memcmp(given->field.cells.data(), expected.data(), expected.size() * sizeof(double)) !=
          0)
    throw DeviceFault("the GPU does not solve the known-answer plan to the bits of the reference");
}

}  // namespace wallheat::gpu
