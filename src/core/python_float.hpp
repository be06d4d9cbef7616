#pragma once

#include <string>

namespace wallheat {

/// A double as Python's repr prints it: the shortest text that reads back the same, always with a
/// point or an exponent ("100.0", "1e-05"), "nan", "inf", "-inf".
[[nodiscard]] std::string python_float(double value);

}  // namespace wallheat
