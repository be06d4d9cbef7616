#include "forecast/job_listing.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/printable.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

std::uint32_t Names::place_of(std::string_view name) {
  if (latest_ < names_.size() && names_[latest_] == name) return latest_;
  const auto found = places_.find(name);
  if (found != places_.end()) return latest_ = found->second;
  latest_ = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  places_.emplace(name, latest_);
  return latest_;
}

std::string text_of(const std::string& file) {
  std::ifstream named;
  if (file != "-") {
    named.open(file, std::ios::binary);
    if (!named || std::filesystem::is_directory(file))
      throw RunError(fmt::format("{} cannot be read: {}", printable(file),
                                 named ? "it is a directory" : std::strerror(errno)));
  }
  std::istream& in = file == "-" ? std::cin : named;
  std::string text;
  std::string part(std::size_t{1} << 20, '\0');
  while (in) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    const std::string_view read(part.data(), static_cast<std::size_t>(in.gcount()));
    // So that a device of zeros is not read without end.
    if (read.find('\0') != std::string_view::npos)
      throw RunError(fmt::format("{} is no text: it has zero bytes", printable(file)));
    text += read;
  }
  if (in.bad()) throw RunError(fmt::format("{} cannot be read to its end", printable(file)));
  return text;
}

}  // namespace wallheat
