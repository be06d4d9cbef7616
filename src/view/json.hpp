#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "view/json_forward.hpp"

namespace wallheat {

/// As it is printed: indented, with its last line ended. Bytes that are not UTF-8, which ids and
/// paths may have, become U+FFFD.
[[nodiscard]] inline std::string json_text(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The same in one line, which is not ended.
[[nodiscard]] inline std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wallheat
