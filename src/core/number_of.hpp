#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace wallheat {

/// The whole text as a number; nothing if it is none, or does not fit.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Two numbers with this sign between them, as 0:25; nothing if there are not.
template <class First, class Second = First>
std::optional<std::pair<First, Second>> numbers_around(char sign, std::string_view text) {
  const std::size_t at = text.find(sign);
  if (at == std::string_view::npos) return std::nullopt;
  const auto first = number_of<First>(text.substr(0, at));
  const auto second = number_of<Second>(text.substr(at + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

}  // namespace wallheat
