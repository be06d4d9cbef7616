#pragma once

#include <filesystem>

#include "run/run_options.hpp"

namespace wallheat {

/// This rank's part of a run, or all of it where there is one process: rank 0 hands out plans and
/// stores results, the others solve. Returns an ExitStatus, or does not return where other ranks
/// are lost and MPI could only be left by force. Throws RunError.
int run(const RunOptions& options);

/// True where a file is missing, is no regular one, or holds no more than a run writes there.
[[nodiscard]] bool may_hold_exit_status(const std::filesystem::path& path);

/// Tells a wrapper how the run ended, as mpirun may tell something else; an empty path: nobody.
/// What cannot be written is said on stderr.
void write_exit_status(const std::filesystem::path& path, int status);

}  // namespace wallheat
