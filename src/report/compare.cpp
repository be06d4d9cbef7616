#include "report/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "core/plan_ids.hpp"
#include "core/result_columns.hpp"
#include "core/threads.hpp"
#include "monitor/file_status.hpp"
#include "node/placement.hpp"
#include "report/result_csv.hpp"
#include "report/row_table.hpp"
#include "report/summary.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

double quantity_in(const RowColumn& column, const PlanResult& row) {
  const Value value = column.value(row);
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

/// Returns true if the statuses of a plan in two files contradict each other. A program of the user
/// need not report whether it has converged; then its status contradicts no other one of a solved
/// plan.
bool statuses_differ(PlanStatus a, PlanStatus b) {
  const bool is_one_unknown =
      a == PlanStatus::convergence_unknown || b == PlanStatus::convergence_unknown;
  return a != b && !(is_one_unknown && is_solved(a) && is_solved(b));
}

/// Returns the settings, versions and devices with which a file was solved.
std::map<std::string, std::string> facts_of(const ResultReader& reader) {
  std::map<std::string, std::string> facts = reader.settings();
  std::set<std::string> versions;
  for (const Attributes& session : reader.sessions())
    if (const auto found = session.find("wallheat_version"); found != session.end())
      versions.insert(found->second);
  std::set<std::string> devices;
  reader.for_each_row([&](const PlanResult& row) {
    if (is_solved(row.status)) devices.insert(row.device);
  });
  facts["wallheat"] = fmt::format("{}", fmt::join(versions, ", "));
  if (const PlansBySolver solvers = plans_by_solver(reader); solvers.size() > 1)
    facts["solvers"] = solvers_text(solvers, reader.settings());
  facts["devices"] = fmt::format("{}", fmt::join(devices, ", "));
  return facts;
}

std::vector<Comparison::Setting> differing_settings(const ResultReader& first,
                                                    const ResultReader& second) {
  std::map<std::string, Comparison::Setting> all;
  for (const auto& [name, text] : facts_of(first)) all[name] = {name, text, "-"};
  for (const auto& [name, text] : facts_of(second))
    all.try_emplace(name, Comparison::Setting{name, "-", ""}).first->second.second = text;
  std::vector<Comparison::Setting> differing;
  for (const auto& [name, both] : all)
    if (both.first != both.second) differing.push_back(both);
  return differing;
}

/// Differences of the values of a plan.
struct Distance {
  bool same = true;  ///< all values are bit-identical
  double largest = 0;
  double sum = 0;
  std::size_t numbers = 0;  ///< values that are numbers in both sets

  void add(double first, double second) {
    same = same && same_value(first, second);
    const double step = std::abs(second - first);
    if (std::isnan(step)) return;
    largest = std::max(largest, step);
    sum += step;
    ++numbers;
  }
};

void add_distance(const Distance& of_plan, const std::string& plan, Comparison::Column& column) {
  column.differing += of_plan.same ? 0 : 1;
  // Keep the plan with the largest difference so far; or the first that differs, even if NaN hides
  // by how much.
  if (!of_plan.same && (column.plan.empty() || of_plan.largest > column.largest))
    column.plan = plan;
  column.largest = std::max(column.largest, of_plan.largest);
  column.sum += of_plan.sum;
  column.numbers += of_plan.numbers;
}

/// Row indices of a plan in the two files.
using CommonPlan = std::pair<std::size_t, std::size_t>;

/// Returns the differences of the fields of plans; nullopt for a plan unless both files have its
/// field in the same shape.
std::vector<std::optional<Distance>> field_distances(const ResultSet& first,
                                                     const ResultSet& second,
                                                     std::span<const CommonPlan> plans) {
  std::vector<std::optional<Distance>> found(plans.size());
  if (first.reader == nullptr || second.reader == nullptr) return found;
  parallel_for(default_thread_count(), plans.size(), [&] {
    return [&](std::size_t i) {
      const auto a = first.reader->field(plans[i].first);
      const auto b = a ? second.reader->field(plans[i].second) : std::nullopt;
      if (!a || !b || a->rows != b->rows || a->cols != b->cols) return;
      Distance& distance = found[i].emplace();
      for (std::size_t cell = 0; cell < a->cells.size(); ++cell)
        distance.add(a->cells[cell], b->cells[cell]);
    };
  });
  return found;
}

constexpr std::size_t plans_at_once = 4096;

/// IDs and statuses of the plans of a set, by row index.
struct Plans {
  IdIndex ids;
  std::vector<PlanStatus> statuses;
};

Plans statuses_by_id(const ResultSet& answers) {
  Plans plans;
  plans.statuses.reserve(answers.count());
  const Rows rows = answers.reader ? rows_of(*answers.reader) : rows_of(answers.listed);
  rows([&](const PlanResult& row) {
    plans.ids.add(row.id);
    plans.statuses.push_back(row.status);
  });
  return plans;
}

void require_whole(const ResultSet& answers) {
  if (answers.reader == nullptr || answers.reader->damage_messages().empty()) return;
  throw RunError(
      fmt::format("{} is damaged and cannot be compared; repair it with 'wallheat repair': {}",
                  answers.name, answers.reader->damage_messages().front()));
}

void require_same_thresholds(const ResultSet& first, const ResultSet& second) {
  const Thresholds a = first.thresholds();
  const Thresholds b = second.thresholds();
  if (a == b) return;
  throw RunError(
      fmt::format("{0} counts cells above {2} °C and below {3} °C, but {1} above {4} °C and below "
                  "{5} °C; solve the plans of one of them again with the thresholds of the other: "
                  "wallheat run --above {2} --below {3}",
                  first.name, second.name, a.above, a.below, b.above, b.below));
}

/// Returns the plans with a result in both sets. Adds the mismatches of the others to `found`.
std::vector<CommonPlan> common_plans(const ResultSet& first, const ResultSet& second,
                                     Comparison& found) {
  using enum Comparison::Kind;
  const Plans in_first = statuses_by_id(first);
  const Plans in_second = statuses_by_id(second);
  // A CSV lacks plans without a result.
  const auto counts = [&](PlanStatus of) { return found.has_settings || is_solved(of); };
  std::vector<CommonPlan> plans;
  plans.reserve(in_first.ids.size());
  for (std::size_t i = 0; i < in_first.ids.size(); ++i) {
    const PlanStatus a = in_first.statuses[i];
    const std::string id(in_first.ids[i]);
    const auto row = in_second.ids.find(id);
    if (!row && counts(a)) found.mismatches.push_back({only_first, id});
    if (!row) continue;
    const PlanStatus b = in_second.statuses[*row];
    if (is_solved(a) && is_solved(b)) plans.emplace_back(i, *row);
    if (statuses_differ(a, b) && found.has_settings)
      found.mismatches.push_back(
          {status, id, std::string(to_string(a)), std::string(to_string(b))});
  }
  for (std::size_t i = 0; i < in_second.ids.size(); ++i)
    if (counts(in_second.statuses[i]) && !in_first.ids.find(in_second.ids[i]))
      found.mismatches.push_back({only_second, std::string(in_second.ids[i])});
  return plans;
}

/// Returns the numeric columns to compare; only the statistics if one set is a CSV. Leaves out
/// columns that have another meaning for another solver.
std::vector<RowColumn> compared_columns(const ResultSet& first, const ResultSet& second,
                                        Comparison& found) {
  static const std::set<std::string> of_solver{
      "fell_back",       "error_bound",     "pct_above_lower", "pct_above_upper",
      "pct_below_lower", "pct_below_upper", "uncertain_cells"};
  static const std::set<std::string> of_iteration{"iterations", "last_delta"};
  std::set<std::string> solvers;
  if (found.has_settings)
    for (const ResultSet* const of : {&first, &second})
      solvers.insert(text_in(of->reader->settings(), "solver", ""));
  std::vector<RowColumn> columns = all_columns();
  std::erase_if(columns, [&](const RowColumn& column) {
    const std::string& name = column.head.key;
    if (column.is_text || !column.is_deterministic) return true;
    if (!found.has_settings)
      return std::ranges::count(printed_columns, name, &PrintedColumn::name) == 0;
    if (solvers.size() == 1) return false;
    // The last_delta of a solver command is that of a further iteration.
    const bool is_skipped = of_solver.contains(name) ||
                            (solvers.contains("steady") && of_iteration.contains(name)) ||
                            (solvers.contains("command") && name == "last_delta");
    if (!is_skipped) return false;
    found.skipped_columns.push_back(name);
    return true;
  });
  return columns;
}

}  // namespace

