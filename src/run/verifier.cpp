#include "run/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>

#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "isolation/command_solver.hpp"
#include "isolation/task_runner.hpp"
#include "node/placement.hpp"
#include "plans/plan_source.hpp"
#include "solve/convergence.hpp"
#include "solve/heat_source.hpp"
#include "solve/steady/error_bound.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

/// Range that the temperatures of a plan cannot leave, because each is an average of four others.
struct TemperatureRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  [[nodiscard]] bool holds(double value) const { return value >= low && value <= high; }
  [[nodiscard]] double largest() const { return std::max(std::abs(low), std::abs(high)); }
};

/// Returns the range from the smallest to the largest fixed or initial value, including the border
/// of 0 °C if an interior cell touches it. The range is widened by the effect of a heat source, and
/// slightly by rounding.
TemperatureRange possible_temperatures(const FloorPlan& plan, const PlanResult& answer,
                                       const SolveParameters& limits) {
  TemperatureRange range;
  const auto widen = [&](double value) {
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  };
  for (const double value : plan.domain.cells) widen(value);
  const std::size_t rows = plan.interior.rows;
  const std::size_t cols = plan.interior.cols;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t step = row == 0 || row + 1 == rows ? 1 : std::max<std::size_t>(cols - 1, 1);
    for (std::size_t col = 0; col < cols; col += step) {
      if (plan.interior(row, col) != 0) widen(0);
    }
  }
  if (plan.has_heat_source()) {
    Grid<double> warming = source_terms(plan, limits);
    Grid<double> cooling = warming;
    for (double& term : warming.cells) term = std::max(term, 0.0);
    for (double& term : cooling.cells) term = std::min(term, 0.0);
    range.high += source_magnitude_bound(warming);
    range.low -= source_magnitude_bound(cooling);
  }
  // An update rounds four times, each time by at most half an epsilon of up to four values. The
  // mean adds one rounding per cell.
  const double rounding = std::numeric_limits<double>::epsilon() *
                          (4 * static_cast<double>(answer.iterations) +
                           static_cast<double>(plan.interior.cells.size())) *
                          range.largest();
  // The results of other solvers than jacobi deviate by their error bound.
  const double error =
      std::isnan(answer.error_bound)
          ? jump_uncertainty * range.largest() * (answer.solver.starts_with("fastforward") ? 1 : 0)
          : answer.error_bound;
  return {range.low - rounding - error, range.high + rounding + error};
}

/// The checks of one plan, and their findings.
class PlanChecks {
 public:
  PlanChecks(const ResultReader& reader, const PlanSource* plans, const SolverOptions& made_with,
             std::size_t index)
      : reader_(reader), plans_(plans), made_with_(made_with), row_(reader.row(index)) {}

  /// Solves the plan again with `*solver` unless `solver` is null. Resets `*solver` if it cannot be
  /// used any more.
  Findings run(std::shared_ptr<Solver>* solver) {
    check_row();
    read_field_and_rooms();
    if (plans_ == nullptr) return findings_;
    const auto plan = unchanged_plan();
    if (!plan) return findings_;
    check_temperatures(*plan);
    if (field_) check_field(*plan);
    check_rooms(*plan);
    if (solver != nullptr) solve_again(*plan, *solver);
    return findings_;
  }

 private:
  void count(Check check) { findings_.count(check); }
  void add(Check check, const std::string& what) { findings_.add(check, row_.id, what); }
  /// Adds a finding with the formatted message unless `is_so` is true.
  template <class... Args>
  void expect(bool is_so, fmt::format_string<Args...> what, Args&&... args) {
    if (!is_so) add(Check::physics, fmt::format(what, std::forward<Args>(args)...));
  }
  /// Compares the row with the expected result. Adds a finding and returns true if they differ.
  /// `truth` names the origin of the expected result.
  bool differs(Check check, const ComparableResult& expected, const std::string& truth,
               const Grid<double>* field = nullptr) {
    const std::string text =
        to_text(find_differences({row_, field}, expected), "in the file", truth);
    if (!text.empty()) add(check, text);
    return !text.empty();
  }
  [[nodiscard]] bool is_steady() const { return made_with_.kind == SolverKind::steady; }
  [[nodiscard]] bool is_command() const { return made_with_.kind == SolverKind::command; }

