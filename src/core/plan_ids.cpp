#include "core/plan_ids.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "wallheat/error.hpp"

namespace wallheat {

PlanIds unique_ids(const TextList& names) {
  PlanIds result;
  IdList ids;
  ids.reserve(names.size(), 0);
  for (const std::string_view name : names) {
    if (!ids.add(name)) result.duplicates.emplace_back(name);
  }
  result.ids = ids.ids();
  return result;
}

PlanIds read_ids(const std::filesystem::path& file) {
  const auto refuse = [&](const char* cause) {
    throw RunError("the ids file " + file.string() + " cannot be read: " + cause);
  };
  std::error_code unknown;
  const auto status = std::filesystem::status(file, unknown);
  if (std::filesystem::is_directory(status)) refuse("it is a directory");
  // A named pipe would be waited for without end, and a device may never end; the shell's own
  // pipes, /dev/stdin and /dev/fd/63, have someone who writes them.
  const std::string name = file.string();
  const bool is_shells_pipe =
      std::filesystem::is_fifo(status) &&
      (name == "/dev/stdin" || name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/"));
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !is_shells_pipe) {
    refuse("it is a named pipe or a device, not a regular file");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) throw RunError("the ids file " + file.string() + " cannot be read to its end");
  return ids_in(text, file.string());
}

PlanIds ids_in(std::string_view text, const std::string& file) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // some editors' mark of UTF-8
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  TextList names;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    names.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  if (names.empty()) throw RunError("the ids file " + file + " names no plan");
  return unique_ids(names);
}

PlanIds unlisted_ids(const std::string& where, std::vector<std::string> ids) {
  if (ids.empty())
    throw RunError(where +
                   " holds neither building_ids.txt nor a floor plan (ID_domain.npy with "
                   "ID_interior.npy)");
  // To find that a million are in order takes a tenth of the time of sorting them.
  if (!std::is_sorted(ids.begin(), ids.end(), natural_less))
    std::sort(ids.begin(), ids.end(), natural_less);
  PlanIds plans;
  plans.ids = TextList(ids);
  plans.note = where + " has no building_ids.txt: its " + std::to_string(ids.size()) +
               " *_domain.npy are taken, in natural order";
  return plans;
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  const auto number_at = [&](std::string_view text, std::size_t start) {
    std::size_t end = start;
    while (end < text.size() && is_digit(text[end])) ++end;
    const std::size_t first = std::min(text.find_first_not_of('0', start), end);
    return text.substr(first, end - first);
  };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = number_at(a, i);
      const std::string_view y = number_at(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i = static_cast<std::size_t>(x.data() + x.size() - a.data());
      j = static_cast<std::size_t>(y.data() + y.size() - b.data());
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // they differ in leading zeros alone
}

void check_id(std::string_view id) {
  const auto refuse = [&](const char* cause) {
    throw InputError("the plan id '" + std::string(id) + "' " + cause);
  };
  if (id.empty()) refuse("is empty");
  if (id.size() > max_id_length)
    refuse("has more than the 127 bytes that a result file keeps: rename the plan's files");
  if (id.find('/') != std::string_view::npos)
    refuse("contains '/', which could leave the data directory");
  if (id.find("..") != std::string_view::npos)
    refuse("contains '..', which could leave the data directory");
  for (const char letter : id) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f)
      refuse("contains a control character");
  }
}

}  // namespace wallheat
