#include <gtest/gtest.h>

#include <limits>

#include "core/text.hpp"

namespace wallheat {
namespace {

TEST(PythonFloat, prints_what_python_prints) {
  const std::pair<double, const char*> golden[] = {
      // from repr() of CPython 3.11
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {100.0, "100.0"},
      {0.0001, "0.0001"},
      {1e-05, "1e-05"},
      {1.5e-07, "1.5e-07"},
      {123456789012345.0, "123456789012345.0"},
      {1000000000000000.0, "1000000000000000.0"},
      {1e+16, "1e+16"},
      {1.2345e+16, "1.2345e+16"},
      {1e+22, "1e+22"},
      {1e+100, "1e+100"},
      {5e-324, "5e-324"},
      {1.7976931348623157e+308, "1.7976931348623157e+308"},
      {0.1, "0.1"},
      {0.3333333333333333, "0.3333333333333333"},
      {-2.5, "-2.5"},
      {12.012338788112752, "12.012338788112752"},
      {9.996023381297903e-05, "9.996023381297903e-05"},
      {9007199254740992.0, "9007199254740992.0"},
      {123456789.0, "123456789.0"},
      {std::numeric_limits<double>::quiet_NaN(), "nan"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"},
  };
  for (const auto& [value, text] : golden) EXPECT_EQ(python_float(value), text);
}

}  // namespace
}  // namespace wallheat
