#pragma once

namespace wallheat {

/// Makes SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGXCPU request a stop instead of killing
/// the process. A second SIGINT kills the process, which loses no stored result. SIGHUP, SIGINT and
/// SIGTERM stay ignored if the process was started with them ignored, as `nohup` does with SIGHUP.
void install_stop_signal_handlers();

/// Returns true after one of these signals has arrived. Thread-safe.
[[nodiscard]] bool stop_requested();

}  // namespace wallheat
