#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string_view>

namespace wallheat {

/// Throws RunError if there is a file that a command may not replace: one that is not empty,
/// without --overwrite; and with it, one that does not begin with `magic`.
void require_replaceable(const std::filesystem::path& file, bool overwrite, std::string_view magic);

/// Puts a file in its place, whole or not at all; into a pipe or a device it writes. Throws
/// RunError.
void write_output(const std::filesystem::path& file, std::string_view bytes);
/// The same of what `write` puts out, which need not be in memory as a whole.
void write_output(const std::filesystem::path& file,
                  const std::function<void(std::ostream& out)>& write);

}  // namespace wallheat
