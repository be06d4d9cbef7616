#include "core/duration.hpp"

#include <cstddef>
#include <regex>

#include "wallheat/error.hpp"

namespace wallheat {

std::chrono::seconds parse_duration(const std::string& text) {
  std::smatch found;
  const auto number = [&](std::size_t group) {
    return found[group].matched ? std::stol(found[group]) : 0L;
  };
  // The formats of Slurm: hours, minutes and seconds; minutes and seconds; days, hours and,
  // optionally, minutes and seconds.
  static const std::regex clock("(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{1,2})");
  static const std::regex days("([0-9]{1,5})-([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2}))?)?");
  static const std::regex units(
      "(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,9})s?)?");
  // A clock that counts nanoseconds since 1970 overflows in 2262.
  const auto bounded = [&](std::chrono::seconds duration) {
    if (duration > std::chrono::hours(24 * 36525))
      throw UsageError("'" + text + "' is longer than 100 years; use 'none' for no limit");
    return duration;
  };
  if (std::regex_match(text, found, clock) && (!found[1].matched || number(2) < 60) &&
      number(3) < 60)
    return bounded(std::chrono::hours(number(1)) + std::chrono::minutes(number(2)) +
                   std::chrono::seconds(number(3)));
  const bool is_in_days =
      std::regex_match(text, found, days) && number(2) < 24 && number(3) < 60 && number(4) < 60;
  if (is_in_days || (!text.empty() && std::regex_match(text, found, units)))
    return bounded(std::chrono::hours(24 * number(1) + number(2)) +
                   std::chrono::minutes(number(3)) + std::chrono::seconds(number(4)));
  throw UsageError("'" + text +
                   "': invalid duration; examples: 5400 (seconds), 90m, 1h30m, 1:30:00, 90:00 "
                   "(minutes), 1-12:00:00 (days-hours)");
}

}  // namespace wallheat
