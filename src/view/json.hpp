#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "view/json_forward.hpp"

namespace wallheat {

/// Formats JSON for output: indented, with a line feed at the end. Bytes that are not UTF-8, which
/// plan IDs and paths may contain, become U+FFFD.
[[nodiscard]] inline std::string json_text(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Formats JSON as one line without a line feed at the end. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] inline std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wallheat
