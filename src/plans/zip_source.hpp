#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "plans/plan_source.hpp"

namespace wallheat {

/// The files of a directory of plans in a zip archive: as `zip -r` makes it of the directory, or
/// numpy.savez_compressed of arrays with these names. Throws RunError if the archive is damaged as
/// a whole, or holds the plans of two directories or none.
[[nodiscard]] SharedPlanSource zip_source(const std::filesystem::path& archive,
                                          Listing listing = Listing::now);

/// What the file of that name beside the plans of an archive holds; nothing if there is none.
/// Throws RunError.
[[nodiscard]] std::optional<std::string> text_beside_plans(const std::filesystem::path& archive,
                                                           const std::string& name);

}  // namespace wallheat
