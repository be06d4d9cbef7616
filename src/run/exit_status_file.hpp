#pragma once

#include <filesystem>

namespace wallheat {

/// True where a file is missing, is no regular one, or holds no more than a run writes there.
[[nodiscard]] bool may_hold_exit_status(const std::filesystem::path& path);

/// Tells a wrapper how the run ended, as mpirun may tell something else; an empty path: nobody.
/// What cannot be written is said on stderr.
void write_exit_status(const std::filesystem::path& path, int status);

}  // namespace wallheat
