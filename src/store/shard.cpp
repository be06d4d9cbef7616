#include "store/shard.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "store/result_file_names.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::string_view number_mark = ".part-";
constexpr std::string_view count_mark = "-of-";

}  // namespace

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
  part.replace_filename(file.stem().string() + std::string(number_mark) +
                        std::string(count.size() - number.size(), '0') + number +
                        std::string(count_mark) + count + file.extension().string());
  return part;
}

std::optional<Shard> shard_in_name(const std::string& name, const std::filesystem::path& file) {
  const std::string prefix = file.stem().string() + std::string(number_mark);
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint32_t number = 0;
  std::uint32_t count = 0;
  const char* const end = name.data() + name.size();
  const char* const mark = std::from_chars(name.data() + prefix.size(), end, number).ptr;
  if (!std::string_view(mark, end).starts_with(count_mark)) return std::nullopt;
  (void)std::from_chars(mark + count_mark.size(), end, count);
  if (number < 1 || number > count) return std::nullopt;
  const Shard shard{number, count};
  const std::filesystem::path part = shard_path(file, shard).filename();
  const bool is_of_it =
      name == part || (name.starts_with(part.string() + '.') && name != status_path(part));
  return is_of_it ? std::optional(shard) : std::nullopt;
}

}  // namespace wallheat
