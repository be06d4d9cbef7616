#pragma once

#include <nlohmann/json_fwd.hpp>

namespace wallheat {

/// Members stand in the order in which they are added. A number that is NaN or infinite is printed
/// as null. To make one or to look into one, include view/json.hpp, which takes long to compile.
using Json = nlohmann::ordered_json;

}  // namespace wallheat
