#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/plan_source.hpp"
#include "report/report.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/result_reader.hpp"
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

/// The numbers that a program has printed for a plan.
struct CsvResult {
  struct Number {
    double value = 0;
    double rounding_error = 0;  ///< maximum change by rounding to the last printed digit
  };
  std::string id;
  std::array<std::optional<Number>, printed_columns.size()> numbers = {};
  std::optional<std::int64_t> iterations = {};  ///< as reported to a result file; nullopt: unknown
};
/// A plan of a result file without a result.
struct MissingResult {
  std::string id;
  PlanStatus status;
  std::string error;  ///< empty unless it has failed
};
/// The results in the output of a program.
struct ResultCsv {
  std::string name;               ///< the file, or several files
  Thresholds thresholds;          ///< from the headers; the reference's if they do not contain them
  std::vector<CsvResult> plans;   ///< each plan once
  std::size_t skipped_lines = 0;  ///< lines that are not results, such as messages of a log
  std::vector<std::string> unavailable;  ///< IDs that remove_unavailable_plans() has removed
  std::vector<std::string> notes;        ///< messages about skipped lines and unavailable plans
  /// The plans of a result file that have no result. nullopt for printed results, which do not name
  /// the plans that their program was given.
  std::optional<std::vector<MissingResult>> missing = {};
};

/// Returns true if a file begins like the reference program's CSV, or like the same columns from
/// pandas.
[[nodiscard]] bool is_reference_csv(const std::filesystem::path& file);
/// Returns true if a file is text, so that it may be the output of a program: a regular file whose
/// beginning has no zero byte. Returns false if the file cannot be read.
[[nodiscard]] bool is_text_file(const std::filesystem::path& file);
/// Returns true if the file can be read and begins like an HDF5 file.
[[nodiscard]] bool is_hdf5_file(const std::filesystem::path& file);

/// Reads the results that programs have printed into files: CSV files, or outputs of jobs in which
/// other lines precede or follow the results.
///
///   - The cells of a line are separated by commas, semicolons, tabs or blanks. A number may have a
///     decimal comma if commas do not separate the cells, and if the file has no decimal point.
///   - A header is a line that names an ID column (building_id, id, plan, ...) and some of the
///     printed columns (mean_temp, mean, avg temp, std, pct_above_18, pct>18, % below 15, ...), in
///     any order and among other columns. It applies to the lines below it. The first header also
///     applies to the lines above it.
///   - Without a header, each result has five cells: the ID and the four numbers of the reference
///     program, in its order. Results without a header above them must be possible: by Cantelli's
///     inequality, mean and standard deviation limit the two shares.
///   - Surplus commas belong to the ID if neither a blank nor a number would become part of it.
///   - Lines with # in front, and lines that begin with a word such as "average", are not results.
///   - A plan may be given more than once with the same numbers.
///
/// Throws RunError, which names file and line, if a line resembles a result but is not one (too few
/// values, a word instead of a number, a share above 100 %), if two lines contradict each other, or
/// if a file has no result.
[[nodiscard]] ResultCsv read_result_csv(const std::vector<std::string>& files);
/// Returns the results of a result file, as if its CSV had been printed, without the shares if they
/// are counted with other thresholds than those of the reference program. Throws RunError if the
/// file has no result.
[[nodiscard]] ResultCsv results_as_csv(const std::string& file, const ResultReader& reader);
/// Removes the results of plans whose files the source does not have. Throws RunError if it has
/// none of the plans.
void remove_unavailable_plans(ResultCsv& csv, const PlanSource& source);

}  // namespace wallheat
