#pragma once

#include <cstdlib>
#include <string>

#include "wallheat/result_reader.hpp"

namespace wallheat {

/// What a session or the settings of a file say of something; else `otherwise`.
[[nodiscard]] inline std::string text_in(const Attributes& attributes, const char* name,
                                         const char* otherwise = "?") {
  const auto found = attributes.find(name);
  return found == attributes.end() ? otherwise : found->second;
}

/// 0 where they do not say it.
[[nodiscard]] inline double number_in(const Attributes& attributes, const char* name) {
  return std::strtod(text_in(attributes, name, "").c_str(), nullptr);
}

}  // namespace wallheat
