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

// Names and contents of the files of a plan: ID_domain.npy, ID_interior.npy and, if the plan has a
// heat source, ID_source.npy.

namespace wallheat {

/// Files of a plan. The heat source is optional.
enum class PlanFile { domain, interior, source };
inline constexpr std::array all_plan_files{PlanFile::domain, PlanFile::interior, PlanFile::source};

/// Offsets, in bytes, of the entries of a plan's files in the central directory of a zip archive.
using EntryOffsets = std::array<std::uint32_t, all_plan_files.size()>;
/// Offset for a file that the plan does not have.
inline constexpr std::uint32_t no_entry = UINT32_MAX;

/// Returns the end of a file name, such as "_domain.npy".
[[nodiscard]] std::string_view plan_file_suffix(PlanFile file);
/// Returns the file name, such as "7_domain.npy" for plan 7. Throws InputError if the ID is
/// invalid, because its path could be outside of the directory.
[[nodiscard]] std::string plan_file_name(const std::string& id, PlanFile file);
/// Parses the name of a plan file. Returns the file and the ID of the plan; nullopt if it is not
/// the name of a plan file.
[[nodiscard]] std::optional<std::pair<PlanFile, std::string_view>> parse_plan_file_name(
    std::string_view name);

/// Returns true if lists of plans must skip the file of this name: a component of the path begins
/// with a dot, or is __MACOSX. macOS stores attributes of 7_domain.npy as ._7_domain.npy, in
/// archives as __MACOSX/._7_domain.npy.
[[nodiscard]] bool is_hidden(std::string_view name);

/// Returns the path of a plan's file in a directory. Throws InputError as plan_file_name() does.
[[nodiscard]] std::filesystem::path plan_file(const std::filesystem::path& directory,
                                              const std::string& id, PlanFile file);
/// Returns false only if no file of this name exists. Returns true if this cannot be determined,
/// because the attempt to read the file then throws an error that states the cause.
[[nodiscard]] bool has_heat_source_file(const std::filesystem::path& directory,
                                        const std::string& id);
/// Returns the shape in the header of {id}_domain.npy. Reads only the header. Throws InputError.
[[nodiscard]] GridShape floor_plan_shape(const std::filesystem::path& directory,
                                         const std::string& id);

/// Returns the files of a plan with their contents.
[[nodiscard]] std::vector<std::pair<PlanFile, std::string>> encode_plan_files(
    const FloorPlan& plan);
/// Reads an array of numbers of a plan, and returns it after the name of its file.
using NumbersReader = std::function<std::pair<std::string, Grid<double>>(PlanFile)>;
/// Builds a plan from its arrays of numbers and the bytes of its mask. Throws as load_floor_plan()
/// does.
[[nodiscard]] FloorPlan read_floor_plan(const NumbersReader& read_numbers,
                                        const std::function<NamedBytes()>& read_mask,
                                        bool has_source);

}  // namespace wallheat
