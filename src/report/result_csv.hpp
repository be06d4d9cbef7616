#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/plan_source.hpp"
#include "report/report.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

/// A number that the reference program prints for a plan.
struct PrintedColumn {
  const char* name;
  double Statistics::*of;
  double Thresholds::*threshold = nullptr;  ///< part of the header; null: the header is the name

  /// Returns the header in a CSV, such as pct_above_18.
  [[nodiscard]] std::string header(const Thresholds& thresholds) const;
};
inline constexpr std::array<PrintedColumn, 4> printed_columns{
    {{"mean_temp", &Statistics::mean_temp},
     {"std_temp", &Statistics::std_temp},
     {"pct_above", &Statistics::pct_above, &Thresholds::above},
     {"pct_below", &Statistics::pct_below, &Thresholds::below}}};
/// Returns the first line of the reference program's CSV, with these thresholds.
[[nodiscard]] std::string reference_csv_header(const Thresholds& thresholds);
/// Beginning of the reference program's CSV, whatever the thresholds are.
inline constexpr std::string_view reference_csv_magic =
    "building_id, mean_temp, std_temp, pct_above_";

/// What a CSV says of a plan.
struct CsvResult {
  struct Number {
    double value = 0;
    double rounding_error = 0;  ///< of its last digit: how far rounding may have moved it
  };
  std::string id;
  std::array<std::optional<Number>, printed_columns.size()> numbers = {};
};
/// Content of a CSV.
struct ResultCsv {
  Thresholds thresholds;  ///< from the headers; the reference's if they do not contain them
  std::vector<CsvResult> plans;
};

/// True if a file begins as the reference program's CSV does, or as pandas writes the same columns.
[[nodiscard]] bool is_reference_csv(const std::filesystem::path& file);
/// Reads a CSV with the column building_id, or id, and some of the printed ones, in any order. The
/// header of a share of cells is pct_above_18, with any threshold, or pct_above. More commas than
/// in the first line are the id's. Throws RunError, which names file and line: a line with too few
/// values, what is no number, an id twice.
[[nodiscard]] ResultCsv read_result_csv(const std::string& file);

/// Says what iterates the answers in a CSV are, of the plans of a source, and so what the program
/// does that printed them. The CSV has the column building_id, or id, and some of the reference's
/// four, in any order, with any number of digits, counted by the reference's thresholds. Solves
/// plans on all cores, and tells on stderr how many are done. Throws RunError, which names the
/// file, and the line that is wrong.
[[nodiscard]] Report identify_iterates(const std::string& file, const PlanSource& source);

}  // namespace wallheat
