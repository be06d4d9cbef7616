#pragma once

#include <cstdint>
#include <vector>

namespace wallheat {

/// Polynomials in J, an operator whose spectrum lies within [-radius, radius], as sums of Chebyshev
/// polynomials T_2i(J / radius).
struct PowerExpansion {
  std::vector<double> power;   ///< P[i], of about J^count; one more than there are in `growth`
  std::vector<double> growth;  ///< G[i], of (1 - P) / (1 - J^2): 1 + J^2 + ... + J^(count - 2)
  double damping = 1;          ///< radius^count
  double left_out = 0;         ///< no more than that is the norm of J^count - P
};

/// The expansions of J^count, an even number of at least 2, that leave out `tail` at most. For a
/// radius of 1, T_j's coefficient is the probability that `count` steps of +-1 end at a distance of
/// j (S. Sachdeva and N. Vishnoi, "Faster algorithms via approximation theory", 2014, section 3),
/// and T_j counts up to j = sqrt(2 count ln(1 / tail)). With a smaller radius all are
/// radius^count times that, and fewer count. The radius is at least 0.9 and at most 1, and
/// radius^count not far below 1e-30.
[[nodiscard]] PowerExpansion power_expansion(std::int64_t count, double radius, double tail);

}  // namespace wallheat
