#pragma once

#include "solve/cpu/sweep.hpp"
#include "solve/steady/kernels.hpp"

namespace wallheat {

/// The functions that are compiled once per instruction set, in isa_baseline.cpp, isa_avx2.cpp and
/// isa_avx512.cpp.
struct IsaKernels {
  SweepKernels sweeps;
  SteadyKernels steady;
};
[[nodiscard]] IsaKernels baseline_loops();
[[nodiscard]] IsaKernels avx2_loops();
[[nodiscard]] IsaKernels avx512_loops();
/// Returns the sweeps of AVX-512 for processors on which separate even and odd columns do not pay.
[[nodiscard]] SweepKernels avx512_sweeps_in_order();

enum class Isa;
/// Returns the functions for an instruction set. Throws RunError if this processor does not support
/// it.
[[nodiscard]] IsaKernels kernels_for(Isa isa);

/// While an object of this class exists, the calling thread treats subnormal numbers as zeros, if
/// the processor supports that. Operations on subnormal numbers are a hundred times as slow, and a
/// solution that decays across a plan contains them.
class FlushSubnormals {
 public:
  FlushSubnormals();
  ~FlushSubnormals();
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned before_ = 0;
};

}  // namespace wallheat
