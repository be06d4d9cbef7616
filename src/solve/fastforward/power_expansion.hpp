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

/// Those of 1 + x^2 + x^4 + ... + x^(power - 2) = (1 - x^power) / (1 - x^2), from those of x^power,
/// which is even. None is negative, and they sum up to power / 2. With what power_expansion() left
/// out, the product with 1 - x^2 is still 1 less what is left of x^power.
[[nodiscard]] std::vector<double> sum_of_even_powers(const std::vector<double>& power_expansion);

}  // namespace wallheat
