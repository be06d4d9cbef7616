#pragma once

#include <chrono>
#include <string>

namespace wallheat {

/// Parses a duration: seconds ("5400"), units ("1h30m", "90m", "2d", "45s"), or a clock as Slurm
/// reads it ("1:30:00", "90:00", and with days "1-12", "1-12:00", "1-12:00:00").
/// Throws UsageError.
[[nodiscard]] std::chrono::seconds parse_duration(const std::string& text);

}  // namespace wallheat
