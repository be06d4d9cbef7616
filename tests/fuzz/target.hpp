#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/temporary_directory.hpp"

// Hostile input: a reader succeeds, or throws an exception that its header documents.
namespace wallheat::fuzz {

/// A kind of external input.
struct Target {
  std::string_view name;
  std::size_t mutations;  ///< of the seeds, in the short test
  /// Initial inputs, including those of former findings.
  std::vector<std::string> (*seeds)();
  /// Any exception is a finding.
  void (*read)(std::string_view input);
};

extern const Target config, recording, formula, listing, printed, npy, zip, message, results;

/// Throws std::out_of_range if there is no such target.
inline const Target& target_of(std::string_view name) {
  for (const Target* target :
       {&config, &recording, &formula, &listing, &printed, &npy, &zip, &message, &results})
    if (target->name == name) return *target;
  throw std::out_of_range("no such target");
}

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

/// Returns true if the step succeeds, false if it throws one of the documented exceptions.
/// Propagates other exceptions.
template <class... Documented, class Step>
bool accepts(Step step) {
  try {
    step();
    return true;
  } catch (const std::exception& error) {
    if (!(... || (dynamic_cast<const Documented*>(&error) != nullptr))) throw;
    require(error.what()[0] != '\0', "an error without a message");
    return false;
  }
}

/// Directory for the files of a target; removed at exit.
inline const std::filesystem::path& directory() {
  static const TemporaryDirectory made;
  return made.path();
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Joins two files to one input: the size of the first in 16 bits, then both.
inline std::string joined(const std::string& first, const std::string& second) {
  const auto size = static_cast<std::uint16_t>(first.size());
  return text_of(std::as_bytes(std::span(&size, 1))) + first + second;
}
inline std::pair<std::string, std::string> split(std::string_view input) {
  std::uint16_t size = 0;
  if (input.size() < sizeof size) return {};
  std::memcpy(&size, input.data(), sizeof size);
  input.remove_prefix(sizeof size);
  const auto first = input.substr(0, size);
  return {std::string(first), std::string(input.substr(first.size()))};
}

}  // namespace wallheat::fuzz
