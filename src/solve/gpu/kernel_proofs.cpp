#include "solve/gpu/kernel_proofs.hpp"

#include <utility>

#include "core/generator.hpp"
#include "solve/same_bits.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

/// A plan, and the reference's answer to it after some iterations: some milliseconds of one core.
struct KnownAnswer {
  FloorPlan plan = generate_floor_plan(1, 0, 256);
  Limits limits{1e-4, 250};
  Solution solution = *make_reference_solver()->solve(plan, limits, {});
};

}  // namespace

KernelProofs::KernelProofs(std::function<std::unique_ptr<Solver>(Kernel)> make_solver,
                           std::function<bool()> is_alive,
                           std::function<void(const std::string&)> warn)
    : make_solver_(std::move(make_solver)),
      is_alive_(std::move(is_alive)),
      warn_(std::move(warn)) {}

bool KernelProofs::admit(Kernel kernel) {
  Proof& proof = proofs_.at(static_cast<std::size_t>(kernel));
  const std::scoped_lock lock(proof.mutex);
  if (!proof.passed) proof.passed = passes(kernel);
  return *proof.passed;
}

bool KernelProofs::passes(Kernel kernel) const {
  std::string why = "it does not solve the known-answer plan to the bits of the reference";
  try {
    const KnownAnswer known;
    const auto given = make_solver_(kernel)->solve(known.plan, known.limits, {});
    if (given && same_bits(*given, known.solution)) return true;
  } catch (const DeviceFault& fault) {
    if (!is_alive_()) throw;
    why = fault.what();
  }
  warn_("the GPU's " + to_string(kernel) + " kernel is not used: " + why);
  return false;
}

}  // namespace wallheat::gpu
