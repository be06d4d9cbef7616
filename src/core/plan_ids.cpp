#include "core/plan_ids.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <ranges>
#include <stdexcept>

#include "core/system_limits.hpp"
#include "core/text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

/// Returns the number of slots of a table for `ids` IDs.
std::size_t slots_for(std::size_t ids) { return std::bit_ceil(ids + ids / 2 + 1); }

}  // namespace

StringList::StringList(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) push_back(text);
}

StringList::StringList(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) push_back(text);
}

StringList::Texts& StringList::own() {
  if (!texts_) {
    texts_ = std::make_shared<Texts>();
  } else if (texts_.use_count() > 1) {
    texts_ = std::make_shared<Texts>(*texts_);
  }
  return *texts_;
}

void StringList::reserve(std::size_t texts, std::size_t letters) {
  Texts& mine = own();
  mine.ends.reserve(texts);
  mine.letters.reserve(letters);
}

void StringList::push_back(std::string_view text) {
  Texts& mine = own();
  mine.letters += text;
  mine.ends.push_back(mine.letters.size());
}

StringList StringList::first(std::size_t count) const {
  if (count >= size()) return *this;
  StringList some;
  for (std::size_t index = 0; index < count; ++index) some.push_back((*this)[index]);
  return some;
}

bool operator==(const StringList& a, const StringList& b) {
  if (a.texts_ == b.texts_ || (a.empty() && b.empty())) return true;
  return a.texts_ && b.texts_ && a.texts_->ends == b.texts_->ends &&
         a.texts_->letters == b.texts_->letters;
}

std::size_t IdIndex::slot_of(std::string_view id) const {
  const std::size_t mask = slots_.size() - 1;  // the size is a power of two
  std::size_t slot = std::hash<std::string_view>{}(id)&mask;
  while (slots_[slot] != 0 && (*this)[slots_[slot] - 1] != id) slot = (slot + 1) & mask;
  return slot;
}

void IdIndex::make_slots(std::size_t count) {
  slots_ = std::vector<std::uint32_t>(count);
  for (std::size_t index = 0; index < size(); ++index)
    slots_[slot_of((*this)[index])] = static_cast<std::uint32_t>(index + 1);
}

void IdIndex::reserve(std::size_t ids, std::size_t letters) {
  ids_.reserve(ids, letters);
  if (!is_sorted_ && slots_for(ids) > slots_.size()) make_slots(slots_for(ids));
}

std::pair<std::size_t, bool> IdIndex::insert(std::string_view id) {
  // An archive often lists the files of a plan one after the other.
  if (size() > 0 && (*this)[size() - 1] == id) return {size() - 1, false};
  if (size() == std::numeric_limits<std::uint32_t>::max() - 1)
    throw std::length_error("too many ids");
  is_sorted_ = is_sorted_ && (size() == 0 || (*this)[size() - 1] < id);
  if (!is_sorted_) {
    if (slots_for(size() + 1) > slots_.size()) make_slots(slots_for(2 * (size() + 1)));
    const std::size_t slot = slot_of(id);
    if (slots_[slot] != 0) return {slots_[slot] - 1, false};
    slots_[slot] = static_cast<std::uint32_t>(size() + 1);
  }
  ids_.push_back(id);
  return {size() - 1, true};
}

std::optional<std::size_t> IdIndex::find(std::string_view id) const {
  if (!is_sorted_) {
    const std::uint32_t found = slots_[slot_of(id)];
    return found == 0 ? std::nullopt : std::optional<std::size_t>(found - 1);
  }
  const auto indices = std::views::iota(std::size_t{0}, size());
  const auto at = [&](std::size_t index) { return (*this)[index]; };
  const auto found = std::ranges::lower_bound(indices, id, {}, at);
  return found != indices.end() && at(*found) == id ? std::optional(*found) : std::nullopt;
}

PlanIds unique_ids(const StringList& names) {
  PlanIds result;
  IdIndex ids;
  ids.reserve(names.size(), 0);
  for (const std::string_view name : names) {
    if (!ids.add(name)) result.duplicates.emplace_back(name);
  }
  result.ids = ids.ids();
  return result;
}

PlanIds read_ids(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& cause) {
    throw RunError("the ids file " + file.string() + " cannot be read: " + cause);
  };
  std::error_code unknown;
  const auto status = std::filesystem::status(file, unknown);
  if (std::filesystem::is_directory(status)) refuse("it is a directory");
  // Reading a named pipe could block forever, and a device may never end. The pipes of the shell,
  // /dev/stdin and /dev/fd/63, have a writer.
  const std::string name = file.string();
  const bool is_shells_pipe =
      std::filesystem::is_fifo(status) &&
      (name == "/dev/stdin" || name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/"));
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !is_shells_pipe) {
    refuse("it is a named pipe or a device, not a regular file");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(system_error_text(errno));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) throw RunError("the ids file " + file.string() + " cannot be read to its end");
  return parse_ids(text, file.string());
}

PlanIds parse_ids(std::string_view text, const std::string& file) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw RunError("the ids file " + file +
                   " is encoded in UTF-16, as Windows PowerShell writes it; "
                   "save it as UTF-8");
  text = without_byte_order_mark(text);
  StringList names;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    names.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  if (names.empty()) throw RunError("the ids file " + file + " contains no plan ID");
  return unique_ids(names);
}

PlanIds sorted_ids_without_list(const std::string& where, std::vector<std::string> ids) {
  if (ids.empty())
    throw RunError(where +
                   " contains neither building_ids.txt nor a floor plan (ID_domain.npy with "
                   "ID_interior.npy)");
  // Checking the order of a million IDs takes a tenth of the time of sorting them.
  if (!std::is_sorted(ids.begin(), ids.end(), natural_less))
    std::sort(ids.begin(), ids.end(), natural_less);
  PlanIds plans;
  plans.ids = StringList(ids);
  plans.origin_note = where + " has no building_ids.txt: its " + std::to_string(ids.size()) +
                      " *_domain.npy are used, in natural order";
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
  return a < b;  // they differ in leading zeros only
}

void require_valid_id(std::string_view id) {
  const auto refuse = [&](const char* cause) {
    throw InputError("the plan ID '" + std::string(id) + "' " + cause);
  };
  if (id.empty()) refuse("is empty");
  if (id.size() > max_id_length)
    refuse("is longer than 127 bytes, the limit of a result file; rename the plan's files");
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
