#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/result_columns.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// Why a file cannot keep a field of this shape, and what to do; empty if it can. The field is
/// one chunk, whose bytes HDF5 counts in 32 bits.
[[nodiscard]] std::string field_size_error(GridShape shape);

/// Compresses a temperature field as one HDF5 chunk of float64 with the shuffle and deflate
/// filters, so that the writer can pass the bytes on unchanged. Done by workers.
[[nodiscard]] std::vector<std::byte> compress_field(const Grid<double>& field);

/// Gives a result its compressed field, and what tells of it.
void attach_field(PlanResult& result, const Grid<double>& field);

/// The inverse. Throws RunError if the bytes are damaged or do not give the shape.
[[nodiscard]] Grid<double> decompress_field(std::span<const std::byte> chunk, GridShape shape);

/// Compares two answers and the fields that they hold compressed. A field that cannot be unpacked
/// differs from any.
[[nodiscard]] std::vector<Difference> differences_with_fields(const PlanResult& first,
                                                              const PlanResult& second);

/// Where a field is in a result file, for programs that read it there.
struct FieldLocation {
  std::size_t row = 0;  ///< of the plan, from 0
  std::string id;
  GridShape shape;
  std::string dataset;  ///< of this field alone
};

/// All fields of a result file, in the order of the ids. Throws RunError, also if there are results
/// that are not in the file yet.
[[nodiscard]] std::vector<FieldLocation> stored_fields(const std::filesystem::path& file);

}  // namespace wallheat
