#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan_ids.hpp"
#include "report/report.hpp"
#include "report/time_breakdown.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Answers to compare: a result file's, or those of the reference program's CSV.
struct ResultSet {
  std::string name;
  std::vector<PlanResult> listed;        ///< of a CSV
  const ResultReader* reader = nullptr;  ///< null for a CSV, which has statistics only
  Thresholds listed_thresholds = {};     ///< of a CSV
  std::vector<std::string> notes = {};   ///< messages about lines of a CSV

  [[nodiscard]] std::size_t count() const { return reader ? reader->count() : listed.size(); }
  /// Throws RunError as recorded_thresholds.
  [[nodiscard]] Thresholds thresholds() const;
  [[nodiscard]] PlanResult row(std::size_t i) const { return reader ? reader->row(i) : listed[i]; }
};
/// Throws RunError as read_result_csv, and if a plan has not all numbers.
[[nodiscard]] ResultSet read_reference_csv(const std::string& file);

/// How two sets of answers differ. A difference is "second" less "first".
struct Comparison {
  /// Why a plan is not the same in both. Rarer kinds come first.
  enum class Kind { status, floor_plan, only_first, only_second };
  struct Mismatch {
    Kind kind;
    std::string id;
    std::string first = {}, second = {};  ///< their statuses
  };
  struct Setting {
    std::string name, first, second;  ///< "-" if one does not have it
  };
  struct Column {
    std::string name;
    std::size_t differing = 0;  ///< plans, bit by bit
    double largest = 0;         ///< absolute, of the values that are numbers in both
    double sum = 0;             ///< of the same
    std::size_t numbers = 0;    ///< how many these are
    std::string plan = {};      ///< with the largest; empty if none differs
  };

  std::string first, second;
  bool has_settings = false;         ///< false if one is a CSV: then it has no status either
  std::vector<Setting> settings;     ///< and versions and devices; those that differ
  std::vector<Mismatch> mismatches;  ///< by kind
  std::size_t compared = 0;          ///< plans with an answer in both
  std::size_t identical = 0;         ///< of these, bit by bit, with their fields
  std::vector<Column> columns;       ///< the last one is "field", if both have one of one shape
  std::vector<std::string>
      skipped_columns;  ///< columns that are a solver's own, if they are of two
  std::size_t compared_fields = 0;
  std::vector<double> means;  ///< differences of mean_temp in °C, NaN aside
  StringList plans;           ///< ids: whose they are

  /// Returns true if both have results of the same plans, at least one, and all are identical.
  [[nodiscard]] bool equal() const;
  [[nodiscard]] std::size_t count(Kind kind) const;
};
/// Reads fields on all cores. Throws RunError if a file is damaged, or if the two have different
/// thresholds.
[[nodiscard]] Comparison compare(const ResultSet& first, const ResultSet& second);

/// How fast a program solves plans.
struct ProgramTime {
  std::string name;
  double seconds_per_plan = 0;              ///< wall time
  std::optional<std::size_t> workers = {};  ///< if known and always the same
  std::optional<double> cpu_seconds_per_plan = {};
};
/// By the wall time of its sessions; nothing if none left figures.
[[nodiscard]] std::optional<ProgramTime> time_of(const std::string& file,
                                                 const ResultReader& reader);

/// Where the time of all threads of all sessions went; nothing if no session tells.
[[nodiscard]] NamedSeconds thread_seconds_of(const ResultReader& reader);

/// Everything that one call of `wallheat compare` finds.
struct CompareResults {
  std::vector<Comparison> comparisons;  ///< all against the first
  std::vector<ProgramTime> times;
  std::vector<std::pair<std::string, NamedSeconds>> threads = {};  ///< of each result file
  std::size_t plans = 0;                                           ///< for how many the hours are
  std::string base = {};  ///< name of the time that speed-ups are against; empty: the slowest

  /// There must be a time.
  [[nodiscard]] const ProgramTime& base_time() const;
};
/// People see the first `max_listed` of the plans that are not the same in both.
[[nodiscard]] Report make_report(CompareResults found, std::size_t max_listed);

}  // namespace wallheat
