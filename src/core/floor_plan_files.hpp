#pragma once

#include <filesystem>
#include <string>

namespace wallheat {

/// Where a plan of a directory stands. Throw InputError if the id could name another place.
[[nodiscard]] std::filesystem::path domain_file(const std::filesystem::path& directory,
                                                const std::string& id);
[[nodiscard]] std::filesystem::path interior_file(const std::filesystem::path& directory,
                                                  const std::string& id);

}  // namespace wallheat
