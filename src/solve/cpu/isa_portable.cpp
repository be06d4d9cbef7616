#include "solve/cpu/isa.hpp"

namespace wallheat {

std::vector<Isa> available_isas() { return {Isa::baseline}; }

Sweeps sweeps_for(Isa) { return baseline_sweeps(); }

}  // namespace wallheat
