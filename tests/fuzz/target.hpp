#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_directory.hpp"

// A fuzz target is a file that defines seeds() and LLVMFuzzerTestOneInput. With libFuzzer
// (preset `fuzz`) it is a fuzzer; otherwise driver.cpp makes a short test of it.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace wallheat::fuzz {

/// The inputs to begin with, made by code; among them those that once led to a finding.
[[nodiscard]] std::vector<std::string> seeds();

/// A target does not catch it, so it ends the fuzzer like a crash.
struct Finding : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw Finding(what);
}

/// True where the step ends well, false where it throws one of the documented exceptions. Any other
/// goes on.
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

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

[[nodiscard]] inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) {
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
inline std::string as_bytes(std::initializer_list<Patch> patches) {
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
