#pragma once

#include "solve/cpu/sweep.hpp"
#include "solve/steady/kernels.hpp"

namespace wallheat {

/// What is compiled once per instruction set, each by a file isa_SET.cpp of its own.
struct IsaKernels {
  SweepKernels sweeps;
  SteadyKernels steady;
};
[[nodiscard]] IsaKernels baseline_loops();
[[nodiscard]] IsaKernels avx2_loops();
[[nodiscard]] IsaKernels avx512_loops();

enum class Isa;
/// Throws RunError if this processor lacks the set.
[[nodiscard]] IsaKernels kernels_for(Isa isa);

/// While this lives, the calling thread takes and makes zeros in place of subnormal numbers, if the
/// processor can. They are a hundred times as slow, and what decays across a plan comes to them.
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
