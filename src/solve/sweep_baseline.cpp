#include "solve/skewed_sweeps.hpp"
#include "solve/stencil.hpp"

namespace wallheat {
namespace {

// The loops over the cells of a block have a fixed length and no branch, so that the compiler vectorises
// them for whatever the baseline of the architecture is.

struct Block {
  double value[block_width];
};

Block updated_block(const double* cell, std::size_t stride) {
  Block block;
  for (std::size_t lane = 0; lane < block_width; ++lane) {
    block.value[lane] = updated(cell[lane - 1], cell[lane + 1], cell[lane - stride], cell[lane + stride]);
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

struct Row {
  static void update(const double* from, double* to, std::size_t stride, const Segment* begin, const Segment* end) {
    for (const Segment* next = begin; next != end; ++next) {
      const Segment segment = *next;
      const double* source = from + segment.offset;
      double* target = to + segment.offset;
      store(target, updated_block(source, stride), segment.first);
      for (std::size_t block = 1; block <= segment.full; ++block) {
        store(target + block * block_width, updated_block(source + block * block_width, stride));
      }
      if (segment.last != 0) {
        const std::size_t cell = (segment.full + 1U) * block_width;
        store(target + cell, updated_block(source + cell, stride), segment.last);
      }
    }
  }
};

class Delta {
 public:
  void update(const double* from, double* to, std::size_t stride, const Segment* begin, const Segment* end) {
    for (const Segment* next = begin; next != end; ++next) {
      const Segment segment = *next;
      std::size_t cell = segment.offset;
      update_block(from + cell, to + cell, stride, segment.first);
      for (unsigned block = 0; block < segment.full; ++block) {
        cell += block_width;
        update_block(from + cell, to + cell, stride, 0xff);
      }
      cell += block_width;
      if (segment.last != 0) update_block(from + cell, to + cell, stride, segment.last);
    }
  }
  double largest() const { return largest_; }

 private:
  void update_block(const double* source, double* target, std::size_t stride, unsigned mask) {
    const Block block = updated_block(source, stride);
    for (std::size_t lane = 0; lane < block_width; ++lane) {
      const double difference = block.value[lane] - source[lane];
      const double change = difference < 0 ? -difference : difference;
      if ((mask >> lane & 1U) != 0 && change > largest_) largest_ = change;
    }
    store(target, block, mask);
  }

  double largest_ = 0;
};

}  // namespace

Sweeps baseline_sweeps() { return {skewed_sweeps<Row>, sweep_with_delta<Delta>}; }

}  // namespace wallheat
