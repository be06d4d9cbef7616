#pragma once

#include <cstdint>

namespace wallheat {

/// The most physical memory that this process has held at once, in bytes: the peak of its resident
/// set, VmHWM in proc(5). Pages that it shares with others count, those on a GPU do not. 0 if
/// the system does not tell.
[[nodiscard]] std::int64_t peak_memory();

/// What was held before counts no longer. Returns false if the system does not allow it.
[[nodiscard]] bool restart_peak_memory();

}  // namespace wallheat
