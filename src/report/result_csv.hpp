#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plans/plan_source.hpp"
#include "report/report.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// The numbers that the reference program prints of a plan.
struct PrintedColumn {
  const char* name;
  double Statistics::*of;
};
inline constexpr std::array<PrintedColumn, 4> printed_columns{
    {{"mean_temp", &Statistics::mean_temp},
     {"std_temp", &Statistics::std_temp},
     {"pct_above_18", &Statistics::pct_above},
     {"pct_below_15", &Statistics::pct_below}}};

/// What a CSV says of a plan.
struct CsvResult {
  struct Number {
    double value = 0;
    double rounding_error = 0;  ///< of its last digit: how far rounding may have moved it
  };
  std::string id;
  std::array<std::optional<Number>, printed_columns.size()> numbers = {};
};

/// True if a file begins as the reference program's CSV does, or as pandas writes the same columns.
[[nodiscard]] bool is_reference_csv(const std::filesystem::path& file);
/// Reads a CSV with the column building_id, or id, and some of the printed ones, in any order. More
/// commas than in the first line are the id's. Throws RunError, which names file and line: a line
/// with too few values, what is no number, an id twice.
[[nodiscard]] std::vector<CsvResult> read_result_csv(const std::string& file);

/// Says what iterates the answers in a CSV are, of the plans of a source, and so what the program
/// does that printed them. The CSV has the column building_id, or id, and some of the reference's
/// four, in any order, with any number of digits. Solves plans on all cores, and tells on stderr
/// how many are done. Throws RunError, which names the file, and the line that is wrong.
[[nodiscard]] Report identify_iterates(const std::string& file, const PlanSource& source);

}  // namespace wallheat
