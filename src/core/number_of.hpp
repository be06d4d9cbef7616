#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace wallheat {

/// The whole text as a number; nothing where it is none, or does not fit.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace wallheat
