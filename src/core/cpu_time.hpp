#pragma once

namespace wallheat {

/// Seconds in which the calling thread has had a core so far; a difference of two tells how much of
/// a stretch of wall time was work of this thread.
[[nodiscard]] double thread_cpu_seconds();

}  // namespace wallheat
