#include "forecast/cluster.hpp"

#include <algorithm>

#include "forecast/listing_line.hpp"

namespace wallheat {
namespace {

/// "30", "30:00", "4:00:00", "2-12:00:00", in s; 0 for infinite.
std::int64_t duration_in(const ListingLines& lines, std::string_view text) {
  if (text == "infinite" || text == "n/a" || text == "UNLIMITED") return 0;
  const std::string_view whole = text;
  // Each number fits into 32 bits, so that no sum is too large.
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    days = lines.number<std::int32_t>(text.substr(0, dash), "time limit");
    text.remove_prefix(dash + 1);
  }
  std::vector<std::string_view> parts;
  split(text, ':', parts);
  if (parts.size() > 3) lines.refuse("its time limit is '" + std::string(whole) + "'");
  std::int64_t seconds = 0;
  for (const std::string_view part : parts)
    seconds = seconds * 60 + lines.number<std::int32_t>(part, "time limit");
  // With days the first part is hours, and alone it is minutes.
  if (dash != std::string_view::npos)
    for (std::size_t part = parts.size(); part < 3; ++part) seconds *= 60;
  if (dash == std::string_view::npos && parts.size() == 1) seconds *= 60;
  return days * 86400 + seconds;
}

/// "24+" if some nodes have more than 24.
std::string_view least_of(std::string_view number) {
  if (number.ends_with('+')) number.remove_suffix(1);
  return number;
}

/// "gpu:a100:4(S:0-1),gpu:v100:2,lustre:1" has 6.
std::size_t gpus_in(std::string_view resources) {
  std::string text(resources);
  for (std::size_t open = 0; (open = text.find('(')) != std::string::npos;)
    text.erase(open, std::min(text.find(')', open), text.size()) - open + 1);
  std::vector<std::string_view> items;
  split(text, ',', items);
  std::size_t gpus = 0;
  for (const std::string_view item : items) {
    if (item == "gpu") ++gpus;
    if (item.starts_with("gpu:"))
      gpus += number_of<std::size_t>(item.substr(item.rfind(':') + 1)).value_or(1);
  }
  return gpus;
}

}  // namespace

std::vector<Partition> parse_sinfo(const std::string& name, std::string_view text) {
  std::vector<Partition> partitions;
  ListingLines lines(name, text);
  std::vector<std::string_view> fields;
  for (std::string_view line; lines.next(line);) {
    if (line.empty()) continue;
    split(line, '|', fields);
    constexpr std::size_t width = 8;
    if (fields.size() != width && fields.size() != width - 1)
      lines.refuse(fmt::format("{} fields in place of {}; make the listing with sinfo -h -o '{}'",
                               fields.size(), width, sinfo_format));
    if (fields[1] != "up") continue;
    Partition partition;
    partition.name = fields[0];
    partition.nodes = lines.number<std::size_t>(fields[2], "number of nodes");
    partition.cores = lines.number<std::size_t>(least_of(fields[3]), "number of cores");
    partition.gpus = gpus_in(fields[4]);
    partition.limit_s = duration_in(lines, fields[5]);
    const std::string_view most = fields[6].substr(fields[6].find('-') + 1);
    if (most != "infinite") partition.most_nodes = lines.number<std::size_t>(most, "job size");
    if (fields.size() == width)
      partition.memory_bytes =
          std::int64_t{1'000'000} * lines.number<std::int32_t>(least_of(fields[7]), "memory");
    const auto same = std::ranges::find(partitions, partition.name, &Partition::name);
    if (same == partitions.end()) {
      partitions.push_back(std::move(partition));
    } else if (same->nodes < partition.nodes) {
      *same = std::move(partition);
    }
  }
  return partitions;
}

std::size_t most_array_tasks(const std::string& name, std::string_view text) {
  ListingLines lines(name, text);
  for (std::string_view line; lines.next(line);) {
    if (!line.starts_with("MaxArraySize")) continue;
    const std::size_t start = std::min(line.find_first_of("0123456789"), line.size());
    const std::string_view digits = line.substr(start, line.find_last_of("0123456789") + 1 - start);
    const auto size = lines.number<std::size_t>(digits, "MaxArraySize");
    return size == 0 ? 0 : size - 1;
  }
  throw RunError(name + " does not say MaxArraySize; make it with scontrol show config");
}

}  // namespace wallheat
