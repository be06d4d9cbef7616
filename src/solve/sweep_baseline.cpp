#include <cmath>

#include "solve/stencil.hpp"
#include "solve/sweep.hpp"

namespace wallheat {
namespace {

// The inner loops have a fixed length and no branch, so that the compiler vectorises them for
// whatever the baseline of the architecture is.

void update_block(const double* cell, std::size_t stride, double* value) {
  for (std::size_t lane = 0; lane < block_width; ++lane) {
    value[lane] = updated(cell[lane - 1], cell[lane + 1], cell[lane - stride], cell[lane + stride]);
  }
}

void store_block(double* target, const double* value, unsigned mask) {
  if (mask == 0xff) {
    for (std::size_t lane = 0; lane < block_width; ++lane) target[lane] = value[lane];
  } else {
    for (std::size_t lane = 0; lane < block_width; ++lane) {
      if ((mask >> lane & 1U) != 0) target[lane] = value[lane];
    }
  }
}

void sweep(const double* from, double* to, const ActiveBlocks& blocks) {
  for (std::size_t i = 0; i < blocks.count; ++i) {
    double value[block_width];
    update_block(from + blocks.offset[i], blocks.stride, value);
    store_block(to + blocks.offset[i], value, blocks.mask[i]);
  }
}

double sweep_with_delta(const double* from, double* to, const ActiveBlocks& blocks) {
  double largest = 0;
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const double* source = from + blocks.offset[i];
    double value[block_width];
    update_block(source, blocks.stride, value);
    for (std::size_t lane = 0; lane < block_width; ++lane) {
      const double change = std::abs(value[lane] - source[lane]);
      if ((blocks.mask[i] >> lane & 1U) != 0 && change > largest) largest = change;
    }
    store_block(to + blocks.offset[i], value, blocks.mask[i]);
  }
  return largest;
}

}  // namespace

Sweeps baseline_sweeps() { return {sweep, sweep_with_delta}; }

}  // namespace wallheat
