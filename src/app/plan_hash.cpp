#include "app/plan_hash.hpp"

#include <xxhash.h>

#include <memory>
#include <new>

namespace wallheat {

std::uint64_t plan_hash(const FloorPlan& plan) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  const std::uint64_t shape[2] = {plan.domain.rows, plan.domain.cols};
  XXH3_64bits_update(state.get(), shape, sizeof shape);
  XXH3_64bits_update(state.get(), plan.domain.cells.data(),
                     plan.domain.cells.size() * sizeof(double));
  XXH3_64bits_update(state.get(), plan.interior.cells.data(), plan.interior.cells.size());
  return XXH3_64bits_digest(state.get());
}

}  // namespace wallheat
