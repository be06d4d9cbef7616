#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "wallheat/grid.hpp"

namespace wallheat {

/// Where a field is in a result file, for programs that read it there.
struct StoredField {
  std::size_t row = 0;  ///< of the plan, from 0
  std::string id;
  GridShape shape;
  std::string dataset;  ///< of this field alone
};

/// All fields of a result file, in the order of the ids. Throws RunError, also if there are results
/// that are not in the file yet.
[[nodiscard]] std::vector<StoredField> stored_fields(const std::filesystem::path& file);

}  // namespace wallheat
