#pragma once

#include "wallheat/solver.hpp"

namespace wallheat {

/// Cell updates per second if nothing but their additions took time: the additions of independent
/// vectors that this core makes a second, divided by the three of an update, none of which can be
/// saved as their order is given. Measures for about 10 ms; the best of several tries.
[[nodiscard]] double measure_update_ceiling(Isa isa);

}  // namespace wallheat
