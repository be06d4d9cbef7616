#include "queue/shard.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Shard make_shard(std::size_t number, std::size_t count) {
  if (number < 1 || number > count)
    throw UsageError("invalid shard " + std::to_string(number) + " of " + std::to_string(count) +
                     ": must be from 1 to " + std::to_string(count));
  return {number, count};
}

std::string Shard::text() const { return std::to_string(number) + "/" + std::to_string(count); }

Shard parse_shard(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto number = parse_number<std::uint32_t>(std::string_view(text).substr(0, slash));
  const auto count = slash == text.size()
                         ? std::nullopt
                         : parse_number<std::uint32_t>(std::string_view(text).substr(slash + 1));
  if (!number || !count)
    throw UsageError("invalid value '" + text +
                     "' for --shard: must be auto, none or K/N (from 1/N to N/N)");
  return make_shard(*number, *count);
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
