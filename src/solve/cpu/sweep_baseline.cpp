#include <limits>

#include "solve/cpu/fused_sweeps.hpp"

namespace wallheat {
namespace {

// Two numbers a vector, which every 64-bit processor has, in the compiler's own vector types.
using Pair [[gnu::vector_size(16), gnu::may_alias]] = double;
using PairBits [[gnu::vector_size(16)]] = long long;

constexpr PairBits lane_masks[4] = {{0, 0}, {-1, 0}, {0, -1}, {-1, -1}};

struct Baseline {
  using Type = Pair;
  using Sides = ShiftedSides<Baseline>;
  static constexpr int registers = 1;
  static constexpr int lanes = 2;
  static constexpr int levels = 2;
  static constexpr bool even_first = false;
  static constexpr bool reads_target = false;  // it would be slower

  static Type zero() { return Type{0, 0}; }
  static Type load(const double* from) { return *reinterpret_cast<const Type*>(from); }
  static void store(double* to, Type value) { *reinterpret_cast<Type*>(to) = value; }
  static Type add(Type one, Type other) { return one + other; }
  static Type subtract(Type one, Type other) { return one - other; }
  static Type product(Type one, Type other) { return one * other; }
  static Type times(double factor, Type value) { return Type{factor, factor} * value; }
  static Type larger(Type one, Type other) {
    return Type{one[0] > other[0] ? one[0] : other[0], one[1] > other[1] ? one[1] : other[1]};
  }
  static Type distance(Type one, Type other) {
    constexpr long long all_but_the_sign = std::numeric_limits<long long>::max();
    return reinterpret_cast<Type>(reinterpret_cast<PairBits>(one - other) & all_but_the_sign);
  }
  static double largest_lane(Type value) { return value[0] > value[1] ? value[0] : value[1]; }

  static Type left(Type before, Type here) { return Type{before[1], here[0]}; }
  static Type right(Type here, Type after) { return Type{here[1], after[0]}; }

  static const std::uint32_t* masks(const std::uint32_t* word) { return word; }
  static PairBits mask(const std::uint32_t* word, int level, int vector) {
    return lane_masks[*word >> (8 * level + lanes * vector) & 3U];
  }
  static Type select(PairBits mask, Type yes, Type no) {
    return reinterpret_cast<Type>((reinterpret_cast<PairBits>(yes) & mask) |
                                  (reinterpret_cast<PairBits>(no) & ~mask));
  }
};

}  // namespace

Sweeps baseline_sweeps() { return sweeps_of<Baseline>(); }

}  // namespace wallheat
