#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "wallheat/solver.hpp"

namespace wallheat {

/// Field, iterations and last delta, to the last bit.
[[nodiscard]] inline bool same_bits(const Solution& a, const Solution& b) {
  return a.iterations == b.iterations && a.converged == b.converged &&
         std::bit_cast<std::uint64_t>(a.last_delta) == std::bit_cast<std::uint64_t>(b.last_delta) &&
         a.field.rows == b.field.rows && a.field.cols == b.field.cols &&
         std::memcmp(a.field.cells.data(), b.field.cells.data(),
                     a.field.cells.size() * sizeof(double)) == 0;
}

}  // namespace wallheat
