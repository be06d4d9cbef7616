#include "run/shard.hpp"

#include <fmt/format.h>

#include <regex>

#include "wallheat/error.hpp"

namespace wallheat {

Shard checked_shard(std::size_t number, std::size_t count) {
  if (number < 1 || number > count)
    throw UsageError(fmt::format("there is no shard {} of {}", number, count));
  return {number, count};
}

std::string Shard::text() const { return fmt::format("{}/{}", number, count); }

Shard parse_shard(const std::string& text) {
  std::smatch found;
  if (!std::regex_match(text, found, std::regex("([0-9]{1,9})/([0-9]{1,9})")))
    throw UsageError("--shard must be auto, none or K/N (from 1/N to N/N), not '" + text + "'");
  return checked_shard(std::stoul(found[1]), std::stoul(found[2]));
}

std::filesystem::path shard_path(const std::filesystem::path& file, const Shard& shard) {
  if (shard.count == 1) return file;
  const std::size_t width = std::to_string(shard.count).size();
  std::filesystem::path part = file;
  part.replace_filename(fmt::format("{}.part-{:0{}}-of-{}{}", file.stem().string(), shard.number,
                                    width, shard.count, file.extension().string()));
  return part;
}

}  // namespace wallheat