  void check_row();
  void read_field_and_rooms();
  std::optional<FloorPlan> unchanged_plan();
  void check_temperatures(const FloorPlan& plan);
  void check_field(const FloorPlan& plan);
  void check_rooms(const FloorPlan& plan);
  void solve_again(const FloorPlan& plan, std::shared_ptr<Solver>& solver);

  const ResultReader& reader_;
  const PlanSource* plans_;
  const SolverOptions& made_with_;
  PlanResult row_;
  std::optional<Grid<double>> field_{};
  Findings findings_{};
};

/// Checks the properties that every result has, without reading its plan.
void PlanChecks::check_row() {
  const SolveParameters& limits = made_with_.limits;
  count(Check::physics);
  const Statistics& s = row_.statistics;
  if (row_.status == PlanStatus::empty)
    return expect(row_.interior_cells == 0 && row_.iterations == 0 && std::isnan(s.mean_temp),
                  "its status is empty, but it has a result");
  const auto cells = static_cast<double>(row_.rows) * static_cast<double>(row_.cols);
  expect(row_.interior_cells >= 1 && static_cast<double>(row_.interior_cells) <= cells,
         "{} interior cells are impossible in a grid of {} x {}", row_.interior_cells, row_.rows,
         row_.cols);
  for (const auto& [name, value] :
       {std::pair("pct_above", s.pct_above), std::pair("pct_below", s.pct_below)})
    expect(value >= 0 && value <= 100, "{} is {}, not between 0 and 100 %", name,
           format_repr(value));
  // Sums of huge temperatures are infinite, as in NumPy. check_temperatures() checks whether they
  // can be.
  expect(!std::isnan(s.mean_temp), "mean_temp is {}", format_repr(s.mean_temp));
  expect(s.std_temp >= 0, "std_temp is {}", format_repr(s.std_temp));
  // A program of the user may count and judge its iterations in another way.
  if (is_command()) return;
  const bool steady = is_steady();
  const std::int64_t least = steady ? 0 : 1;
  expect(row_.iterations >= least && row_.iterations <= limits.max_iterations,
         "it made {} iterations, not {} to {}", row_.iterations, least, limits.max_iterations);
  const char* const measure = steady ? "error_bound" : "last_delta";
  const double value = steady ? row_.error_bound : row_.last_delta;
  const double limit = steady ? limits.accuracy : limits.tolerance;
  const bool is_below = steady ? value <= limit : value < limit;
  expect(row_.status != PlanStatus::converged || (value >= 0 && is_below),
         "its status is converged, but {} is {} °C and the {} {} °C", measure, format_repr(value),
         steady ? "accuracy" : "tolerance", format_repr(limit));
  expect(row_.status != PlanStatus::max_iterations ||
             (row_.iterations == limits.max_iterations && !is_below && !std::isnan(value)),
         "its status is max_iterations, but it made {} of {} iterations, with {} {}",
         row_.iterations, limits.max_iterations, measure, format_repr(value));
}

void PlanChecks::read_field_and_rooms() {
  try {
    row_.rooms = reader_.rooms(row_.index);
    field_ = reader_.field(row_.index);
    if (field_) count(Check::fields);
  } catch (const RunError& damage) {
    count(Check::fields);
    add(Check::fields, damage.what());
  }
}

