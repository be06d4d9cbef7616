#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/cell_statistics.hpp"
#include "iterates/iterate_matching.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

const SolveParameters reference_stop;
constexpr double other_order_of_sums = 1e-11;  // °C, of temperatures like those of rooms
constexpr double other_order_of_single_sums = 3e-6;

/// Statistics of an iterate, as a program may print them.
struct Iterate {
  Statistics statistics{};
  double error = 0;  ///< °C: how far the program's mean and deviation may be from these
  double uncertain_cells =
      0;  ///< so close to a threshold that the program may count them otherwise
  double percent_per_cell = 1;
};

std::vector<double> select_cells(const Grid<double>& field, const FloorPlan& plan,
                                 Average::Cells cells) {
  switch (cells) {
    case Average::Cells::interior:
      break;
    case Average::Cells::grid:
      return field.cells;
    case Average::Cells::grid_and_border: {
      std::vector<double> values(field.cols + 2);
      for (std::size_t row = 0; row < field.rows; ++row) {
        values.push_back(0);
        values.insert(values.end(), &field(row, 0), &field(row, 0) + field.cols);
        values.push_back(0);
      }
      values.resize(values.size() + field.cols + 2);
      return values;
    }
    case Average::Cells::not_0_5_25: {
      std::vector<double> values;
      std::ranges::copy_if(field.cells, std::back_inserter(values),
                           [](double value) { return value != 0 && value != 5 && value != 25; });
      return values;
    }
  }
  return interior_values(field, plan.interior);
}

Iterate average_cells(const std::vector<double>& values, const Average& average, double error) {
  if (average.is_single_precision) {
    const std::vector<float> narrowed(values.begin(), values.end());
    return {single_precision_statistics(narrowed)};
  }
  const auto [statistics, uncertain] = summarize_cells(values, Thresholds(), error);
  return {statistics, error, static_cast<double>(uncertain.cells),
          100 / static_cast<double>(values.size())};
}

/// Comparison of the printed numbers of a plan with those of an iterate.
struct Match {
  bool fits = true;      ///< they agree up to the error of the iterate
  bool is_exact = true;  ///< they agree in all digits that are printed
  double distance = 0;   ///< the largest difference of a number, in °C or %
  std::array<int, printed_columns.size()> signs{};  ///< of each difference; 0: it agrees
};

Match match_numbers(const CsvResult& printed, const Iterate& iterate) {
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
        std::min(std::round(distance / iterate.percent_per_cell), iterate.uncertain_cells);
    const bool fits = i < 2 ? distance <= unit + iterate.error
                            : std::abs(distance - cells * iterate.percent_per_cell) <= unit;
    match.fits = match.fits && fits;
    match.is_exact = match.is_exact && distance <= unit;
    match.signs.at(i) = fits ? 0 : value > number->value ? 1 : -1;
    if (!(distance <= match.distance)) match.distance = distance;
  }
  return match;
}

/// Walks through the iterates of a plan. Examines all of them only in blocks of sweeps in which the
/// printed numbers may be passed.
class IterateSearch {
 public:
  IterateSearch(const CsvResult& printed, const FloorPlan& plan, const IterationKind& kind)
      : printed_(printed), plan_(plan), kind_(kind), field_(plan.domain) {
    found_.resize(kind.averages.size());
    key_ = static_cast<std::size_t>(
        std::ranges::find_if(printed.numbers,
                             [](const auto& number) { return number.has_value(); }) -
        printed.numbers.begin());
  }

  std::vector<PlanFit> run() && {
    if (kind_.is_steady_state) {
      examine_steady_state();
      return std::move(found_);
    }
    const auto sweeps = make_plain_sweeps(plan_, kind_.variant);
    std::vector<std::size_t> averages(kind_.averages.size());
    std::iota(averages.begin(), averages.end(), std::size_t{0});
    std::vector<BlockEnd> before;
    for (const std::size_t i : averages) {
      const Match start = examine(i, 0);
      before.push_back({start, start});
    }
    const bool may_end_early = identifies_iterates(printed_);
    const std::int64_t block = block_lengths.front();
    for (std::int64_t begin = 0; begin < reference_stop.max_iterations; begin += block) {
      const bool any_passed = walk_block(*sweeps, begin, 0, averages, before);
      const bool fits = std::ranges::any_of(
          before, [](const BlockEnd& end) { return end[0].fits || end[1].fits; });
      if (may_end_early && !any_passed && !fits && std::ranges::any_of(found_, &PlanFit::agrees))
        break;
      if (changes_.back().max == 0) {  // all further iterates are the same
        for (const std::size_t i : averages)
          if (before[i][1].fits) found_[i].last = reference_stop.max_iterations;
        break;
      }
    }
    make_sweep(*sweeps, std::ssize(changes_) + 1);
    const auto cells = static_cast<double>(count_interior(plan_));
    for (const std::size_t i : averages) {
      PlanFit& fit = found_[i];
      if (!fit.agrees) continue;
      const bool may_be_exact = kind_.averages[i].error <= other_order_of_sums;
      fit.is_exact = fit.is_exact || (may_be_exact && fit.first < fit.last);
      for (const StopRule& rule : stop_rules())
        fit.tolerances.push_back(tolerances(rule, fit, cells));
    }
    return std::move(found_);
  }

