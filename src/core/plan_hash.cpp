#include "core/plan_hash.hpp"

#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // the same hash by the widest vectors that the processor has
#endif

#include <memory>
#include <new>
#include <span>

namespace wallheat {
namespace {

/// To be given the shape, then all of the start field, all of the mask, and all of the source if
/// there is one.
class Hasher {
 public:
  Hasher() : state_(XXH3_createState(), XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(GridShape shape) {
    const std::uint64_t sizes[2] = {shape.rows, shape.cols};
    add(std::span<const std::uint64_t>(sizes));
  }
  template <class Value>
  void add(std::span<const Value> values) {
    XXH3_64bits_update(state_.get(), values.data(), values.size_bytes());
  }
  [[nodiscard]] std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

std::uint64_t plan_hash(const FloorPlan& plan) {
  Hasher hasher;
  hasher.add(GridShape{plan.domain.rows, plan.domain.cols});
  hasher.add(std::span<const double>(plan.domain.cells));
  hasher.add(std::span<const std::uint8_t>(plan.interior.cells));
  hasher.add(std::span<const double>(plan.source.cells));
  return hasher.digest();
}

std::uint64_t input_hash(const PlanSource& source, const std::string& id) {
  if (const auto stated = source.stated_hash(id)) return *stated;
  Hasher hasher;
  const auto add = [&](const auto& part) { hasher.add(part); };
  source.load_in_pieces(id, {add, add, add, add});
  return hasher.digest();
}

}  // namespace wallheat
