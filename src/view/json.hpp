#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/members.hpp"
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

/// Converts a structure to an object with its members (core/members.hpp). An optional member that
/// has no value is left out. nlohmann-json calls this function.
template <HasMembers T>
void to_json(Json& json, const T& structure) {
  for_each_member<T>([&](const auto& member) {
    const auto& value = member.of(structure);
    if constexpr (requires { value.has_value(); }) {
      if (value) json[member.name] = *value;
    } else {
      json[member.name] = value;
    }
  });
}

}  // namespace wallheat
