#pragma once

#include <ostream>

#include "view/event_log.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Writes each plan as an event of Chrome's trace format, for Perfetto and chrome://tracing: a
/// process a rank of a session, a thread a solver thread. The solve of a plan in `on_gpus` is
/// divided into what host and GPU did, one after the other: when within the solve is not known.
void write_trace(const ResultReader& reader, const PlanDeviceTimes& on_gpus, std::ostream& out);

}  // namespace wallheat
