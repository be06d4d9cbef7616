#pragma once

#include <filesystem>
#include <ostream>
#include <string>

#include "wallheat/result_reader.hpp"

namespace wallheat {

/// A result file; `reader` must live as long.
struct ReportedRun {
  std::filesystem::path file;
  const ResultReader& reader;
};

/// One self-contained HTML page on a result file: needs no network and no JavaScript, and prints.
/// With `other`, also what differs from it. Throws RunError as Plot::draw, and where `other` is
/// damaged, as answers_of.
[[nodiscard]] std::string report_page(const ReportedRun& run, const ReportedRun* other = nullptr);

/// Its data as one JSON object.
[[nodiscard]] std::string report_json(const ReportedRun& run, const ReportedRun* other = nullptr);

/// Writes each plan as an event of Chrome's trace format, for Perfetto and chrome://tracing: a
/// process a rank of a session, a thread a solver thread.
void write_trace(const ResultReader& reader, std::ostream& out);

}  // namespace wallheat
