#pragma once

#include <ostream>
#include <string>

#include "report/compare.hpp"
#include "view/event_log.hpp"

namespace wallheat {

/// Writes one self-contained HTML page on a result file, which is no CSV: it needs no network, and
/// prints; without JavaScript, figures cannot be saved and only the first plans are listed. With
/// `other` (may be null), also what differs from it. Throws RunError as Plot::draw, and where
/// `other` is damaged, as compare.
void write_report_page(const Answers& run, const Answers* other, std::ostream& out);

/// Writes each plan as an event of Chrome's trace format, for Perfetto and chrome://tracing: a
/// process a rank of a session, a thread a solver thread. The solve of a plan in `on_gpus` is
/// divided into what host and GPU did, one after the other: when within the solve is not known.
void write_trace(const ResultReader& reader, const PlanDeviceTimes& on_gpus, std::ostream& out);

}  // namespace wallheat
