#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "wallheat/grid.hpp"

namespace wallheat {

/// Where a field lies in a result file, for programs that read it there.
struct FieldPlace {
  std::size_t row = 0;  ///< of the plan, from 0
  std::string id;
  GridShape shape;
  std::string dataset;      ///< of `entries` fields of this shape
  std::uint64_t entry = 0;  ///< this one, from 0
  std::uint64_t entries = 0;
};

/// All fields of a closed result file, in the order of the ids. Throws RunError, also where the
/// last writer did not close the file: then other programs cannot trust what they read there.
[[nodiscard]] std::vector<FieldPlace> field_places(const std::filesystem::path& file);

}  // namespace wallheat
