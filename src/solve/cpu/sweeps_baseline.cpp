#include "solve/cpu/fused_sweeps.hpp"

namespace wallheat {

Sweeps baseline_sweeps() { return all_sweeps; }

}  // namespace wallheat
