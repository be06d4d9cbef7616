#include "core/python_float.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace wallheat {

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";

  std::array<char, 32> buffer{};
  const auto* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                        std::chars_format::scientific)
                              .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = text.find('e');
  const int exponent = std::atoi(text.data() + e + 1);
  const std::string sign = std::signbit(value) ? "-" : "";

  std::string digits;
  for (const char letter : text.substr(0, e)) {
    if (letter >= '0' && letter <= '9') digits += letter;
  }

  // Python's repr: fixed notation where 1e-4 <= |value| < 1e16.
  if (exponent < -4 || exponent >= 16) {
    const std::string mantissa =
        digits.size() == 1 ? digits : digits.substr(0, 1) + "." + digits.substr(1);
    return sign + mantissa + std::string(text.substr(e));
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  const std::string fraction = digits.substr(whole);
  return sign + digits.substr(0, whole) + "." + (fraction.empty() ? "0" : fraction);
}

}  // namespace wallheat
