#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

/// The lines of a listing, one after the other.
class ListingLines {
 public:
  ListingLines(const std::string& name, std::string_view text) : name_(name), rest_(text) {}

  /// False at the end. `line` has no end of line.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return true;
  }

  /// Says what is wrong with the line at hand, and what to do.
  [[noreturn]] void refuse(const std::string& what) const {
    throw RunError(fmt::format("{}, line {}: {}", name_, number_, printable(what)));
  }

  /// A number from 0 on. `what` names it.
  template <class Number>
  Number number(std::string_view text, const char* what) const {
    const auto value = number_of<Number>(text);
    if (!value || !(*value >= 0) || !std::isfinite(static_cast<double>(*value)))
      refuse(fmt::format("its {} is '{}', which is no number", what, text.substr(0, longest)));
    return *value;
  }

  /// A time in s since 1970; years have four digits.
  std::int64_t time_s(std::string_view text, const char* what) const {
    constexpr std::int64_t last_s = 253'402'300'799;
    const auto seconds = number<std::int64_t>(text, what);
    if (seconds > last_s)
      refuse(fmt::format("its {} is '{}', which is after the year 9999", what, text));
    return seconds;
  }

  static constexpr std::size_t longest = 40;  // characters of a wrong text that are shown

 private:
  const std::string& name_;
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Splits a line at each `mark`, into `fields`.
inline void split(std::string_view line, char mark, std::vector<std::string_view>& fields) {
  fields.clear();
  while (true) {
    const std::size_t end = std::min(line.find(mark), line.size());
    fields.push_back(line.substr(0, end));
    if (end == line.size()) return;
    line.remove_prefix(end + 1);
  }
}

/// Where the named columns stand in a head, which must have them all; `command` makes such a
/// listing.
inline std::vector<std::size_t> places_of(const ListingLines& lines,
                                          const std::vector<std::string_view>& head,
                                          const std::vector<std::string_view>& names,
                                          std::string_view command) {
  std::vector<std::size_t> places;
  for (const std::string_view name : names) {
    const auto found = std::find(head.begin(), head.end(), name);
    if (found == head.end())
      lines.refuse(
          fmt::format("the column {} is missing; make the listing with {}", name, command));
    places.push_back(static_cast<std::size_t>(found - head.begin()));
  }
  return places;
}

}  // namespace wallheat
