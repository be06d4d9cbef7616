#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/result_columns.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// Returns the error message if a field of this shape cannot be stored; an empty string if it can.
/// A field is stored as one HDF5 chunk, whose size is limited to 32 bits.
[[nodiscard]] std::string field_size_error(GridShape shape);

/// Compresses a temperature field as one HDF5 chunk of float64 with the shuffle and deflate
/// filters. The workers do this, so that rank 0 can write the bytes unchanged.
[[nodiscard]] std::vector<std::byte> compress_field(const Grid<double>& field);

/// Compresses a field into a result, and sets the size and checksum of the field.
void attach_field(PlanResult& result, const Grid<double>& field);

/// Decompresses a field. Throws RunError if the bytes are damaged, or do not match the shape.
[[nodiscard]] Grid<double> decompress_field(std::span<const std::byte> chunk, GridShape shape);

/// Compares two results and their fields. A field that cannot be decompressed differs from all
/// fields.
[[nodiscard]] std::vector<Difference> differences_with_fields(const PlanResult& first,
                                                              const PlanResult& second);

/// Location of a field in a result file, for programs that read it with HDF5.
struct FieldLocation {
  std::size_t row = 0;  ///< row index of the plan
  std::string id;
  GridShape shape;
  std::string dataset;  ///< name of the dataset, which contains this field only
};

/// Returns the locations of all fields of a result file, in the order of the rows. Throws RunError
/// if the file is not compacted, or cannot be read.
[[nodiscard]] std::vector<FieldLocation> stored_fields(const std::filesystem::path& file);

}  // namespace wallheat
