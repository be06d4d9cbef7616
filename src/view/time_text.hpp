#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wallheat {

/// Returns the current time in UTC as ISO 8601 with milliseconds: 2030-01-02T03:04:05.678Z.
[[nodiscard]] std::string utc_now();

/// Parses a time in the format of utc_now(). Returns seconds since 1970; nullopt if the text is not
/// such a time.
[[nodiscard]] std::optional<double> parse_utc(const std::string& text);

/// Formats a duration for text output: "70 ms", "0.4 s", "3 min 20 s"; "?" for NaN, "unknown" for
/// infinity.
[[nodiscard]] std::string duration_text(double seconds);

/// Unit of a throughput in plans.
enum class RateUnit { plans_per_s, plans_per_min, time_per_plan };
/// Returns the first unit, in the order of RateUnit, in which the number is at least 1; otherwise
/// time_per_plan.
[[nodiscard]] RateUnit rate_unit(double plans_per_s);
/// Formats a throughput: "12.3 plans/s", "4.50 plans/min", "2 min 10 s per plan"; "no plan yet" if
/// it is 0 or NaN.
[[nodiscard]] std::string rate_text(double plans_per_s, RateUnit unit);
[[nodiscard]] inline std::string rate_text(double plans_per_s) {
  return rate_text(plans_per_s, rate_unit(plans_per_s));
}

/// Formats seconds for tables: with at least five significant digits but at most nine decimals, and
/// never with an exponent. NaN and infinity are "-".
[[nodiscard]] std::string seconds_text(double seconds);

/// Formats a number of bytes for text output, in powers of 1000: "512 B", "23.4 MB".
[[nodiscard]] std::string bytes_text(double bytes);

/// Formats the maximum memory of a process; "?" for 0, which means unknown.
[[nodiscard]] std::string peak_memory_text(std::int64_t bytes);

}  // namespace wallheat
