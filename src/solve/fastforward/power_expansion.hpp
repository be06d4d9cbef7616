#pragma once

#include <cstdint>
#include <vector>

namespace wallheat {

/// Polynomials in J, an operator of which `stretch` times the spectrum lies within [-1, 1], as sums
/// of Chebyshev polynomials T_2i(stretch J).
struct PowerExpansion {
  std::vector<double> power;    ///< P[i], of about J^count; one more than there are in `growth`
  std::vector<double> growth;   ///< G[i], of (1 - P) / (1 - J^2): 1 + J^2 + ... + J^(count - 2)
  double damping = 1;           ///< stretch^-count
  double truncation_error = 0;  ///< no more than that is the norm of J^count - P
};

/// The expansions of J^count, an even number of at least 2, that leave out `tail` at most. For a
/// stretch of 1, T_j's coefficient is the probability that `count` steps of +-1 end at a distance
/// of j (S. Sachdeva and N. Vishnoi, "Faster algorithms via approximation theory", 2014, section
/// 3), and T_j counts up to j = sqrt(2 count ln(1 / tail)). With a larger stretch all are
/// stretch^-count times that, and fewer count. The stretch is from 1 to 1.1, and stretch^-count not
/// far below 1e-30.
[[nodiscard]] PowerExpansion power_expansion(std::int64_t count, double spectrum_scale,
                                             double tail);

}  // namespace wallheat
