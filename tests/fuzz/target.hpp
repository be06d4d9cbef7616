#pragma once

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

}  // namespace wallheat::fuzz
