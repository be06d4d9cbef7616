#pragma once

#include <string>

namespace wallheat {

/// The sentence with which something is refused; "(accepted)" if it is not.
template <class Error, class Act>
std::string refusal_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "(accepted)";
}

}  // namespace wallheat
