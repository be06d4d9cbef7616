#pragma once

#include <nlohmann/json_fwd.hpp>

namespace wallheat {

/// JSON value whose members keep the order in which they were added. NaN and infinity are printed
/// as null. To create or read a value, include view/json.hpp, which takes long to compile.
using Json = nlohmann::ordered_json;

}  // namespace wallheat