/// Returns the plan with the wall overrides applied; nullopt if it is not the plan that was solved,
/// or if the shape of the row differs.
std::optional<FloorPlan> PlanChecks::unchanged_plan() {
  count(Check::inputs);
  try {
    FloorPlan plan = plans_->load(row_.id);
    const std::uint64_t hash = plan_hash(plan);
    if (hash != row_.input_hash) {
      add(Check::inputs,
          fmt::format("its input in {} has changed since it was solved: input_hash is "
                      "{:016x} in the file, {:016x} now",
                      plans_->path().string(), row_.input_hash, hash));
      return std::nullopt;
    }
    PlanResult expected = row_;
    expected.rows = static_cast<std::uint32_t>(plan.domain.rows);
    expected.cols = static_cast<std::uint32_t>(plan.domain.cols);
    expected.interior_cells = count_interior(plan);
    apply_wall_overrides(plan, made_with_.walls);
    if (!differs(Check::physics, {expected}, "according to the plan")) return plan;
  } catch (const InputError& error) {
    add(Check::inputs, fmt::format("its input can no longer be read: {}", error.what()));
  }
  return std::nullopt;
}

/// Checks the maximum principle, and that fixed cells have their original values. Other iterations
/// than those of wallheat, such as over-relaxation, need not obey the maximum principle.
void PlanChecks::check_temperatures(const FloorPlan& plan) {
  if (row_.status == PlanStatus::empty) return;
  const TemperatureRange range = is_command()
                                     ? TemperatureRange{-max_magnitude, max_magnitude}
                                     : possible_temperatures(plan, row_, made_with_.limits);
  const auto interior_cells = static_cast<double>(row_.interior_cells);
  const double mean = row_.statistics.mean_temp;
  const bool sum_may_overflow = std::isinf(interior_cells * range.largest());
  expect(range.holds(mean) || (sum_may_overflow && std::isinf(mean)),
         "mean_temp is {} °C, but only {} to {} °C are possible", format_repr(mean), range.low,
         range.high);
  // The standard deviation of values in a range is at most half of the range, with half of the
  // values at either end.
  const double spread = range.high - range.low;
  const bool squares_may_overflow =
      sum_may_overflow || std::isinf(interior_cells * spread * spread);
  const double deviation = row_.statistics.std_temp;
  expect(!(deviation > spread / 2) || (squares_may_overflow && std::isinf(deviation)),
         "std_temp is {} °C, too much for temperatures of {} to {} °C", format_repr(deviation),
         range.low, range.high);
  if (!field_) return;
  std::size_t outside = 0;
  std::size_t moved = 0;
  double worst = 0;
  for (std::size_t cell = 0; cell < field_->cells.size(); ++cell) {
    const double value = field_->cells[cell];
    if (plan.interior.cells[cell] == 0) {
      moved += same_value(value, plan.domain.cells[cell]) ? 0 : 1;
    } else if (!range.holds(value)) {
      ++outside;
      worst = value;
    }
  }
  expect(outside == 0,
         "{} of the field, one of {} °C, outside of the possible range of {} to {} °C",
         count_text(outside, "cell"), format_repr(worst), range.low, range.high);
  expect(moved == 0, "{} different from the plan",
         count_text(moved, "fixed cell of the field is", "fixed cells of the field are"));
}

/// Checks that the statistics of the row, and the error bound of a steady state, match the stored
/// field.
void PlanChecks::check_field(const FloorPlan& plan) {
  PlanResult expected = row_;
  expected.statistics = statistics(*field_, plan.interior, made_with_.thresholds);
  differs(Check::fields, {expected}, "according to the stored field");
  if (!is_steady() || row_.status == PlanStatus::empty) return;
  const double proven = proven_error_bound(plan, made_with_.limits, *field_);
  constexpr double rounding = 1e-6;  // relative to the bound, which is computed in another order
  expect(proven <= row_.error_bound * (1 + rounding),
         "error_bound is {} °C in the file, but the stored field only proves {} °C",
         format_repr(row_.error_bound), format_repr(proven));
}

