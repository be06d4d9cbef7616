#pragma once

#include <string>

namespace wallheat {

/// Returns the message of the exception of type `Error` that `act` throws, or "(no error)".
template <class Error, class Act>
std::string error_message_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace wallheat
