#include "solve/gpu/kernel_proofs.hpp"

#include <utility>

#include "core/generator.hpp"
#include "solve/same_bits.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

/// A kernel of one block has a plan that fits it; others one that fills several: some milliseconds
/// of one core.
FloorPlan known_plan(const KernelShape& shape) {
  const bool fits_a_block = shape.kernel == Kernel::cluster && !shape.several_blocks;
  FloorPlan plan = generate_floor_plan(1, 0, fits_a_block ? 40 : 256);
  if (shape.has_source) {
    plan.source = Grid<double>(plan.domain.rows, plan.domain.cols);
    for (std::size_t cell = 0; cell < plan.source.cells.size(); ++cell)
      plan.source.cells[cell] = 1e-3 * static_cast<double>(cell % 97);
  }
  return plan;
}

/// The first ends in long windows; the second within the first window, so that the solver must go
/// back to the field before.
constexpr Limits known_limits[] = {{1e-4, 250}, {1.0, 250}};

}  // namespace

KernelProofs::KernelProofs(std::function<std::unique_ptr<Solver>(const KernelShape&)> make_solver,
                           std::function<bool()> is_alive,
                           std::function<void(const std::string&)> warn)
    : make_solver_(std::move(make_solver)),
      is_alive_(std::move(is_alive)),
      warn_(std::move(warn)) {}

KernelProofs::Proof& KernelProofs::proof_of(const KernelShape& shape) {
  const std::scoped_lock lock(mutex_);
  return proofs_[shape];
}

bool KernelProofs::admit(const KernelShape& shape) {
  Proof& proof = proof_of(shape);
  const std::scoped_lock lock(proof.mutex);
  if (!proof.passed) proof.passed = passes(shape);
  return *proof.passed;
}

bool KernelProofs::passes(const KernelShape& shape) const {
  std::string why = "it does not solve a known plan to the bits of the reference";
  try {
    const FloorPlan plan = known_plan(shape);
    const auto reference = make_reference_solver();
    const auto solver = make_solver_(shape);
    bool all = true;
    for (const Limits& limits : known_limits) {
      const auto given = solver->solve(plan, limits, {});
      all = all && given && same_bits(*given, *reference->solve(plan, limits, {}));
    }
    if (all) return true;
  } catch (const DeviceSilent&) {
    throw;  // is_alive would wait for ever
  } catch (const DeviceFault& fault) {
    if (!is_alive_()) throw;
    why = fault.what();
  }
  warn_("the GPU's " + to_string(shape) + " is not used: " + why);
  return false;
}

}  // namespace wallheat::gpu
