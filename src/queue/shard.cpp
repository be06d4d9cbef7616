#include "queue/shard.hpp"

#include <regex>

#include "wallheat/error.hpp"

namespace wallheat {

Shard checked_shard(std::size_t number, std::size_t count) {
  if (number < 1 || number > count)
    throw UsageError("there is no shard " + std::to_string(number) + " of " +
                     std::to_string(count) + ": the first is 1");
  return {number, count};
}

std::string Shard::text() const { return std::to_string(number) + "/" + std::to_string(count); }

Shard parse_shard(const std::string& text) {
  std::smatch found;
  if (!std::regex_match(text, found, std::regex("([0-9]{1,9})/([0-9]{1,9})")))
    throw UsageError("--shard must be auto, none or K/N (from 1/N to N/N), not '" + text + "'");
  return checked_shard(std::stoul(found[1]), std::stoul(found[2]));
}

std::filesystem::path shard_path(const std::filesystem::path& file, const Shard& shard) {
  if (shard.count == 1) return file;
  const std::string count = std::to_string(shard.count);
  const std::string number = std::to_string(shard.number);
  std::filesystem::path part = file;
  part.replace_filename(file.stem().string() + ".part-" +
                        std::string(count.size() - number.size(), '0') + number + "-of-" + count +
                        file.extension().string());
  return part;
}

}  // namespace wallheat