 private:
  /// Comparisons of the last two iterates of a block, as those with an odd and an even number of
  /// sweeps may be two sequences.
  using BlockEnd = std::array<Match, 2>;
  /// Sweeps in a block. A block in which the printed numbers may be passed is divided into blocks
  /// of the next length.
  static constexpr std::array<std::int64_t, 3> block_lengths{400, 20, 1};

  void make_sweep(PlainSweeps& sweeps, std::int64_t sweep) {
    const SweepChange change = sweeps.sweep();
    if (sweep > std::ssize(changes_)) changes_.push_back(change);
  }

  /// Makes the sweeps of the block after sweep `begin`. Compares its end for some averages,
  /// replaces `ends`, which are those of the block before, and searches the block if the printed
  /// numbers may be passed in it. Returns true if they may.
  bool walk_block(PlainSweeps& sweeps, std::int64_t begin, std::size_t level,
                  const std::vector<std::size_t>& averages, std::vector<BlockEnd>& ends) {
    const std::int64_t length = block_lengths.at(level);
    if (length == 1) {
      make_sweep(sweeps, begin + 1);
      sweeps.store(field_);
      for (const std::size_t i : averages) (void)examine(i, begin + 1);
      return false;
    }
    const auto start = sweeps.copy();
    for (std::int64_t sweep = 1; sweep < length; ++sweep) make_sweep(sweeps, begin + sweep);
    std::vector<BlockEnd> now(averages.size());
    for (const std::size_t parity : {0, 1}) {
      if (parity == 1) make_sweep(sweeps, begin + length);
      sweeps.store(field_);
      for (std::size_t k = 0; k < averages.size(); ++k)
        now[k].at(parity) =
            examine(averages[k], begin + length - 1 + static_cast<std::int64_t>(parity));
    }
    std::vector<std::size_t> passed;
    std::vector<BlockEnd> ends_of_passed;
    for (std::size_t k = 0; k < averages.size(); ++k) {
      // At the beginning, the mean of some of the cells may fall before it rises.
      if (begin > 0 && !may_fit_between(ends[k], now[k])) continue;
      passed.push_back(averages[k]);
      ends_of_passed.push_back(ends[k]);
    }
    const std::int64_t next_length = block_lengths.at(level + 1);
    for (std::int64_t sweep = 0; !passed.empty() && sweep < length; sweep += next_length)
      (void)walk_block(*start, begin + sweep, level + 1, passed, ends_of_passed);
    ends = std::move(now);
    return !passed.empty();
  }

  /// Compares the iterate in field_.
  Match examine(std::size_t i, std::int64_t sweeps) {
    const Average& average = kind_.averages[i];
    const double error = kind_.is_steady_state ? 2 * reference_stop.accuracy : average.error;
    const Match match = match_numbers(
        printed_, average_cells(select_cells(field_, plan_, average.cells), average, error));
    if (sweeps == 0 && !kind_.is_steady_state) return match;  // not made by a program
    PlanFit& fit = found_[i];
    if (!(match.distance >= fit.distance)) {
      fit.distance = match.distance;
      fit.nearest = sweeps;
    }
    if (match.fits) {
      fit.first = fit.agrees ? std::min(fit.first, sweeps) : sweeps;
      fit.last = std::max(fit.last, sweeps);
      fit.is_exact = fit.is_exact || match.is_exact;
      fit.agrees = true;
    }
    return match;
  }

  void examine_steady_state() {
    field_ = make_steady_solver(available_isas().back())->solve(plan_, reference_stop, {})->field;
    for (std::size_t i = 0; i < kind_.averages.size(); ++i) (void)examine(i, 0);
  }

  /// Returns true if iterates between the ends of a block may fit although neither end shows it:
  /// the first printed number is passed, or it agrees throughout and others may.
  [[nodiscard]] bool may_fit_between(const std::array<Match, 2>& before,
                                     const std::array<Match, 2>& after) const {
    bool is_passed = false;
    bool may_fit = true;
    bool all_fit = true;
    for (const std::size_t parity : {0, 1}) {
      const Match& old = before.at(parity);
      const Match& now = after.at(parity);
      is_passed = is_passed || old.signs.at(key_) != now.signs.at(key_);
      for (std::size_t i = 0; i < old.signs.size(); ++i)
        may_fit = may_fit && (old.signs.at(i) == 0 || old.signs.at(i) != now.signs.at(i));
      all_fit = all_fit && old.fits && now.fits;
    }
    return !all_fit && (is_passed || may_fit);
  }

