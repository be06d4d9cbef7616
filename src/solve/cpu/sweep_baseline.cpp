#include "solve/cpu/skewed_sweeps.hpp"
#include "solve/stencil.hpp"

namespace wallheat {
namespace {

// The loops over the cells of a block have a fixed length and no branch, so that the compiler
// vectorises them for whatever the baseline of the architecture is.

struct Block {
  double value[block_width];
};

template <Scaling scaling>
Block updated_block(const Place& place) {
  const double* cell = place.cell();
  const double* up = place.up();
  const double* down = place.down();
  Block block;
  for (std::size_t lane = 0; lane < block_width; ++lane) {
    block.value[lane] =
        sum_factor(scaling) * neighbour_sum(cell[lane - 1], cell[lane + 1], up[lane], down[lane]);
  }
  return block;
}

template <Scaling scaling>
double kept(double old) {
  return kept_factor(scaling) * old;
}

/// `yes` where the lane's bit is set, else `no`; without a branch, which would be mispredicted.
double select(unsigned mask, std::size_t lane, double yes, double no) {
  const std::uint64_t take = std::uint64_t{0} - (mask >> lane & 1U);
  std::uint64_t yes_bits = 0;
  std::uint64_t no_bits = 0;
  __builtin_memcpy(&yes_bits, &yes, sizeof yes);
  __builtin_memcpy(&no_bits, &no, sizeof no);
  const std::uint64_t bits = (yes_bits & take) | (no_bits & ~take);
  __builtin_memcpy(&yes, &bits, sizeof yes);
  return yes;
}

template <Scaling scaling>
class Walk {
 public:
  explicit Walk(const Place& place) : place_(place) {}
  void masked(unsigned mask) {
    const Block block = updated_block<scaling>(place_);
    for (std::size_t lane = 0; lane < block_width; ++lane) {
      place_.to()[lane] = select(mask, lane, block.value[lane], kept<scaling>(place_.cell()[lane]));
    }
    place_.skip(block_width);
  }
  void full() {
    const Block block = updated_block<scaling>(place_);
    for (std::size_t lane = 0; lane < block_width; ++lane) place_.to()[lane] = block.value[lane];
    place_.skip(block_width);
  }

 private:
  Place place_;
};

template <Scaling scaling>
class DeltaWalk {
 public:
  class Largest {
   public:
    void take(double change) {
      if (change > value_) value_ = change;
    }
    double value() const { return value_; }

   private:
    double value_ = 0;
  };

  DeltaWalk(const Place& place, Largest& largest) : place_(place), largest_(largest) {}
  void masked(unsigned mask) {
    const Block block = updated_block<scaling>(place_);
    for (std::size_t lane = 0; lane < block_width; ++lane) {
      const double old = kept<scaling>(place_.cell()[lane]);
      const double value = select(mask, lane, block.value[lane], old);
      const double difference = value - old;
      largest_.take(difference < 0 ? -difference : difference);
      place_.to()[lane] = value;
    }
    place_.skip(block_width);
  }
  void full() { masked(0xff); }

 private:
  Place place_;
  Largest& largest_;
};

}  // namespace

Sweeps baseline_sweeps() { return sweeps_of<Walk, DeltaWalk>(); }

}  // namespace wallheat
