#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "wallheat/grid.hpp"

namespace wallheat {

/// One building's floor plan: the boundary value problem that a solver gets.
struct FloorPlan {
  Grid<double> domain;  ///< start field in °C; cells that are not interior keep it for ever
  Grid<std::uint8_t> interior;  ///< 1 where the cell is room and is updated, else 0; same shape
};

/// Size and time stamp of an input file: tells, without reading it, whether it may have changed.
struct FileStamp {
  std::int64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;  ///< nanoseconds since the epoch
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// The stamps of {id}_domain.npy and {id}_interior.npy.
using PlanStamps = std::array<FileStamp, 2>;

/// Reads {id}_domain.npy (float64, float32 or whole numbers) and {id}_interior.npy (bool, uint8, or
/// any numbers that are 0 or 1) from a directory. Throws InputError if either is missing or
/// malformed, their shapes differ, a grid has no cells, or a value is NaN, infinite or beyond
/// 1e300.
[[nodiscard]] FloorPlan load_floor_plan(const std::filesystem::path& directory,
                                        const std::string& id);

/// Reads {id}_interior.npy alone, as load_floor_plan does. Throws InputError.
[[nodiscard]] Grid<std::uint8_t> load_interior(const std::filesystem::path& directory,
                                               const std::string& id);

/// Writes a plan as load_floor_plan reads it, float64 and bool in C order. Throws RunError.
void save_floor_plan(const std::filesystem::path& directory, const std::string& id,
                     const FloorPlan& plan);

/// The stamps of a plan's two files. Throws InputError if one is missing.
[[nodiscard]] PlanStamps floor_plan_stamps(const std::filesystem::path& directory,
                                           const std::string& id);

/// The shape that the header of {id}_domain.npy gives; reads only the header. Throws InputError.
[[nodiscard]] GridShape floor_plan_shape(const std::filesystem::path& directory,
                                         const std::string& id);

/// The largest value, either way, that a start field may have: four neighbours of this size still
/// have a finite sum, so no iteration can make an infinity.
inline constexpr double largest_value = 1e300;

/// Throws InputError "<where>: the value in row r, column c is ..." where one is NaN, infinite or
/// beyond largest_value.
void check_values(const Grid<double>& domain, const std::string& where);

/// Number of interior cells.
[[nodiscard]] std::int64_t count_interior(const FloorPlan& plan);

}  // namespace wallheat
