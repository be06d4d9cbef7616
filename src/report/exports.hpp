#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "store/field_codec.hpp"
#include "view/event_log.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Writes each plan as an event of Chrome's trace format, for Perfetto and chrome://tracing: a
/// process a rank of a session, a thread a solver thread. The solve of a plan in `on_gpus` is
/// divided into what host and GPU did, one after the other: when within the solve is not known.
void write_trace(const ResultReader& reader, const GpuTimesOfPlans& on_gpus, std::ostream& out);

// Fields for ParaView. x is the column and y the row; a cell is 1 wide. The data `temperature` (°C)
// belongs to cells.

/// An XDMF file (version 2, as ParaView's "XDMF Reader" takes it) that shows fields of a result
/// file without a copy of them: a series over time, a plan at each step. The time is the plan's
/// row, the grid's name its id. Plans of each shape are a series of their own, as ParaView takes
/// the shape of a series from its first step. `results` is the name of the result file, as seen
/// from where the XDMF file will lie. Throws RunError if XDMF cannot name that file.
[[nodiscard]] std::string make_xdmf(const std::vector<FieldLocation>& fields,
                                    const std::filesystem::path& results);
/// How every file begins that make_xdmf makes.
extern const std::string_view xdmf_magic;

}  // namespace wallheat