Thresholds ResultSet::thresholds() const {
  return reader == nullptr ? listed_thresholds : recorded_thresholds(name, reader->settings());
}

ResultSet read_reference_csv(const std::string& file) {
  const ResultCsv csv = read_result_csv({file});
  ResultSet answers{file, {}, nullptr, csv.thresholds, csv.notes};
  for (const CsvResult& printed : csv.plans) {
    PlanResult& row = answers.listed.emplace_back();
    row.id = printed.id;
    // The status may be another one of a solved plan; a CSV does not contain it.
    row.status = PlanStatus::converged;
    for (std::size_t i = 0; i < printed_columns.size(); ++i) {
      const auto& number = printed.numbers.at(i);
      if (!number)
        throw RunError(
            fmt::format("{}: plan {} has no {}", file, printed.id, printed_columns.at(i).name));
      row.statistics.*printed_columns.at(i).of = number->value;
    }
  }
  return answers;
}

bool Comparison::equal() const {
  return compared > 0 && identical == compared &&
         std::ranges::all_of(mismatches,
                             [](const Mismatch& of) { return of.kind == Kind::floor_plan; });
}

std::size_t Comparison::count(Kind kind) const {
  return static_cast<std::size_t>(std::ranges::count(mismatches, kind, &Mismatch::kind));
}

