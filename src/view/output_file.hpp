#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string_view>

namespace wallheat {

/// Throws RunError if a command may not write this file: a directory, a file whose directory does
/// not exist, a file that is not empty without --overwrite, or, with it, a file that does not begin
/// with `magic`. Pipes and devices are always allowed.
void require_replaceable(const std::filesystem::path& file, bool overwrite, std::string_view magic);

/// Replaces a file atomically, and syncs it. Writes directly to a pipe or a device. Throws
/// RunError.
void write_output(const std::filesystem::path& file, std::string_view bytes);
/// Writes the output of `write` in the same way. The output need not fit into memory.
void write_output(const std::filesystem::path& file,
                  const std::function<void(std::ostream& out)>& write);

}  // namespace wallheat
