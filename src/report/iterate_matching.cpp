#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cell_statistics.hpp"
#include "core/plan_ids.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "io/standard_streams.hpp"
#include "node/placement.hpp"
#include "report/result_csv.hpp"
#include "solve/single_precision.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// Numbers that a program may print for a plan.
struct Iterate {
  std::string how{};        ///< what the program does; empty if no usual program stops there
  std::int64_t sweeps = 0;  ///< 0: the steady state
  Statistics statistics{};
  double error = 0;           ///< °C: how far the program's mean and deviation may be from these
  double doubtful_cells = 0;  ///< near a threshold, so that the program may count them otherwise
  double pct_a_cell = 1;
};

const SolveParameters limits;
constexpr double other_order_of_sums = 1e-11;  // °C, at most, of temperatures as those of rooms

/// What programs do that end after a number of sweeps; several may end after the same.
using Stops = std::multimap<std::int64_t, std::string>;

std::string every(std::int64_t sweeps) {
  return fmt::format("iterates at multiples of {}: the stop is looked at every {}th sweep", sweeps,
                     sweeps);
}
std::string without_stop(std::int64_t sweeps) {
  return fmt::format("iterates after {} sweeps without a stop", sweeps);
}
constexpr const char* reference = "the reference's answer";

void add(std::int64_t sweeps, std::string how, Stops& stops) {
  stops.emplace(std::clamp<std::int64_t>(sweeps, 0, limits.max_iterations), std::move(how));
}

/// Where programs stop whose change falls below the tolerance at that sweep.
Stops stops_at(std::int64_t stop) {
  Stops stops;
  add(stop, reference, stops);
  add(stop - 1, "iterates one sweep short: the field before the last update is returned", stops);
  add(stop + 1, "iterates one sweep beyond the reference's", stops);
  for (const std::int64_t step :
       {10, 20, 25, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1000, 1024, 2000}) {
    const auto next = [&](std::int64_t sweep) { return (sweep + step - 1) / step * step; };
    add(next(stop), every(step), stops);
    add(next(stop - 1) + 1, every(step) + ", from the first one on", stops);
  }
  constexpr std::int64_t coarse = 1000;
  constexpr std::int64_t fine = 100;
  for (std::int64_t sweeps = fine; sweeps <= limits.max_iterations; sweeps += fine)
    add(sweeps, sweeps % coarse == 0 ? without_stop(sweeps) : "", stops);
  return stops;
}

/// Makes `sweeps` iterations more.
void iterate_further(FloorPlan& plan, std::int64_t sweeps, Solver& jacobi) {
  if (sweeps > 0)
    plan.domain = jacobi.solve(plan, {.tolerance = 0, .max_iterations = sweeps}, {})->field;
}

/// Made from values of cells; a program may have others, up to `error` °C apart.
Iterate iterate_of(std::string how, std::int64_t sweeps, const std::vector<double>& values,
                   double error = other_order_of_sums) {
  const auto [statistics, uncertain] = summarize_cells(values, Thresholds(), error);
  return {std::move(how),
          sweeps,
          statistics,
          error,
          static_cast<double>(uncertain.cells),
          100 / static_cast<double>(values.size())};
}

/// The same iterate, averaged otherwise.
void add_other_averages(const FloorPlan& now, const std::string& how, std::int64_t sweeps,
                        std::vector<Iterate>& found) {
  const auto [rows, cols, cells] = now.domain;
  std::vector<double> ringed(cols + 2);  // with the zeros around it
  for (std::size_t row = 0; row < rows; ++row) {
    ringed.push_back(0);
    ringed.insert(ringed.end(), &now.domain(row, 0), &now.domain(row, 0) + cols);
    ringed.push_back(0);
  }
  ringed.resize(ringed.size() + cols + 2);
  found.push_back(iterate_of(how + ", averaged over all cells of the grid", sweeps, cells));
  found.push_back(iterate_of(how + ", averaged over the grid and its ring", sweeps, ringed));
  const std::vector<double> interior = interior_values(now.domain, now.interior);
  const std::vector<float> narrowed(interior.begin(), interior.end());
  found.push_back(
      {how + ", averaged in single precision", sweeps, single_precision_statistics(narrowed)});
}

