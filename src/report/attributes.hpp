#pragma once

#include <cstdlib>
#include <string>

#include "wallheat/result_reader.hpp"

namespace wallheat {

/// What a session or the settings of a file say of something; else `fallback`.
[[nodiscard]] inline std::string text_in(const Attributes& attributes, const char* name,
                                         const char* fallback = "?") {
  const auto found = attributes.find(name);
  return found == attributes.end() ? fallback : found->second;
}

/// 0 if they do not say it.
[[nodiscard]] inline double number_in(const Attributes& attributes, const char* name) {
  return std::strtod(text_in(attributes, name, "").c_str(), nullptr);
}

}  // namespace wallheat
