#pragma once

#include <functional>
#include <string>

namespace wallheat::gpu {

/// A launch is bounded to some tens of milliseconds, seconds where slow GPUs have many plans at
/// once, so a device that says nothing for this long hangs, and no plan is to blame.
constexpr double longest_silence_s = 30;

/// Asks `is_done` until it says so. Between two questions the thread sleeps: an eighth of the time
/// so far, from 50 µs on, at most 1 ms, so that a wait takes little longer than the work, and some
/// thirty streams that wait at a time ask few questions. `sleep` gets seconds. Time in which the
/// process was stopped does not count as silence. Throws DeviceSilent after longest_silence_s;
/// `doing` is what the device was at.
void await_work(const std::function<bool()>& is_done, const std::function<void(double)>& sleep,
                const std::string& doing);

}  // namespace wallheat::gpu
