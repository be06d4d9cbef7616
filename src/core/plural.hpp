#pragma once

#include <cstddef>
#include <string>

namespace wallheat {

/// "plan" of 1, "plans" of 5: of a noun whose plural has an s more.
[[nodiscard]] inline std::string noun_of(std::size_t count, const std::string& noun) {
  return count == 1 ? noun : noun + "s";
}
/// "1 plan", "5 plans".
[[nodiscard]] inline std::string counted(std::size_t count, const std::string& one,
                                         const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}
[[nodiscard]] inline std::string counted(std::size_t count, const std::string& noun) {
  return counted(count, noun, noun + "s");
}

}  // namespace wallheat
