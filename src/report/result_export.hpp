#pragma once

#include <ostream>
#include <string_view>

#include "report/row_table.hpp"

namespace wallheat {

/// A form in which results leave for other programs.
struct ExportFormat {
  void (*write)(std::ostream&, const Rows&) = nullptr;
  std::string_view beginning;  ///< of any file of the format
};

/// The published program's CSV, byte for byte; plans without an answer are left out.
extern const ExportFormat csv_format;
/// All plans with all columns, as write_csv writes them.
extern const ExportFormat plain_csv_format;
/// All plans with all columns, as one JSON array; null stands for NaN.
extern const ExportFormat json_format;

}  // namespace wallheat
