#pragma once

#include <limits>

namespace wallheat {

/// A number that nobody knows. JSON shows it as null, a table as "-", a plot leaves it out.
inline constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

}  // namespace wallheat
