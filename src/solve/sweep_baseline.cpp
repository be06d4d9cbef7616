#include "solve/skewed_sweeps.hpp"
#include "solve/stencil.hpp"

namespace wallheat {
namespace {

// The loops over the cells of a block have a fixed length and no branch, so that the compiler
// vectorises them for whatever the baseline of the architecture is.

struct Block {
  double value[block_width];
};

Block updated_block(const double* cell, std::size_t stride) {
  Block block;
  for (std::size_t lane = 0; lane < block_width; ++lane) {
    block.value[lane] =
        updated(cell[lane - 1], cell[lane + 1], cell[lane - stride], cell[lane + stride]);
  }
  return block;
}

void store(double* target, const Block& block) {
  for (std::size_t lane = 0; lane < block_width; ++lane) target[lane] = block.value[lane];
}

void store(double* target, const Block& block, unsigned mask) {
  for (std::size_t lane = 0; lane < block_width; ++lane) {
    if ((mask >> lane & 1U) != 0) target[lane] = block.value[lane];
  }
}

class Walk {
 public:
  Walk(const double* from, double* to, std::size_t stride)
      : from_(from), to_(to), stride_(stride) {}
  void masked(unsigned mask) {
    store(to_, updated_block(from_, stride_), mask);
    advance();
  }
  void full() {
    store(to_, updated_block(from_, stride_));
    advance();
  }

 private:
  void advance() {
    from_ += block_width;
    to_ += block_width;
  }

  const double* from_;
  double* to_;
  std::size_t stride_;
};

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

  DeltaWalk(const double* from, double* to, std::size_t stride, Largest& largest)
      : from_(from), to_(to), stride_(stride), largest_(largest) {}
  void masked(unsigned mask) {
    const Block block = updated_block(from_, stride_);
    for (std::size_t lane = 0; lane < block_width; ++lane) {
      const double difference = block.value[lane] - from_[lane];
      if ((mask >> lane & 1U) != 0) largest_.take(difference < 0 ? -difference : difference);
    }
    store(to_, block, mask);
    from_ += block_width;
    to_ += block_width;
  }
  void full() { masked(0xff); }

 private:
  const double* from_;
  double* to_;
  std::size_t stride_;
  Largest& largest_;
};

}  // namespace

Sweeps baseline_sweeps() { return {skewed_sweeps<Walk>, sweep_with_delta<DeltaWalk>}; }

}  // namespace wallheat
