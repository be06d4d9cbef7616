#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plans/plan_source.hpp"
#include "report/report.hpp"
#include "report/result_csv.hpp"
#include "solve/plain_sweeps.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/floor_plan.hpp"

// Recognition of programs that solve the same exercise, by the numbers that they print.
//
// A program is modelled by three choices, each of which is an element of a list:
//
//   - IterationKind: how an iterate is computed from the one before, mistakes included.
//   - Average: which cells of the iterate the statistics are of, and in which precision.
//   - The stop: a StopRule with a tolerance and a limit of sweeps, or a fixed number of sweeps.
//
// fit_plan() compares the printed numbers of one plan with the iterates of one kind. For each
// average it returns the sweeps whose numbers agree with the printed ones: one sweep if many digits
// are printed, otherwise a range, because the mean temperature of these plans only rises. The stop
// need not be known for that.
//
// Each plan then limits the unknown parameter of the stop. A rule that checks a quantity q at the
// sweeps s1 < s2 < ... stops at the first one with q < T. So a plan that stopped at sweep s gives
// the bracket q(s) < T <= min q(earlier checks). find_hypotheses() looks for the parameter that the
// most plans allow: the intersection of their brackets, or of their ranges of sweeps. The plans
// outside of it contradict the hypothesis.
//
// Several hypotheses may agree with all plans. Each has a cost, an estimate of how unusual the
// program is, in decimal digits: the reference costs 0, a choice that differs from it costs 1, last
// digits that differ cost 1, and a parameter costs its significant digits, as a number such as 1e-6
// is typed by a person and 9.7315e-05 fits by chance. A hypothesis is called true only if it
// contradicts no plan and if all alternatives cost a digit more or are excluded by the printed
// digits.

namespace wallheat {

/// Which cells a program takes the statistics of, and how it adds them.
struct Average {
  enum class Cells { interior, grid, grid_and_border, not_0_5_25 };
  std::string text;  ///< follows the text of the stop; empty: as the reference
  Cells cells = Cells::interior;
  bool is_single_precision = false;  ///< as NumPy adds float32
  double error = 0;                  ///< °C, largest effect of another order of additions
  double cost = 1;
};

/// Method by which a program computes its iterates.
struct IterationKind {
  std::string text;  ///< follows the text of the stop; empty: as the reference
  SweepVariant variant{};
  bool is_steady_state = false;  ///< not an iteration, but the fixed point
  std::vector<Average> averages{};
  double cost = 1;
};
/// Returns all kinds; the first one is the reference's.
[[nodiscard]] const std::vector<IterationKind>& iteration_kinds();

/// When a program checks whether to stop, and with which quantity.
struct StopRule {
  enum class Quantity { largest, l2, root_mean_square };
  Quantity quantity = Quantity::largest;  ///< of the changes of one sweep
  /// The check at sweep s uses the changes of sweep s + lookahead. 1: the field before the last
  /// update is printed. The residual of a field is four times its next change.
  int lookahead = 0;
  bool is_residual = false;
  std::int64_t interval = 1;     ///< sweeps from one check to the next
  bool starts_at_first = false;  ///< checks sweeps 1, 1 + interval, ...; not interval, 2 interval
  double cost = 0;

  /// Returns, for example, "largest change" or "2-norm of the residual".
  [[nodiscard]] std::string quantity_name() const;
};
/// Returns all rules; the first one is the reference's.
[[nodiscard]] const std::vector<StopRule>& stop_rules();

/// The values lower < x <= upper.
struct Bracket {
  double lower = 0, upper = 0;
  [[nodiscard]] bool contains(double value) const { return lower < value && value <= upper; }
};

/// Comparison of the printed numbers of a plan with the iterates of one kind and average.
struct PlanFit {
  bool agrees = false;               ///< with the iterates from `first` to `last`
  std::int64_t first = 0, last = 0;  ///< in sweeps; 0: the steady state
  /// All printed digits agree, not only up to Average::error; also true if several iterates agree,
  /// because not all of these are compared.
  bool is_exact = false;
  /// Tolerances with which a program stops at one of these sweeps, for each of stop_rules(). Empty
  /// (lower >= upper) if it checks none of them; upper also limits the tolerance of a program that
  /// stopped at its limit.
  std::vector<Bracket> tolerances = {};

  std::int64_t nearest = 0;     ///< sweeps of the nearest iterate that was compared
  double distance = nan_value;  ///< from it, in °C or %

