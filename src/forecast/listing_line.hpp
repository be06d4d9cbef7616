#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

/// Iterates over the lines of a listing.
class ListingLines {
 public:
  ListingLines(const std::string& name, std::string_view text) : name_(name), rest_(text) {}

  /// Reads the next line, without its end of line. Returns false at the end.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return true;
  }

  /// Returns the number of the current line, from 1; 0 before the first.
  [[nodiscard]] std::size_t number() const { return number_; }

  /// Throws RunError, whose message contains the line number and the problem.
  [[noreturn]] void throw_at_line(const std::string& what) const {
    throw RunError(fmt::format("{}, line {}: {}", name_, number_, escape_control_chars(what)));
  }

  /// Parses a finite number of at least 0. `what` is its name in messages.
  template <class Number>
  Number number(std::string_view text, const char* what) const {
    const auto value = parse_number<Number>(text);
    if (!value || !(*value >= 0) || !std::isfinite(static_cast<double>(*value)))
      throw_at_line(fmt::format("invalid {} '{}': not a number", what, text.substr(0, longest)));
    return *value;
  }

  /// Parses a time in s since 1970, whose year has at most four digits.
  std::int64_t time_s(std::string_view text, const char* what) const {
    constexpr std::int64_t last_s = 253'402'300'799;
    const auto seconds = number<std::int64_t>(text, what);
    if (seconds > last_s)
      throw_at_line(fmt::format("invalid {} '{}': after the year 9999", what, text));
    return seconds;
  }

  // Maximum number of characters of an invalid text in messages.
  static constexpr std::size_t longest = 40;

 private:
  const std::string& name_;
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Iterates over the rows of a listing with one value per column in each line, separated by "|".
class ListingTable : public ListingLines {
 public:
  /// If the first line contains the first of the column names, it defines the order of the columns;
  /// otherwise they are in the order of `columns`. `command` is the command that makes such a
  /// listing.
  ListingTable(const std::string& name, std::string_view text,
               std::vector<std::string_view> columns, std::string command)
      : ListingLines(name, text),
        columns_(std::move(columns)),
        command_(std::move(command)),
        indices_(columns_.size()),
        width_(columns_.size()) {
    std::iota(indices_.begin(), indices_.end(), std::size_t{0});
  }

  /// Reads the next row that is not empty. Returns false at the end. Throws RunError if the row
  /// does not have one value per column.
  bool next() {
    for (std::string_view line; ListingLines::next(line);) {
      if (line.empty()) continue;
      values_ = split(line, '|');
      if (std::exchange(is_first_, false) &&
          std::find(values_.begin(), values_.end(), columns_.front()) != values_.end()) {
        find_columns();
        continue;
      }
      if (values_.size() == width_) return true;
      refuse_listing(fmt::format("{} fields instead of {}", values_.size(), width_));
    }
    return false;
  }
  /// Returns the value of a column, by its index in `columns`.
  [[nodiscard]] std::string_view operator[](std::size_t column) const {
    return values_[indices_[column]];
  }
  /// Throws RunError, whose message contains the line number, the problem, and the command that
  /// makes a valid listing.
  [[noreturn]] void refuse_listing(const std::string& what) const {
    throw_at_line(fmt::format("{}; create the listing with {}", what, command_));
  }

 private:
  void find_columns() {
    width_ = values_.size();
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const auto found = std::find(values_.begin(), values_.end(), columns_[column]);
      if (found == values_.end())
        refuse_listing(fmt::format("column {} is missing", columns_[column]));
      indices_[column] = static_cast<std::size_t>(found - values_.begin());
    }
  }

  std::vector<std::string_view> columns_;
  std::string command_;
  std::vector<std::size_t> indices_;
  std::size_t width_;
  bool is_first_ = true;
  std::vector<std::string_view> values_;  ///< of the current line
};

}  // namespace wallheat
