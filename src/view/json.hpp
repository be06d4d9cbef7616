#pragma once

#include <nlohmann/json.hpp>

namespace wallheat {

/// Members stand in the order in which they are added.
using Json = nlohmann::ordered_json;

}  // namespace wallheat
