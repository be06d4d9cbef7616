#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "wallheat/solver.hpp"

namespace wallheat {

/// Field, iterations and last delta, to the last bit.
inline void expect_same_bits(const Solution& actual, const Solution& expected,
                             const std::string& what) {
  EXPECT_EQ(actual.iterations, expected.iterations) << what;
  EXPECT_EQ(actual.converged, expected.converged) << what;
  EXPECT_EQ(std::memcmp(&actual.last_delta, &expected.last_delta, sizeof(double)), 0)
      << what << ": " << actual.last_delta << " is not " << expected.last_delta;
  ASSERT_EQ(actual.field.cells.size(), expected.field.cells.size()) << what;
  EXPECT_EQ(std::memcmp(actual.field.cells.data(), expected.field.cells.data(),
                        expected.field.cells.size() * sizeof(double)),
            0)
      << what << ": the fields differ";
}

}  // namespace wallheat
