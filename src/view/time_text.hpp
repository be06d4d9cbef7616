#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wallheat {

/// Now in UTC as ISO 8601 with milliseconds: 2030-01-02T03:04:05.678Z.
[[nodiscard]] std::string utc_now();

/// The same in seconds since 1970; nothing if the text is no such time.
[[nodiscard]] std::optional<double> parse_utc(const std::string& text);

/// Time for people: "70 ms", "0.4 s", "3 min 20 s"; "?" for NaN, "unknown" for infinity.
[[nodiscard]] std::string duration_text(double seconds);

/// The unit in which it is told how fast plans are solved.
enum class RateUnit { plans_per_s, plans_per_min, time_per_plan };
/// The one that leaves a number to read.
[[nodiscard]] RateUnit rate_unit(double plans_per_s);
/// "12.3 plans/s", "4.50 plans/min", "2 min 10 s a plan"; "no plan yet" if there was none.
[[nodiscard]] std::string rate_text(double plans_per_s, RateUnit unit);
[[nodiscard]] inline std::string rate_text(double plans_per_s) {
  return rate_text(plans_per_s, rate_unit(plans_per_s));
}

/// Seconds for tables: five digits at least, never with an exponent; "-" for NaN.
[[nodiscard]] std::string seconds_text(double seconds);

/// An amount of memory or of storage for people, in powers of 1000: "512 B", "23.4 MB".
[[nodiscard]] std::string bytes_text(double bytes);

/// The same of a peak of memory, of which 0 is unknown: "?".
[[nodiscard]] std::string peak_memory_text(std::int64_t bytes);

}  // namespace wallheat
