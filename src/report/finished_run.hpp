#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "report/scaling.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// How many plans a session solved at once: threads of its CPU workers, and one for each GPU.
/// Nothing where it did not end by itself, or solved nothing.
[[nodiscard]] std::optional<std::size_t> workers_of(const Attributes& session);
/// The same of all sessions; nothing where they differ.
[[nodiscard]] std::optional<std::size_t> workers_of(const ResultReader& reader);

/// The workers and the wall time of a finished run, of which a resume may be part. Throws RunError,
/// which names the file, where these are unknown or two: plans are left, a session was killed or
/// had other workers, parts were merged.
[[nodiscard]] ScalingPoint finished_run(const std::string& file, const ResultReader& reader);

/// Throws RunError, which names both files, unless they hold the same plans, solved alike.
void require_same_plans(const std::string& first_file, const ResultReader& first,
                        const std::string& file, const ResultReader& reader);

}  // namespace wallheat
