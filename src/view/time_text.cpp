#include "view/time_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "core/text.hpp"

namespace wallheat {

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return fmt::format(
      "{}.{:03}Z", format_utc(static_cast<std::time_t>(ms / 1000), "%Y-%m-%dT%H:%M:%S"), ms % 1000);
}

std::optional<double> parse_utc(const std::string& text) {
  std::tm whole{};
  const char* fraction = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &whole);
  if (fraction == nullptr) return std::nullopt;
  return static_cast<double>(::timegm(&whole)) + std::strtod(fraction, nullptr);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  constexpr double digits = 5;
  constexpr double max_decimals = 9;
  const double before_point = seconds > 0 ? std::floor(std::log10(seconds)) + 1 : 1;
  return fmt::format("{:.{}f}", seconds,
                     static_cast<int>(std::clamp(digits - before_point, 0.0, max_decimals)));
}

RateUnit rate_unit(double plans_per_s) {
  if (plans_per_s >= 1) return RateUnit::plans_per_s;
  return plans_per_s * 60 >= 1 ? RateUnit::plans_per_min : RateUnit::time_per_plan;
}

std::string rate_text(double plans_per_s, RateUnit unit) {
  if (!(plans_per_s > 0)) return "no plan yet";
  if (unit == RateUnit::time_per_plan) return duration_text(1 / plans_per_s) + " per plan";
  const double rate = unit == RateUnit::plans_per_s ? plans_per_s : plans_per_s * 60;
  constexpr double max_decimals = 6;
  const double decimals = std::clamp(2 - std::floor(std::log10(rate)), 1.0, max_decimals);
  return fmt::format("{:.{}f} plans/{}", rate, static_cast<int>(decimals),
                     unit == RateUnit::plans_per_s ? "s" : "min");
}

std::string duration_text(double seconds) {
  if (std::isinf(seconds)) return "unknown";
  if (std::isnan(seconds)) return "?";
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string bytes_text(double bytes) {
  for (const char* unit : {"B", "kB", "MB", "GB"}) {
    constexpr double min_of_next_unit = 999.5;  // rounds to 1000, which {:.3g} prints as 1e+03
    if (bytes < min_of_next_unit) return fmt::format("{:.3g} {}", bytes, unit);
    bytes /= 1000;
  }
  return bytes < 1000 ? fmt::format("{:.4g} TB", bytes) : fmt::format("{:.0f} TB", bytes);
}

std::string peak_memory_text(std::int64_t bytes) {
  return bytes > 0 ? bytes_text(static_cast<double>(bytes)) : "?";
}

}  // namespace wallheat
