#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/plan_ids.hpp"
#include "report/report.hpp"
#include "report/time_breakdown.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Results to compare: those of a result file, or of a CSV of the reference program.
struct ResultSet {
  std::string name;
  std::vector<PlanResult> listed;        ///< results of a CSV
  const ResultReader* reader = nullptr;  ///< null for a CSV, which only contains statistics
  Thresholds listed_thresholds = {};     ///< thresholds of a CSV
  std::vector<std::string> notes = {};   ///< messages about lines of a CSV

  [[nodiscard]] std::size_t count() const { return reader ? reader->count() : listed.size(); }
  /// Returns the thresholds of the counts. Throws RunError if recorded_thresholds() does.
  [[nodiscard]] Thresholds thresholds() const;
  [[nodiscard]] PlanResult row(std::size_t i) const { return reader ? reader->row(i) : listed[i]; }
};
/// Reads the results of a CSV. Throws RunError if read_result_csv() does, or if a number of a plan
/// is missing.
[[nodiscard]] ResultSet read_reference_csv(const std::string& file);

/// Differences of two sets of results. A difference is "second" minus "first".
struct Comparison {
  /// Why a plan is not the same in both sets. Rarer kinds come first.
  enum class Kind { status, floor_plan, only_first, only_second };
  struct Mismatch {
    Kind kind;
    std::string id;
    std::string first = {}, second = {};  ///< the statuses, if these differ
  };
  struct Setting {
    std::string name, first, second;  ///< "-" if a file does not have the setting
  };
  struct Column {
    std::string name;
    std::size_t differing = 0;  ///< number of plans whose values are not bit-identical
    /// Maximum absolute difference, over the values that are numbers in both sets.
    double largest = 0;
    double sum = 0;           ///< sum of the absolute differences of these values
    std::size_t numbers = 0;  ///< number of these values
    std::string plan = {};    ///< ID of the plan with the largest difference; empty if none differs
  };

  std::string first, second;
  /// False if one set is a CSV, which has neither settings nor statuses.
  bool has_settings = false;
  std::vector<Setting> settings;     ///< settings, versions and devices that differ
  std::vector<Mismatch> mismatches;  ///< sorted by kind
  std::size_t compared = 0;          ///< plans with a result in both sets
  std::size_t identical = 0;         ///< of these, plans whose rows and fields are bit-identical
  /// The last column is "field", if both sets have a field of the same shape.
  std::vector<Column> columns;
  /// Columns that are specific to a solver, if the sets are of different solvers.
  std::vector<std::string> skipped_columns;
  std::size_t compared_fields = 0;
  std::vector<double> means;  ///< differences of mean_temp in °C, without NaN
  StringList plans;           ///< IDs of the plans with these differences

  /// Returns true if both have results of the same plans, at least one, and all are identical.
  [[nodiscard]] bool equal() const;
  [[nodiscard]] std::size_t count(Kind kind) const;
};
/// Compares two sets of results. Reads fields on all cores. Throws RunError if a file is damaged,
/// or if the sets have different thresholds.
[[nodiscard]] Comparison compare(const ResultSet& first, const ResultSet& second);

/// The time that a program takes per plan.
struct ProgramTime {
  std::string name;
  double seconds_per_plan = 0;              ///< wall time in s
  std::optional<std::size_t> workers = {};  ///< nullopt if unknown, or if the sessions differ
  std::optional<double> cpu_seconds_per_plan = {};
};
/// Returns the time per plan from the wall time of the sessions; nullopt if no session recorded its
/// time.
[[nodiscard]] std::optional<ProgramTime> time_of(const std::string& file,
                                                 const ResultReader& reader);

/// Returns the time breakdown over all threads of all sessions; an empty list if no session has
/// one.
[[nodiscard]] NamedSeconds thread_seconds_of(const ResultReader& reader);

/// The findings of one call of `wallheat compare`.
struct CompareResults {
  std::vector<Comparison> comparisons;  ///< each compares one set with the first set
  std::vector<ProgramTime> times;
  /// Time breakdown of each result file.
  std::vector<std::pair<std::string, NamedSeconds>> threads = {};
  std::size_t plans = 0;  ///< number of plans for which total times are printed
  /// Name of the program to which the speed-ups are relative; empty: the slowest.
  std::string base = {};
  std::vector<std::string> notes = {};  ///< messages about lines of CSV files

  /// Returns the time that speed-ups are relative to. `times` must not be empty.
  [[nodiscard]] const ProgramTime& base_time() const;
};

/// The time of a program for some plans, without results.
struct GivenTime {
  std::string name;
  double seconds = 0;
};
using ComparedItem = std::variant<ResultSet, GivenTime>;

/// Compares each set of results with the first one, and collects the times. Given times are those
/// of `timed_plans` plans, and the report has total times for `plans` plans; 0: those of the first
/// set. Throws RunError as compare() does.
[[nodiscard]] CompareResults compare_items(const std::vector<ComparedItem>& items,
                                           std::size_t plans, std::size_t timed_plans);

/// Returns an error message for the first two sets without a plan that both have solved, which
/// therefore are neither equal nor different. With `require_equal`, also returns one for the first
/// two sets that are not equal. Otherwise returns an empty string.
[[nodiscard]] std::string comparison_error(const std::vector<Comparison>& comparisons,
                                           bool require_equal);

/// Text output lists the first `max_listed` of the plans that are not the same in both sets.
[[nodiscard]] Report make_report(CompareResults found, std::size_t max_listed);

}  // namespace wallheat
