#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "queue/shard.hpp"

namespace wallheat {

/// From now on SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGXCPU request a stop instead of
/// killing the process; a second SIGINT kills it, which loses no stored result. SIGHUP, SIGINT and
/// SIGTERM stay ignored if the process was started with them ignored, as SIGHUP by `nohup`.
void install_stop_signal_handlers();

/// True once a stop was asked for.
[[nodiscard]] bool stop_requested();

/// The position of this process's task among those of its Slurm or LSF job array; nothing outside
/// of one. Throws UsageError if the scheduler's variables do not tell it.
[[nodiscard]] std::optional<Shard> shard_from_job_array();

/// Parses a duration: seconds ("5400"), units ("1h30m", "90m", "2d", "45s"), or a clock as Slurm
/// reads it ("1:30:00", "90:00", and with days "1-12", "1-12:00", "1-12:00:00").
/// Throws UsageError.
[[nodiscard]] std::chrono::seconds parse_duration(const std::string& text);

/// When Slurm or LSF will end this job; nothing outside of a job, or if the job has no limit. Asks
/// the scheduler if its variables do not tell: call it once.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> job_deadline();

}  // namespace wallheat
