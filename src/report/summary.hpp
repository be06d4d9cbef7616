#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "report/missing_plans.hpp"
#include "report/report.hpp"
#include "report/row_table.hpp"
#include "report/time_breakdown.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Content and options of a summary, as far as they are known.
struct SummaryInput {
  std::string file = {};
  std::shared_ptr<const ResultReader> reader = {};
  /// Rows that `where` selects; they lack the rooms if the file does not have any.
  Rows rows = {};
  Thresholds thresholds = {};  ///< thresholds with which the cells of rows and rooms were counted
  std::string where = {};      ///< formula that selects the rows; empty: all rows of the file
  double cell_metres = 0;      ///< width of a cell; 0: unknown
  std::size_t max_bins = 16;   ///< maximum number of bins of the histogram
  std::size_t min_cells = 1;   ///< rooms with fewer cells are not counted
  MissingPlans missing = {};   ///< plans without a result, which the averages leave out
};
/// Returns the results for which a campaign is solved. Averages cover the plans with a temperature,
/// and counts cover all plans. The page of the report contains more: the coldest and the warmest
/// plans, the time breakdown, and all plans.
[[nodiscard]] Report summary_report(const SummaryInput& of);

/// Numbers of solved plans by solver, that is, by name and version as in the rows. A resume with
/// --allow-changed-solver makes several.
using PlansBySolver = std::map<std::string, std::size_t>;
[[nodiscard]] PlansBySolver plans_by_solver(const ResultReader& reader);
/// Describes the solvers of a file with these settings, which contain only the first solver
/// command. Returns an empty string if no plan is solved.
[[nodiscard]] std::string solvers_text(const PlansBySolver& solvers, const Attributes& settings);

/// Adds the settings and the sessions of a file.
void add_provenance(const ResultReader& reader, Report& report);

// Sections of the page only. SummaryInput::reader must be set.

/// Adds the commands, hosts and times of the runs, and the damage of the file.
void add_run_info(const SummaryInput& of, const std::vector<SlotTimeline>& slots, Report& page);
/// Adds the distribution of means and standard deviations, and the coldest and the warmest plans.
void add_distribution(const SummaryInput& of, Report& page);
/// Adds a comparison of the predicted and the actual times of plans.
void add_predictions(const SummaryInput& of, Report& page);
/// Adds a table of all plans, as `wallheat list` prints it.
void add_plan_table(const SummaryInput& of, Report& page);

}  // namespace wallheat
