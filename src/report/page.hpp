#pragma once

#include <ostream>
#include <string>

#include "view/event_log.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Writes one self-contained HTML page on a result file: it needs no network, and prints; without
/// JavaScript, figures cannot be saved and only the first plans are listed. Throws RunError as
/// Plot::draw.
void write_report_page(const std::string& file, const ResultReader& reader, std::ostream& out);

/// Writes each plan as an event of Chrome's trace format, for Perfetto and chrome://tracing: a
/// process a rank of a session, a thread a solver thread. The solve of a plan in `on_gpus` is
/// divided into what host and GPU did, one after the other: when within the solve is not known.
void write_trace(const ResultReader& reader, const PlanDeviceTimes& on_gpus, std::ostream& out);

}  // namespace wallheat
