#pragma once

#include <string>

#include "report/report.hpp"
#include "report/row_table.hpp"
#include "report/thresholds.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// What the page of a summary is of.
struct SummaryPage {
  std::string file;
  const ResultReader& reader;
  const Rows& rows;
  Thresholds thresholds;     ///< of the rows
  bool are_all_rows = true;  ///< else the sessions' times are of more than these
};

/// The answers of a summary, its figures, the coldest and warmest plans, where the time went, and
/// all plans.
[[nodiscard]] Report page_of(const Report& summary, const SummaryPage& of);

}  // namespace wallheat