  /// Returns the value of a rule's quantity in the changes of a sweep; nullopt if it was not made.
  [[nodiscard]] std::optional<double> quantity(const StopRule& rule, std::int64_t sweep,
                                               double cells) const {
    if (sweep < 1) return std::nullopt;
    if (sweep > std::ssize(changes_)) return 0;  // beyond the last change, which is 0
    const auto [max, l2] = changes_[static_cast<std::size_t>(sweep - 1)];
    constexpr double residual_per_change = 4;
    const double factor = rule.is_residual ? residual_per_change : 1;
    switch (rule.quantity) {
      case StopRule::Quantity::largest:
        break;
      case StopRule::Quantity::l2:
        return factor * l2;
      case StopRule::Quantity::root_mean_square:
        return factor * l2 / std::sqrt(cells);
    }
    return factor * max;
  }

  [[nodiscard]] Bracket tolerances(const StopRule& rule, const PlanFit& fit, double cells) const {
    constexpr double none = std::numeric_limits<double>::infinity();
    Bracket bracket{none, none};
    for (std::int64_t sweep = rule.starts_at_first ? 1 : rule.interval; sweep <= fit.last;
         sweep += rule.interval) {
      const auto value = quantity(rule, sweep + rule.lookahead, cells);
      double& end = sweep < fit.first ? bracket.upper : bracket.lower;
      if (value) end = std::min(end, *value);
    }
    return bracket;
  }

  const CsvResult& printed_;
  const FloorPlan& plan_;
  const IterationKind& kind_;
  std::size_t key_ = 0;  ///< the first number that is printed
  Grid<double> field_;
  std::vector<SweepChange> changes_;  ///< of sweeps 1, 2, ...
  std::vector<PlanFit> found_;        ///< for each average
};

std::vector<IterationKind> make_iteration_kinds() {
  using Cells = Average::Cells;
  using enum SweepVariant::Neighbour;
  const Average interior{"", Cells::interior, false, other_order_of_sums, 0};
  const std::vector<Average> averages{
      interior,
      {", averaged over all cells of the grid", Cells::grid, false, other_order_of_sums},
      {", averaged over the grid and its border", Cells::grid_and_border, false,
       other_order_of_sums},
      {", averaged over the cells of the grid that are not 0, 5 or 25", Cells::not_0_5_25, false,
       other_order_of_sums},
      {", averaged in single precision", Cells::interior, true}};
  const std::vector<Average> single_averages{
      {"", Cells::interior, true, 0, 0},
      {", averaged in double precision", Cells::interior, false, other_order_of_sums},
      {", averaged in another order", Cells::interior, false, other_order_of_single_sums, 2}};
  std::vector<IterationKind> kinds{{"", {}, false, averages, 0}};
  const std::string single = ", in single precision";
  kinds.push_back({single, {.is_single_precision = true}, false, single_averages});
  // The sum of the first two neighbours does not depend on their order. These are all other sums.
  const std::vector<std::array<SweepVariant::Neighbour, 2>> pairs{
      {left, right}, {left, up}, {left, down}, {right, up}, {right, down}, {up, down}};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [first, second] = pairs[i];
    const auto [third, fourth] = pairs[pairs.size() - 1 - i];
    for (const auto& [order, adds_pairs] :
         {std::pair(std::array{first, second, third, fourth}, false),
          {std::array{first, second, fourth, third}, false},
          {std::array{first, second, third, fourth}, true}}) {
      const SweepVariant variant{
          .is_single_precision = true, .adds_pairs = adds_pairs, .order = order};
      if (order == SweepVariant().order && !adds_pairs) continue;
      if (adds_pairs && i >= pairs.size() / 2) continue;  // the same sum from the other side
      kinds.push_back({single + ", adding the neighbours in another order", variant, false,
                       single_averages, 1.5});
    }
  }
  kinds.push_back({", updated in place (Gauss-Seidel)", {.is_in_place = true}, false, averages});
  kinds.push_back({", with a second buffer of zeros, so that walls are 0 in every other sweep",
                   {.is_second_buffer_zero = true},
                   false,
                   averages});
  kinds.push_back({", with the last row and column of the grid excluded from the sweeps",
                   {.is_grid_cut = true},
                   false,
                   averages});
  kinds.push_back({"", {}, true, {interior}});
  return kinds;
}

}  // namespace

const std::vector<IterationKind>& iteration_kinds() {
  static const std::vector<IterationKind> kinds = make_iteration_kinds();
  return kinds;
}

std::vector<PlanFit> fit_plan(const CsvResult& printed, const FloorPlan& plan,
                              const IterationKind& kind) {
  return IterateSearch(printed, plan, kind).run();
}

bool identifies_iterates(const CsvResult& printed) {
  constexpr double enough = 1e-7;  // °C; a sweep near the reference's stop changes the mean by 1e-5
  return std::ranges::any_of(std::span(printed.numbers).first(2), [](const auto& number) {
    return number && number->rounding_error < enough;
  });
}

}  // namespace wallheat