Comparison compare(const ResultSet& first, const ResultSet& second) {
  require_whole(first);
  require_whole(second);
  require_same_thresholds(first, second);
  Comparison found;
  found.first = first.name;
  found.second = second.name;
  found.has_settings = first.reader != nullptr && second.reader != nullptr;
  if (found.has_settings) found.settings = differing_settings(*first.reader, *second.reader);
  const auto plans = common_plans(first, second, found);
  found.compared = plans.size();
  found.means.reserve(plans.size());
  const std::vector<RowColumn> columns = compared_columns(first, second, found);
  for (const RowColumn& column : columns) found.columns.push_back({column.head.key});
  Comparison::Column field{"field"};
  // Differences of one batch of plans, because there may be millions.
  std::vector<std::optional<Distance>> of_fields;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::size_t in_batch = i % plans_at_once;
    if (in_batch == 0)
      of_fields = field_distances(
          first, second, std::span(plans).subspan(i, std::min(plans_at_once, plans.size() - i)));
    const PlanResult a = first.row(plans[i].first);
    const PlanResult b = second.row(plans[i].second);
    bool same = true;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const double value_a = quantity_in(columns[c], a);
      const double value_b = quantity_in(columns[c], b);
      // A program of the user need not report its iterations.
      if (columns[c].head.key == "iterations" && std::isnan(value_a) != std::isnan(value_b))
        continue;
      Distance distance;
      distance.add(value_a, value_b);
      add_distance(distance, a.id, found.columns[c]);
      same = same && distance.same;
    }
    if (const std::optional<Distance>& distance = of_fields[in_batch]) {
      ++found.compared_fields;
      add_distance(*distance, a.id, field);
      same = same && distance->same;
    }
    if (found.has_settings) {
      same = same && !statuses_differ(a.status, b.status) && a.input_hash == b.input_hash;
      if (a.input_hash != b.input_hash)
        found.mismatches.push_back({Comparison::Kind::floor_plan, a.id});
    }
    found.identical += same ? 1 : 0;
    const double step = b.statistics.mean_temp - a.statistics.mean_temp;
    if (std::isnan(step)) continue;
    found.means.push_back(step);
    found.plans.push_back(a.id);
  }
  std::ranges::stable_sort(found.mismatches, {}, &Comparison::Mismatch::kind);
  if (found.compared_fields > 0) found.columns.push_back(field);
  return found;
}

CompareResults compare_items(const std::vector<ComparedItem>& items, std::size_t plans,
                             std::size_t timed_plans) {
  CompareResults found;
  const ResultSet* first = nullptr;
  for (const ComparedItem& item : items) {
    const auto* const set = std::get_if<ResultSet>(&item);
    if (set == nullptr) continue;
    found.notes.insert(found.notes.end(), set->notes.begin(), set->notes.end());
    if (first == nullptr)
      first = set;
    else
      found.comparisons.push_back(compare(*first, *set));
  }
  const std::size_t own_plans = first == nullptr ? 0 : first->count();
  const std::size_t timed = timed_plans > 0 ? timed_plans : own_plans;
  found.plans = plans > 0 ? plans : first == nullptr ? timed : own_plans;
  for (const ComparedItem& item : items) {
    if (const auto* const time = std::get_if<GivenTime>(&item)) {
      found.times.push_back({time->name, time->seconds / static_cast<double>(timed)});
      continue;
    }
    const auto& [name, listed, reader, thresholds, notes] = std::get<ResultSet>(item);
    if (reader == nullptr) continue;
    if (const auto time = time_of(name, *reader)) found.times.push_back(*time);
    found.threads.emplace_back(name, thread_seconds_of(*reader));
  }
  return found;
}

std::string comparison_error(const std::vector<Comparison>& comparisons, bool require_equal) {
  if (const auto found = std::ranges::find(comparisons, 0U, &Comparison::compared);
      found != comparisons.end())
    return fmt::format("{} and {} cannot be compared: no plan has a result in both", found->first,
                       found->second);
  const auto found = std::ranges::find_if_not(comparisons, &Comparison::equal);
  if (!require_equal || found == comparisons.end()) return "";
  using enum Comparison::Kind;
  return fmt::format(
      "--require-equal: {} and {} differ: {} of {} plans with a result in both are identical, {} "
      "have different statuses, {} are in one only",
      found->first, found->second, found->identical, found->compared, found->count(status),
      found->count(only_first) + found->count(only_second));
}

}  // namespace wallheat
