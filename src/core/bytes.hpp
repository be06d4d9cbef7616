#pragma once

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace wallheat {

using Bytes = std::vector<std::byte>;

/// Bytes that do not hold what their reader expects.
struct DecodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace wallheat
