#pragma once

#include <filesystem>
#include <string>

namespace wallheat {

/// Where a plan of a directory stands. Throw InputError if the id could name another place.
[[nodiscard]] std::filesystem::path domain_file(const std::filesystem::path& directory,
                                                const std::string& id);
[[nodiscard]] std::filesystem::path interior_file(const std::filesystem::path& directory,
                                                  const std::string& id);
[[nodiscard]] std::filesystem::path source_file(const std::filesystem::path& directory,
                                                const std::string& id);

/// False only where nothing of that name is there: what cannot be examined is to be read, which
/// says why it cannot.
[[nodiscard]] bool has_source_file(const std::filesystem::path& directory, const std::string& id);

}  // namespace wallheat