/// Those of usual programs for a plan, and those of every hundredth sweep. The reference's stop and
/// limit are meant, 1e-4 °C and 20000 sweeps. Throws InputError if the plan has a heat source.
std::vector<Iterate> iterates_of(const FloorPlan& plan, Solver& jacobi) {
  if (plan.has_heat_source()) throw InputError("has a heat source, which is another exercise");
  const std::int64_t stop = jacobi.solve(plan, limits, {})->iterations;
  std::vector<Iterate> found;
  if (stop == 0) return {{reference}};
  FloorPlan now = plan;
  Iterate last{.sweeps = -1};
  for (const auto& [sweeps, how] : stops_at(stop)) {
    if (sweeps > last.sweeps) {
      iterate_further(now, sweeps - std::max<std::int64_t>(last.sweeps, 0), jacobi);
      last = iterate_of("", sweeps, interior_values(now.domain, now.interior));
    }
    found.emplace_back(last).how = how;
    for (const std::string& common : {std::string(reference), every(100), every(500), every(1000),
                                      without_stop(limits.max_iterations)})
      if (how == common) add_other_averages(now, how, sweeps, found);
  }
  const Solution steady = *make_steady_solver(available_isas().back())->solve(plan, limits, {});
  found.push_back(iterate_of("the steady state", 0, interior_values(steady.field, plan.interior),
                             2 * limits.accuracy));  // of two solvers
  return found;
}

/// Those of programs that hold their field in single precision.
std::vector<Iterate> single_precision_iterates(const FloorPlan& plan) {
  std::vector<Iterate> found;
  if (count_interior(plan) == 0) return found;
  SinglePrecisionJacobi program(plan);
  std::int64_t stop = 1;
  while (!(program.sweep() < limits.tolerance) && stop < limits.max_iterations) ++stop;
  program = SinglePrecisionJacobi(plan);
  std::int64_t made = 0;
  for (const auto& [sweeps, how] : stops_at(stop)) {
    if (how.empty()) continue;
    for (; made < sweeps; ++made) (void)program.sweep();
    const std::vector<float> values = program.values();
    found.push_back({how + ", in single precision", sweeps, single_precision_statistics(values)});
    found.push_back(iterate_of(how + ", in single precision, averaged in double precision", sweeps,
                               {values.begin(), values.end()}));
  }
  return found;
}

/// Every one from sweep `first` to `last`.
std::vector<Iterate> iterates_between(const FloorPlan& plan, Solver& jacobi, std::int64_t first,
                                      std::int64_t last) {
  std::vector<Iterate> found;
  FloorPlan now = plan;
  iterate_further(now, first, jacobi);
  for (std::int64_t sweeps = first; sweeps <= last; ++sweeps, iterate_further(now, 1, jacobi))
    found.push_back(iterate_of("", sweeps, interior_values(now.domain, now.interior)));
  return found;
}

struct Match {
  bool fits = true;      ///< but for the error of the iterate
  bool is_exact = true;  ///< all digits that are printed are the iterate's
  double distance = 0;   ///< the largest of a number, in °C or %
};

Match match_of(const CsvResult& printed, const Iterate& iterate) {
  Match match;
  for (std::size_t i = 0; i < printed_columns.size(); ++i) {
    const auto& number = printed.numbers.at(i);
    const double value = iterate.statistics.*printed_columns.at(i).of;
    if (!number || (std::isnan(number->value) && std::isnan(value))) continue;
    constexpr double rounding = 1e-14;  // of percentages, which are computed in several ways
    const double unit = number->rounding_error + (i < 2 ? 0 : rounding * std::abs(value));
    const double distance = std::abs(number->value - value);
    // A percentage is off by whole cells.
    const double cells =
        std::min(std::round(distance / iterate.pct_a_cell), iterate.doubtful_cells);
    match.fits = match.fits && (i < 2 ? distance <= unit + iterate.error
                                      : std::abs(distance - cells * iterate.pct_a_cell) <= unit);
    match.is_exact = match.is_exact && (distance <= unit || iterate.sweeps == 0);
    if (!(distance <= match.distance)) match.distance = distance;
  }
  return match;
}

/// What a plan's answer is.
struct PlanMatch {
  std::string id;
  std::map<std::string, bool>
      candidates{};                  ///< what usual programs do that print it; if it is exact
  std::int64_t first = 0, last = 0;  ///< sweeps of the iterates that fit, as far as they were made
  std::int64_t nearest = 0;          ///< sweeps of the nearest one
  double distance = nan_value;       ///< from that, in °C or %
  bool is_precise = false;           ///< its digits tell one iterate from the next
  std::string fault = {};            ///< why it cannot be named

  [[nodiscard]] bool is_none() const { return fault.empty() && candidates.empty() && last == 0; }
  [[nodiscard]] std::string sweeps() const {
    if (last == 0) return "";
    return first == last ? fmt::format("{}", last) : fmt::format("{} to {}", first, last);
  }
};

