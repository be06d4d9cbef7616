#pragma once

namespace wallheat {

/// From now on SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU and, unless `nohup` has it ignored,
/// SIGHUP ask for a stop instead of killing; a second SIGINT kills (nothing stored is lost by
/// that).
void catch_stop_signals();

/// True once a stop was asked for.
[[nodiscard]] bool stop_requested();

}  // namespace wallheat