/// Checks that the rooms are those of the plan, and that their temperatures match the stored field.
void PlanChecks::check_rooms(const FloorPlan& plan) {
  if (row_.rooms.empty() || !made_with_.door) return;
  const std::uint32_t door = made_with_.door->of({plan.interior.rows, plan.interior.cols});
  PlanResult expected = row_;
  expected.rooms = room_results(map_rooms(plan.interior, door), field_ ? *field_ : plan.domain,
                                made_with_.thresholds);
  const std::size_t known = std::min(expected.rooms.size(), row_.rooms.size());
  for (std::size_t k = 0; !field_ && k < known; ++k) {
    RoomResult& room = expected.rooms[k];
    const RoomResult& stored = row_.rooms[k];
    room.mean_temp = stored.mean_temp;
    room.min_temp = stored.min_temp;
    room.max_temp = stored.max_temp;
    room.cells_above = stored.cells_above;
    room.cells_below = stored.cells_below;
  }
  differs(field_ ? Check::fields : Check::physics, {expected},
          field_ ? "according to the stored field" : "according to the plan");
}

void PlanChecks::solve_again(const FloorPlan& plan, std::shared_ptr<Solver>& solver) {
  count(Check::answers);
  try {
    if (auto* const command = dynamic_cast<CommandSolver*>(solver.get()))
      command->begin_plan(row_.id);
    const auto solution = solver->solve(plan, made_with_.limits, {});
    PlanResult expected;
    fill_result(plan, *solution, made_with_, expected);
    expected.input_hash = row_.input_hash;  // unchanged_plan() has verified it
    differs(Check::answers, {expected, &solution->field}, "solved again",
            field_ ? &*field_ : nullptr);
    // The logarithm of a GPU may round differently; then the estimate uses other deltas.
    constexpr double alike = 0.05;
    const double estimate = expected.error_estimate;
    if (std::isfinite(estimate) && !(std::abs(row_.error_estimate - estimate) <= alike * estimate))
      add(Check::answers, fmt::format("error_estimate is {} °C in the file, {} °C solved again",
                                      format_repr(row_.error_estimate), format_repr(estimate)));
  } catch (const InputError& error) {
    add(Check::answers, fmt::format("cannot be solved again: {}", error.what()));
  } catch (const CommandFailure& error) {
    solver.reset();  // its program may have ended
    add(Check::answers, fmt::format("cannot be solved again: {}", error.what()));
  }
}

}  // namespace

void Findings::add(Check check, const std::string& id, const std::string& what) {
  problems[static_cast<std::size_t>(check)].push_back(fmt::format("plan {}: {}", id, what));
}

void Findings::append(const Findings& more) {
  for (std::size_t check = 0; check < check_count; ++check) {
    problems[check].insert(problems[check].end(), more.problems[check].begin(),
                           more.problems[check].end());
    examined[check] += more.examined[check];
  }
}

std::vector<std::size_t> sample_rows(const std::vector<std::size_t>& rows, std::size_t count,
                                     std::uint64_t seed) {
  std::vector<std::size_t> sample;
  std::mt19937_64 random(seed);
  std::sample(rows.begin(), rows.end(), std::back_inserter(sample), count, random);
  return sample;
}

Findings verify_rows(const ResultReader& reader, const PlanSource* plans,
                     const SolverOptions& made_with, const std::vector<std::size_t>& rows,
                     const std::vector<std::size_t>& sample) {
  std::vector<Findings> of_row(rows.size());
  parallel_for(default_thread_count(), rows.size(), [&] {
    // A solver is made for the first chosen plan of a thread, because a program may take long to
    // start.
    return [&, solver = std::shared_ptr<Solver>()](std::size_t i) mutable {
      const bool is_chosen = std::binary_search(sample.begin(), sample.end(), rows[i]);
      if (is_chosen && !solver) solver = make_solver(made_with);
      of_row[i] = PlanChecks(reader, plans, made_with, rows[i]).run(is_chosen ? &solver : nullptr);
    };
  });
  Findings findings;
  for (const Findings& each : of_row) findings.append(each);
  return findings;
}

}  // namespace wallheat
