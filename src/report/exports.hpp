#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/event_log.hpp"
#include "store/field_codec.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Writes each plan as an event of Chrome's trace format, for Perfetto and chrome://tracing. A
/// process of the trace is a rank of a session, and a thread is a slot. The solve of a plan in
/// `on_gpus` is divided into the work of the host and of the GPU, one after the other, because
/// their order within the solve is unknown. `on_gpus` is as returned by read_gpu_times() for the
/// sessions of the file; empty: unknown.
void write_trace(const ResultReader& reader, const std::vector<GpuTimesOfPlans>& on_gpus,
                 std::ostream& out);

// Fields for ParaView. x is the column and y the row of a cell, which is 1 wide. The data
// `temperature` (°C) belong to cells.

/// Returns an XDMF file (version 2, as read by ParaView's "XDMF Reader") that displays fields of a
/// result file without copying them: a time series with one plan per step. The time is the row
/// index of the plan, and the name of the grid is its ID. The plans of each shape are a separate
/// series, because ParaView takes the shape of a series from its first step. `results` is the path
/// of the result file relative to the directory of the XDMF file. Throws RunError if XDMF cannot
/// refer to a file of that name.
[[nodiscard]] std::string make_xdmf(const std::vector<FieldLocation>& fields,
                                    const std::filesystem::path& results);
/// The first bytes of every file of make_xdmf().
extern const std::string_view xdmf_magic;

}  // namespace wallheat