PlanMatch name_answer(const CsvResult& printed, const FloorPlan& plan, Solver& jacobi) {
  PlanMatch named{printed.id};
  bool is_double = false;  // precision, of which sums in single one tell nothing
  const auto examine = [&](const std::vector<Iterate>& iterates) {
    for (const Iterate& iterate : iterates) {
      const auto [fits, is_exact, distance] = match_of(printed, iterate);
      if (fits && !iterate.how.empty()) named.candidates[iterate.how] |= is_exact;
      is_double = is_double || (fits && iterate.error > 0);
      if (iterate.sweeps == 0) continue;  // the steady state
      if (fits) {
        named.first = named.last == 0 ? iterate.sweeps : std::min(named.first, iterate.sweeps);
        named.last = std::max(named.last, iterate.sweeps);
      }
      if (distance >= named.distance) continue;
      named.distance = distance;
      named.nearest = iterate.sweeps;
    }
  };
  examine(iterates_of(plan, jacobi));
  named.is_precise =
      std::ranges::any_of(std::span(printed.numbers).first(2), [](const auto& number) {
        constexpr double enough = 1e-8;  // °C, which tell iterates and precisions apart
        return number && number->rounding_error < enough;
      });
  if (!is_double || !named.is_precise) examine(single_precision_iterates(plan));
  constexpr std::int64_t around = 100;
  if (named.is_none())
    examine(iterates_between(plan, jacobi, std::max<std::int64_t>(named.nearest - around, 0),
                             named.nearest + around));
  return named;
}

/// The first few of them.
std::string join_first(const std::vector<std::string>& candidates) {
  constexpr std::size_t few = 4;
  const auto first = std::span(candidates).first(std::min(few, candidates.size()));
  return fmt::format(
      "{}{}", fmt::join(first, "; "),
      candidates.size() > few ? fmt::format("; and {} more", candidates.size() - few) : "");
}

/// One for each answer, in their order.
std::vector<PlanMatch> name_all(const std::vector<CsvResult>& answers, const PlanSource& source) {
  std::vector<PlanMatch> all(answers.size());
  std::mutex telling;
  std::size_t done = 0;
  auto last_report = std::chrono::steady_clock::now();
  parallel_for(default_thread_count(), answers.size(), [&] {
    const std::shared_ptr<Solver> jacobi = make_jacobi_solver(available_isas().back());
    return [&, jacobi](std::size_t i) {
      const auto& [id, numbers] = answers[i];
      try {
        all[i] = std::ranges::any_of(numbers, [](const auto& number) { return number.has_value(); })
                     ? name_answer(answers[i], source.load(id), *jacobi)
                     : PlanMatch{.id = id, .fault = "no number is given"};
      } catch (const InputError& error) {
        all[i] = {.id = id, .fault = error.what()};
      }
      const std::scoped_lock lock(telling);
      ++done;
      if (const auto now = std::chrono::steady_clock::now();
          now - last_report > std::chrono::seconds(5)) {
        last_report = now;
        print_error("solved {} of {}", done, count_text(all.size(), "plan"));
      }
    };
  });
  return all;
}

/// What usual programs do, and how many plans say so.
struct CandidateSummary {
  struct Count {
    std::size_t plans = 0, exact = 0;
  };
  std::map<std::string, Count> counts;
  std::vector<std::string> commonest;  ///< the simplest first; empty if no program fits half of all
  std::size_t max = 0;                 ///< plans that they fit
  bool is_precise = false;             ///< the answers have many digits

  /// Whether there is one, and it fits by no chance: one plan may be at any stride, and few digits
  /// fit what they are not.
  [[nodiscard]] bool is_decided() const {
    constexpr std::size_t enough = 3;
    return commonest.size() == 1 &&
           (max >= enough ||
            (is_precise && commonest.front().find("multiples") == std::string::npos));
  }
  /// Whether all digits that are printed are those of the way that was decided for.
  [[nodiscard]] bool is_exact() const { return counts.at(commonest.front()).exact == max; }
};

