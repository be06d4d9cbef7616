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

/// Writes one self-contained HTML page on a result file: it needs no network, and prints; without
/// JavaScript, figures cannot be saved and only the first plans are listed. With `other` (may be
/// null), also what differs from it. Throws RunError as Plot::draw, and where `other` is damaged,
/// as answers_of.
void write_report_page(const ReportedRun& run, const ReportedRun* other, std::ostream& out);

/// Its data as one JSON object.
[[nodiscard]] std::string report_json(const ReportedRun& run, const ReportedRun* other = nullptr);

/// Writes each plan as an event of Chrome's trace format, for Perfetto and chrome://tracing: a
/// process a rank of a session, a thread a solver thread.
void write_trace(const ResultReader& reader, std::ostream& out);

}  // namespace wallheat
