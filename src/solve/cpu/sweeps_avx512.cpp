#include "solve/cpu/fused_sweeps.hpp"

namespace wallheat {

Sweeps avx512_sweeps() { return all_sweeps; }

}  // namespace wallheat
