#pragma once

#include <filesystem>
#include <string>

#include "wallheat/result_reader.hpp"

namespace wallheat {

/// One self-contained HTML page on a result file: needs no network and no JavaScript, and prints.
/// Throws RunError as Plot::draw.
[[nodiscard]] std::string report_page(const std::filesystem::path& file,
                                      const ResultReader& reader);

/// Its data as one JSON object.
[[nodiscard]] std::string report_json(const std::filesystem::path& file,
                                      const ResultReader& reader);

/// Each plan as an event of Chrome's trace format, for Perfetto and chrome://tracing: a process a
/// rank of a session, a thread a solver thread.
[[nodiscard]] std::string trace_json(const ResultReader& reader);

}  // namespace wallheat