CandidateSummary candidates_of(const std::vector<PlanMatch>& all) {
  CandidateSummary candidates;
  std::size_t faults = 0;
  for (const PlanMatch& named : all) {
    faults += named.fault.empty() ? 0U : 1U;
    candidates.is_precise = candidates.is_precise || named.is_precise;
    for (const auto& [way, is_exact] : named.candidates) {
      ++candidates.counts[way].plans;
      candidates.counts[way].exact += is_exact ? 1U : 0U;
    }
  }
  // A program does the same to all plans: what fits a few of them does so by chance.
  candidates.max = (all.size() - faults + 1) / 2;
  for (const auto& [way, count] : candidates.counts) {
    if (count.plans > candidates.max) candidates.commonest.clear();
    candidates.max = std::max(candidates.max, count.plans);
    if (count.plans == candidates.max) candidates.commonest.push_back(way);
  }
  std::ranges::stable_sort(candidates.commonest, {}, &std::string::size);
  return candidates;
}

std::string verdict_text(const CandidateSummary& candidates, std::size_t plans) {
  if (candidates.commonest.empty()) return "no usual program prints these answers";
  const std::string of_all = fmt::format("{} of {}", candidates.max, count_text(plans, "plan"));
  if (!candidates.is_decided())
    return fmt::format("{} may be, as far as their digits and number tell: {}", of_all,
                       join_first(candidates.commonest));
  return fmt::format("{} are {}{}", of_all, candidates.commonest.front(),
                     candidates.is_exact()
                         ? ""
                         : ", but for the last digits: its sums are in another order, "
                           "or by fused multiply-add");
}

/// What one plan's answer is, by what all are.
std::string verdict_on_plan(const PlanMatch& named, const CandidateSummary& candidates) {
  if (!named.fault.empty()) return named.fault;
  if (named.is_none()) return "no iterate of this plan";
  std::vector<std::string> own;
  std::ranges::copy_if(candidates.commonest, std::back_inserter(own),
                       [&](const std::string& way) { return named.candidates.contains(way); });
  if (own.empty()) return named.is_precise ? "another iterate" : "may be another iterate";
  return candidates.is_decided() ? own.front() : "may be: " + join_first(own);
}

}  // namespace

Report identify_iterates(const ResultCsv& csv, const PlanSource& source) {
  const std::string& file = csv.name;
  if (csv.thresholds != Thresholds())
    throw RunError(fmt::format(
        "{} counts cells above {} °C and below {} °C, but the programs that are known here above "
        "{} °C and below {} °C; remove its columns of shares",
        file, csv.thresholds.above, csv.thresholds.below, Thresholds().above, Thresholds().below));
  const std::vector<PlanMatch> all = name_all(csv.plans, source);
  const CandidateSummary candidates = candidates_of(all);
  Report report{file};
  report.add_note(verdict_text(candidates, all.size()));
  Table table{"answers",
              "",
              {{"id", "plan"},
               {"answer", "is"},
               {"sweeps", "sweeps"},
               {"nearest", "nearest iterate"},
               {"distance", "largest difference", {ValueFormat::digits, 3}}}};
  constexpr std::size_t few_plans = 20;
  table.max_text_rows = few_plans;
  std::size_t none = 0;
  IdIndex answered;
  for (const PlanMatch& named : all) {
    answered.add(named.id);
    none += named.is_none() ? 1U : 0U;
    Table::Row& row =
        table.rows.emplace_back(Table::Row{named.id, verdict_on_plan(named, candidates)});
    if (named.fault.empty())
      row.insert(row.end(), {named.sweeps(), named.nearest, named.distance});
    else
      row.resize(table.columns.size());
  }
  for (const std::string& id : csv.unavailable) answered.add(id);
  std::size_t missing = 0;
  for (const std::string_view id : source.ids().ids) {
    if (answered.find(id)) continue;
    ++missing;
    table.rows.push_back({id, "missing in " + file, {}, {}, {}});
  }
  if (none > 0) report.add_note(count_text(none, "plan is", "plans are") + " no iterate of theirs");
  if (missing > 0)
    report.add_note(
        fmt::format("{} missing in {}", count_text(missing, "plan is", "plans are"), file));
  report.add_json_fact("plans", all.size());
  report.add_json_fact("none", none);
  report.add_json_fact("missing", missing);
  for (const std::string& note : csv.notes) report.add_note(note);
  report.add_json_fact("unavailable", csv.unavailable.size());
  report.add_json_fact("skipped_lines", csv.skipped_lines);
  report.add(std::move(table));
  Table how{"ways", "how many plans fit", {{"answer", "what"}, {"plans", "plans"}}};
  how.max_text_rows = few_plans;
  for (const auto& [way, count] : candidates.counts) how.rows.push_back({way, count.plans});
  std::ranges::stable_sort(how.rows, std::greater(),
                           [](const Table::Row& row) { return std::get<std::int64_t>(row[1]); });
  report.add(std::move(how));
  return report;
}

}  // namespace wallheat
