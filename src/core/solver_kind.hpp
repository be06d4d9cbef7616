#pragma once

#include <string_view>

namespace wallheat {

/// Which answer is asked for.
enum class SolverKind {
  jacobi,       ///< the reference's iterate, bit for bit
  fastforward,  ///< the same iterate, but for rounding, in fewer sweeps
  steady,       ///< the true steady state, with a proven bound
};

[[nodiscard]] std::string_view to_string(SolverKind kind);

}  // namespace wallheat
