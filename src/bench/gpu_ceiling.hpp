#pragma once

#include <memory>

#include "wallheat/solver.hpp"

namespace wallheat {

/// What a GPU could do at best, measured now by kernels that do nothing else.
struct GpuCeiling {
  /// Additions in double precision per second: independent chains in every thread that fits.
  double fp64_additions_per_s = 0;
  /// Bytes of shared memory per second, read plus written, 8 bytes at a time, without bank
  /// conflicts.
  double shared_bytes_per_s = 0;

  /// Cell updates per second if only arithmetic counted: an update is three additions and a
  /// multiplication, each of which takes the place of an addition.
  [[nodiscard]] double updates_by_fp64() const { return fp64_additions_per_s / 4; }
  /// The same if each update read its cell from shared memory and wrote it there, 8 bytes each
  /// way. A solver that keeps cells in registers and passes on only edges can be above it.
  [[nodiscard]] double updates_by_shared_memory() const { return shared_bytes_per_s / 16; }
};

/// Bytes a second between host and GPU, 64 MiB at a time; pinned: memory that the GPU reaches;
/// mapped: that memory, read and written by a kernel in place of a copy.
struct GpuCopies {
  double up_pageable = 0;
  double up_pinned = 0;
  double down_pageable = 0;
  double down_pinned = 0;
  double up_mapped = 0;
  double down_mapped = 0;
};

/// Each figure is the best of several tries. Throws as measure_gpu_ceiling.
[[nodiscard]] GpuCopies measure_gpu_copies(int ordinal);

/// Measures for about a second; each figure is the best of several tries. Throws DeviceFault if
/// the device fails, RunError in a build without CUDA.
[[nodiscard]] GpuCeiling measure_gpu_ceiling(int ordinal);

/// What a plain host-driven program does, to compare with: both fields in device memory, one thread
/// a cell, one kernel launch per iteration, the largest change by an atomic maximum that is copied
/// to the host and looked at after each iteration. Bit-identical to the reference. Throws as
/// measure_gpu_ceiling; its solve() also throws InputError for a plan too large for the device.
[[nodiscard]] std::unique_ptr<Solver> make_gpu_baseline_solver(int ordinal);

}  // namespace wallheat
