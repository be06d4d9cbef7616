#pragma once

#include <cstdint>
#include <vector>

namespace wallheat {

/// Expansions in Chebyshev polynomials T_2i(scale J), for an operator J whose spectrum, multiplied
/// by `scale` (spectrum_scale), is within [-1, 1].
struct PowerExpansion {
  std::vector<double>
      power;  ///< coefficients of P, which approximates J^count; one more than `growth`
  std::vector<double>
      growth;          ///< coefficients of (1 - P) / (1 - J^2), about 1 + J^2 + ... + J^(count - 2)
  double damping = 1;  ///< scale^-count
  double truncation_error = 0;  ///< upper bound of the norm of J^count - P
};

/// Returns the expansions for J^count. `count` must be even and at least 2; the omitted
/// coefficients sum up to at most `tail`. For a scale of 1, the coefficient of T_j is the
/// probability that `count` steps of +-1 end at distance j (S. Sachdeva and N. Vishnoi, "Faster
/// algorithms via approximation theory", 2014, section 3), and coefficients up to j = sqrt(2 count
/// ln(1 / tail)) matter. For a larger scale they are multiplied by scale^-count, and fewer matter.
/// The scale must be from 1 to 1.1, with scale^-count not far below 1e-30.
[[nodiscard]] PowerExpansion power_expansion(std::int64_t count, double spectrum_scale,
                                             double tail);

}  // namespace wallheat