  [[nodiscard]] bool contains(std::int64_t sweeps) const {
    return agrees && first <= sweeps && sweeps <= last;
  }
};
/// Returns the fits for each average of the kind. Compares iterates with up to 20000 sweeps, or
/// fewer if the digits identify one before.
[[nodiscard]] std::vector<PlanFit> fit_plan(const CsvResult& printed, const FloorPlan& plan,
                                            const IterationKind& kind);
/// Returns true if mean or standard deviation has enough digits to identify single iterates.
[[nodiscard]] bool identifies_iterates(const CsvResult& printed);

/// A program that agrees with some plans.
struct Hypothesis {
  const IterationKind* kind = nullptr;
  const Average* average = nullptr;
  const StopRule* rule = nullptr;  ///< null: a fixed number of sweeps, or the steady state
  double parameter = 0;            ///< the tolerance, or the number of sweeps
  Bracket bracket{};               ///< all values of the parameter that the same plans allow
  std::int64_t limit = 0;          ///< of sweeps, with a rule
  double cost = 0;
  std::vector<std::size_t> fits{};  ///< indices of the plans that agree, in ascending order
  std::size_t exact = 0;            ///< how many of them agree in all printed digits

  [[nodiscard]] std::string name() const;
  /// Returns true for a fixed number of sweeps if all larger numbers give the same answers, too.
  [[nodiscard]] bool is_open_ended() const;
};
/// Fits of one kind and average, for each plan.
using Fits = std::vector<PlanFit>;
/// Returns the hypotheses with this kind and average that agree with at least `min_plans` plans.
[[nodiscard]] std::vector<Hypothesis> find_hypotheses(const IterationKind& kind,
                                                      const Average& average, const Fits& fits,
                                                      std::size_t min_plans);

/// Everything that is known about the plans of a CSV and the program that printed it.
struct Recognition {
  std::vector<std::string> faults;          ///< of each plan: why it cannot be compared, or empty
  std::vector<std::int64_t> cells;          ///< interior cells of each plan
  std::vector<std::vector<Fits>> fits;      ///< by kind and average
  std::vector<Hypothesis> hypotheses = {};  ///< the best one first
  std::size_t sound = 0;                    ///< plans without a fault
  bool is_precise = false;                  ///< the digits of most plans identify single iterates
  bool has_all_kinds = false;               ///< all kinds of iterations were compared

  [[nodiscard]] std::size_t contradictions(const Hypothesis& of) const {
    return sound - of.fits.size();
  }
  /// Returns the first hypotheses that agree with equally many plans and cannot be excluded.
  [[nodiscard]] std::span<const Hypothesis> candidates() const;
  /// Returns true if there is one candidate, no plan contradicts it, and it does not fit by chance.
  [[nodiscard]] bool is_decided() const;
};

/// Why the result of a plan is not as requested by the settings of its file.
struct RequestProblem {
  std::string text;         ///< empty if the result is as requested
  bool is_unknown = false;  ///< the result cannot be compared, so it may be as requested
  friend auto operator<=>(const RequestProblem&, const RequestProblem&) = default;
};
/// Returns the problem of each plan in `csv`. The iterations of a plan must be those of its field,
/// if they were reported.
[[nodiscard]] std::vector<RequestProblem> find_request_problems(const Recognition& recognition,
                                                                const ResultCsv& csv,
                                                                const SolverOptions& requested);
/// Adds the facts `as_requested` and `request`, which state whether the results of a result file
/// are as requested.
void add_request(const ResultCsv& csv, const Recognition& recognition,
                 const SolverOptions& requested, const std::vector<RequestProblem>& problems,
                 Report& report);

/// Returns a report on which iterates the results in a CSV are, for the plans of a source, and
/// therefore on the program that printed them. The CSV has some of the four columns of the
/// reference, with any number of digits, counted with the thresholds of the reference. Solves plans
/// on all cores, and logs the number of finished plans to stderr. `requested` are the settings of
/// the result file that contains the results; null for printed results. If they are given,
/// `as_requested` of the report states whether the results are as requested, or is unknown, and
/// `request` is a message about it. Throws RunError, with a message that names the file and the
/// invalid line.
[[nodiscard]] Report identify_iterates(const ResultCsv& csv, const PlanSource& source,
                                       const SolverOptions* requested = nullptr);

}  // namespace wallheat
