#pragma once

#include <cstdint>
#include <vector>

namespace wallheat {

/// The coefficients c[j] of x^power = sum of c[j] T_j(x) in Chebyshev polynomials: c[j] is the
/// probability that `power` steps of +-1 end at a distance of j (S. Sachdeva and N. Vishnoi,
/// "Faster algorithms via approximation theory", 2014, section 3). Those of the parity of `power`
/// are not 0. They fall off like exp(-j^2 / (2 power)): what lies beyond a mass of `tail` is left
/// out, and the rest made to sum up to 1, so the expansion is a convex combination.
[[nodiscard]] std::vector<double> power_expansion(std::int64_t power, double tail);

}  // namespace wallheat
