#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_directory.hpp"

// Hostile input: whatever a reader gets, it ends well or by an error that its header names.
namespace wallheat::fuzz {

/// Something that is read from outside.
struct Target {
  std::string_view name;
  std::size_t mutations;  ///< of the seeds, in the short test
  /// Inputs to begin with; among them those that once led to a finding.
  std::vector<std::string> (*seeds)();
  /// What it throws is a finding.
  void (*read)(std::string_view input);
};

extern const Target ids, config, recording, formula, listing;
extern const Target npy, zip, drawing;
extern const Target message, results;
inline constexpr std::array targets{&ids, &config, &recording, &formula, &listing,
                                    &npy, &zip,    &drawing,   &message, &results};

/// Throws std::out_of_range if there is none.
inline const Target& target_of(std::string_view name) {
  for (const Target* target : targets)
    if (target->name == name) return *target;
  throw std::out_of_range("no such target");
}

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

/// True if the step ends well, false if it throws one of the documented exceptions. Any other goes
/// on.
template <class... Documented, class Step>
bool accepts(Step step) {
  try {
    step();
    return true;
  } catch (const std::exception& error) {
    if (!(... || (dynamic_cast<const Documented*>(&error) != nullptr))) throw;
    require(error.what()[0] != '\0', "an error without a sentence");
    return false;
  }
}

/// Where a target may write; gone at the end.
inline const std::filesystem::path& directory() {
  static const TemporaryDirectory made;
  return made.path();
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// A change of a file's bytes: a target takes its input for a list of these, of four bytes each.
struct Patch {
  unsigned what;
  std::size_t at;  ///< up to 16 bits
  unsigned value;
};
inline std::vector<Patch> patches_in(std::string_view input, std::size_t most) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(input[i]); };
  std::vector<Patch> patches;
  for (std::size_t i = 0; i + 4 <= std::min(input.size(), 4 * most); i += 4)
    patches.push_back({byte(i), byte(i + 1) + std::size_t{256} * byte(i + 2), byte(i + 3)});
  return patches;
}
inline std::string input_of(std::initializer_list<Patch> patches) {
  std::string input;
  for (const auto& [what, at, value] : patches)
    for (const std::size_t byte : {std::size_t{what}, at & 255, at >> 8, std::size_t{value}})
      input += static_cast<char>(byte);
  return input;
}

/// Flips bits, cuts, overwrites a number, or inserts bytes.
inline void damage(std::string& bytes, unsigned how, const Patch& patch) {
  if (bytes.empty()) return;
  const std::size_t at = patch.at % bytes.size();
  switch (how) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (patch.value | 1));
      return;
    case 1:
      return bytes.resize(at);
    case 2:
      bytes.replace(at, std::min<std::size_t>(8, bytes.size() - at), 8,
                    static_cast<char>(patch.value));
      return;
    default:
      bytes.insert(at, patch.value, 'P');
  }
}

}  // namespace wallheat::fuzz
