#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/input_file.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// The files of a plan. Not every plan has a source.
enum class PlanFile { domain, interior, source };
inline constexpr std::array all_plan_files{PlanFile::domain, PlanFile::interior, PlanFile::source};

/// Where the list of a zip archive has the entries of a plan's files, in bytes.
using EntryOffsets = std::array<std::uint32_t, all_plan_files.size()>;
inline constexpr std::uint32_t no_entry = UINT32_MAX;  ///< of a file that the plan lacks

/// "_domain.npy"
[[nodiscard]] std::string_view plan_file_suffix(PlanFile file);
/// "7_domain.npy" of plan 7. Throws InputError if the id could lead out of a directory.
[[nodiscard]] std::string plan_file_name(const std::string& id, PlanFile file);
/// The other way round: which file of which plan has this name; nothing if it is no plan's.
[[nodiscard]] std::optional<std::pair<PlanFile, std::string_view>> parse_plan_file_name(
    std::string_view name);

/// Returns true if a list of plans leaves out the file of this name: a part of the name between
/// slashes begins with a dot, or is __MACOSX. macOS stores attributes of 7_domain.npy as
/// ._7_domain.npy, in archives as __MACOSX/._7_domain.npy.
[[nodiscard]] bool is_hidden(std::string_view name);

/// Where a plan's file stands in a directory. Throws InputError as plan_file_name.
[[nodiscard]] std::filesystem::path plan_file(const std::filesystem::path& directory,
                                              const std::string& id, PlanFile file);
/// False only if nothing of that name is there: what cannot be examined is to be read, which says
/// why it cannot.
[[nodiscard]] bool has_heat_source_file(const std::filesystem::path& directory,
                                        const std::string& id);
/// The shape that the header of {id}_domain.npy gives; reads only the header. Throws InputError.
[[nodiscard]] GridShape floor_plan_shape(const std::filesystem::path& directory,
                                         const std::string& id);

/// The files of a plan, and what they hold.
[[nodiscard]] std::vector<std::pair<PlanFile, std::string>> encode_plan_files(
    const FloorPlan& plan);
/// Makes a plan of its files, as `read` gives them. Throws as load_floor_plan does.
[[nodiscard]] FloorPlan read_floor_plan(const std::function<NamedBytes(PlanFile)>& read,
                                        bool has_source);

}  // namespace wallheat
