#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "report/report.hpp"

// How a plan was made from a picture: 'wallheat generate --from' stores this next to the plan, and
// 'wallheat solve --page' shows it.

namespace wallheat {

struct DrawingRecord {
  std::optional<double> cell_metres;  ///< width of a cell in m
  Report report;                      ///< the output of 'wallheat generate' about the picture
};

/// Returns the content of the file for a record. Adds to `report`, whose elements must have keys of
/// their own, the cell width and the hash of the plan.
[[nodiscard]] std::string encode_drawing_record(DrawingRecord record, std::uint64_t plan_hash);

/// Returns the record of a plan in a directory or archive of plans; nullopt if it has none. Throws
/// RunError, with a message that contains the file, if the file is not a record, or if it describes
/// another plan, because the plan was changed since.
[[nodiscard]] std::optional<DrawingRecord> read_drawing_record(const std::filesystem::path& plans,
                                                               const std::string& id);

}  // namespace wallheat
