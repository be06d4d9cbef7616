#include <xxhash.h>

#include "plans/plan_source.hpp"
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // same hash, computed with the widest vectors of the processor
#endif

#include <memory>
#include <new>
#include <span>

namespace wallheat {

std::uint64_t plan_hash(const FloorPlan& plan) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  const auto add = [&](auto values) {
    XXH3_64bits_update(state.get(), values.data(), values.size_bytes());
  };
  const std::uint64_t shape[2] = {plan.domain.rows, plan.domain.cols};
  add(std::span(shape));
  add(std::span(plan.domain.cells));
  add(std::span(plan.interior.cells));
  add(std::span(plan.source.cells));
  return XXH3_64bits_digest(state.get());
}

}  // namespace wallheat
