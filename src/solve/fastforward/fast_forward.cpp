#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "solve/fastforward/isa_sweeps.hpp"
#include "solve/fastforward/power_expansion.hpp"
#include "solve/fastforward/rooms.hpp"
#include "solve/source.hpp"
#include "solve/zeroed_array.hpp"
#include "wallheat/solver.hpp"

// The same iterate as Jacobi's, in far fewer sweeps. An iteration is affine, u -> J u + b, with J
// symmetric and its spectrum within (-1, 1). With T_j the Chebyshev polynomials and x^m = sum of
// c_j T_j(x), c_j >= 0 and sum 1, m iterations are the convex combination
//   u[k + m] = sum of c_j y_j,  y_0 = u[k],  y_1 = J u[k] + b,
//   y_{j+1} = ((left + right + up + down)(y_j) + source) / 2 - y_{j-1},
// with fixed cells kept, as y_j minus the steady state is T_j(J) of what it was. About 6.8 sqrt(m)
// terms matter (power_expansion.hpp).
//
// Where the iteration stops: delta never rises, as the row sums of |J| are at most 1. So one
// iteration with a delta of at least the tolerance proves that none before was the last. Jumps fall
// short of the end; the last iterations are plain ones.

namespace wallheat {
namespace {

/// Below so many iterations the plain sweeps of the exact solver are as fast.
constexpr std::int64_t worth_it = 1000;
constexpr std::int64_t worth_a_jump = 60;
/// So many plain sweeps end a room that stops at a limit: they damp what an expansion left out.
constexpr std::int64_t last_sweeps = 32;
/// The temperature for which the next three hold; beyond, they grow in proportion.
constexpr double usual_temperature = 25;
/// The mass of the coefficients left out: the field is wrong by up to 40 times 25 of it, measured.
constexpr double tail_at_usual = 2e-12;
/// A delta that is as near to the tolerance proves nothing. Deltas were wrong by up to 1e-13.
constexpr double doubt_at_usual = 1e-12;
/// The same after one jump from the start, when fast modes are still there.
constexpr double doubt_after_one_jump = 1e-9;
/// What is promised of a cell.
constexpr double uncertainty_at_usual = 1e-9;
/// Rounding would show.
constexpr double highest_temperature = 1000 * usual_temperature;

/// So many pairs of steps are made while their rows are in the nearest cache, so many rows at once.
constexpr std::size_t group = 8;
constexpr std::size_t chunk = 8;

/// A room and how far it is.
struct RoomState {
  Room room;
  RoomRows rows{};
  RoomPairs pairs{};
  double estimate = 0;
  std::int64_t iterations = 0;
  double delta = std::numeric_limits<double>::quiet_NaN();
};

struct Stopped {};  // by the user
struct InDoubt {};  // the end cannot be proven

class FastForwardSolver final : public Solver {
 public:
  explicit FastForwardSolver(Isa isa)
      : sweeps_(room_sweeps_for(isa)), exact_(make_jacobi_solver(isa)) {}

  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                const SolveControl& control) override {
    try {
      if (auto solution = try_to_jump(plan, limits, control)) return solution;
    } catch (const Stopped&) {
      return std::nullopt;
    } catch (const InDoubt&) {
    }
    auto solution = exact_->solve(plan, limits, control);
    if (solution) solution->fell_back = true;
    return solution;
  }

 private:
  /// Nothing where it is not worth it.
  std::optional<Solution> try_to_jump(const FloorPlan& plan, const Limits& limits,
                                      const SolveControl& control) {
    const bool with_source = plan.has_source();
    const Grid<double> terms = with_source ? source_terms(plan, limits) : Grid<double>();
    const double largest = largest_iterate(plan, terms);
    const double scale = std::max(1.0, largest / usual_temperature);
    const RoomLayout layout({plan.domain.rows, plan.domain.cols});
    if (limits.max_iterations < worth_it || largest > highest_temperature ||
        layout.size() > std::numeric_limits<std::uint32_t>::max())
      return std::nullopt;
    if (control.stop.stop_requested()) throw Stopped();
    limits_ = limits;
    control_ = &control;
    tail_ = tail_at_usual / scale;
    doubt_ = doubt_at_usual * scale;
    doubt_after_one_jump_ = doubt_after_one_jump * scale;
    if (limits.norm == Norm::l2)
      doubt_ *= std::sqrt(static_cast<double>(std::max<std::int64_t>(count_interior(plan), 1)));
    if (limits.tolerance > 0 && limits.tolerance < 100 * doubt_) return std::nullopt;

    std::vector<RoomState> rooms = ranked_rooms(plan, layout, largest);
    if (rooms.empty() || !(rooms.front().estimate >= worth_it)) return std::nullopt;
    load(plan.domain, terms, layout);
    work_ = 0;
    std::int64_t end = limits.max_iterations;
    if (limits.tolerance > 0) end = find_end(rooms);
    Solution result{plan.domain, end, 0, false};
    std::int64_t cells = 0;
    for (RoomState& room : rooms) {
      advance(room, end);
      result.last_delta = std::max(result.last_delta, room.delta);
      cells += room.room.cells;
      for (const CellRun& run : room.room.runs)
        std::copy_n(state_ + layout.cell(run.row, run.begin), run.end - run.begin,
                    &result.field(run.row, run.begin));
    }
    result.converged = result.last_delta < limits.tolerance;
    result.uncertainty = uncertainty_at_usual * scale;
    result.sweeps = static_cast<double>(work_) / static_cast<double>(cells);
    return result;
  }

  /// The one that will take longest first.
  [[nodiscard]] std::vector<RoomState> ranked_rooms(const FloorPlan& plan, const RoomLayout& layout,
                                                    double largest) const {
    // All rooms count in the 2-norm, so they are taken to the end together.
    const bool apart = limits_.norm == Norm::max;
    const std::int64_t small = apart ? 1000 : std::numeric_limits<std::int64_t>::max();  // cells
    std::vector<RoomState> states;
    for (Room& room : find_rooms(plan.interior, layout, small)) {
      states.emplace_back();
      RoomState& state = states.back();
      state.room = std::move(room);
      state.rows = state.room.rows(layout);
      state.pairs = state.room.pairs(layout);
      if (limits_.tolerance > 0) {
        // Most of the largest value is about the distance from the steady state at the start.
        // The 2-norm of a wave is half of its height times the root of the number of cells.
        const double tolerance =
            apart ? limits_.tolerance
                  : 2 * limits_.tolerance / std::sqrt(static_cast<double>(state.room.cells));
        state.estimate = std::min(estimate_iterations(state.room, 0.6 * largest, tolerance),
                                  static_cast<double>(limits_.max_iterations));
      } else {
        state.estimate = static_cast<double>(limits_.max_iterations);
      }
    }
    std::stable_sort(
        states.begin(), states.end(),
        [](const RoomState& one, const RoomState& other) { return one.estimate > other.estimate; });
    return states;
  }

  void load(const Grid<double>& domain, const Grid<double>& terms, const RoomLayout& layout) {
    const bool with_source = !terms.cells.empty();
    std::vector<double**> fields{&state_, &trial_, &even_, &odd_, &sum_};
    if (with_source) fields.push_back(&source_);
    if (shape_ != layout.shape || with_source != (source_ != nullptr)) {
      // Fields that lie a multiple of a page apart get in each other's way: the processor takes
      // a load to depend on a store if the last twelve bits of their addresses agree.
      constexpr std::size_t page = 4096 / sizeof(double);
      const std::size_t spacing = (layout.size() + page - 1) / page * page + page / 5 / 8 * 8;
      memory_ = {};  // first, so that the peak is not both
      source_ = nullptr;
      memory_ = ZeroedArray<double>(fields.size() * spacing);
      for (std::size_t i = 0; i < fields.size(); ++i) *fields[i] = memory_.data() + i * spacing;
      shape_ = layout.shape;
    }
    for (double** field : fields) {
      if (field == &trial_) continue;  // nothing is read there but what was written
      const Grid<double>& values = field == &source_ ? terms : domain;
      for (std::size_t row = 0; row < domain.rows; ++row)
        std::copy_n(&values(row, 0), domain.cols, *field + layout.cell(row, 0));
    }
  }

  /// The iteration with which all rooms are below the tolerance, or the limit.
  std::int64_t find_end(std::vector<RoomState>& rooms) {
    find_end_of(rooms.front());
    std::int64_t end = rooms.front().iterations;
    double last = rooms.front().delta;  // the largest at the end
    for (std::size_t i = 1; i < rooms.size(); ++i) {
      // One jump to the end. Where it does not show clearly that the room was below the tolerance
      // by then, and that its delta is not the largest, it is taken back.
      RoomState& room = rooms[i];
      const double delta = end > worth_a_jump ? jump(room, end - 1) : std::nan("");
      if (delta < std::min(last, limits_.tolerance) - doubt_after_one_jump_) {
        accept(room, end, delta);
        continue;
      }
      find_end_of(room);
      if (room.iterations > end) {
        end = room.iterations;
        last = room.delta;
      }
    }
    return end;
  }

  /// Takes a room from its start to the first iteration whose delta is below the tolerance, or to
  /// the limit. Throws InDoubt if that cannot be told.
  void find_end_of(RoomState& room) {
    constexpr std::int64_t first_sweeps = 64;
    constexpr std::int64_t some_sweeps = 4;
    constexpr double first_share = 0.8;
    (void)sweep_to_end(room, first_sweeps);
    auto target = static_cast<std::int64_t>(first_share * room.estimate);
    while (!ended(room)) {
      jump_towards(room, std::min(target, limits_.max_iterations - last_sweeps));
      const double before = sweep_to_end(room, some_sweeps);
      if (ended(room)) break;
      // The modes near -1 alternate, so the decay shows over two iterations.
      const double rate = std::log(before / room.delta) / 2;
      const double left = std::log(room.delta / limits_.tolerance) / rate;
      const bool decays = rate > 0 && left < static_cast<double>(limits_.max_iterations);
      target =
          decays ? room.iterations + static_cast<std::int64_t>(left) - 2 : limits_.max_iterations;
      if (target - room.iterations <= worth_a_jump)
        (void)sweep_to_end(room, target - room.iterations);
    }
  }

  [[nodiscard]] bool ended(const RoomState& room) const {
    return room.delta < limits_.tolerance || room.iterations >= limits_.max_iterations;
  }

  /// Jumps to an iteration or, where that may be past the end, less far; or stays.
  void jump_towards(RoomState& room, std::int64_t target) {
    while (target - room.iterations > worth_a_jump) {
      const double delta = jump(room, target - room.iterations - 1);
      if (delta >= limits_.tolerance + doubt_) {
        accept(room, target, delta);
        return;
      }
      const std::int64_t shorter = room.iterations + (target - room.iterations) * 17 / 20;
      target = std::min(shorter, end_before(room, target, delta));
    }
  }

  /// About where a room ended that is at `target` in `trial_`, past its end: the decay of delta
  /// there, which was faster before if anything, goes back to the tolerance. `target` where it
  /// does not decay any more.
  std::int64_t end_before(const RoomState& room, std::int64_t target, double delta) {
    sweeps_.copy(room.rows, trial_, even_);
    (void)iterate(room.rows, even_, odd_);
    const double after = iterate(room.rows, odd_, even_);
    count_work(room, room.iterations, 2);
    const double back = std::log(limits_.tolerance / delta) / (std::log(delta / after) / 2);
    constexpr std::int64_t margin = 4;
    return back > 0 && back < static_cast<double>(target - room.iterations)
               ? target - static_cast<std::int64_t>(back) - margin
               : target;
  }

  /// Takes a room to an iteration that it has not passed.
  void advance(RoomState& room, std::int64_t iteration) {
    const std::int64_t target = iteration - last_sweeps;
    if (target - room.iterations > worth_a_jump) {
      const double delta = jump(room, target - room.iterations - 1);
      accept(room, target, delta);
    }
    while (room.iterations < iteration) sweep(room);
  }

  /// Makes up to `count` iterations, fewer if the room ends before. Returns the last delta but two.
  /// Throws InDoubt if a delta is too near to the tolerance.
  double sweep_to_end(RoomState& room, std::int64_t count) {
    double last = room.delta;
    double last_but_one = room.delta;
    for (std::int64_t made = 0; made < count && !ended(room); ++made) {
      last_but_one = std::exchange(last, room.delta);
      sweep(room);
      if (std::abs(room.delta - limits_.tolerance) < doubt_) throw InDoubt();
    }
    return last_but_one;
  }

  void sweep(RoomState& room) {
    const double delta = iterate(room.rows, state_, trial_);
    count_work(room, room.iterations);
    accept(room, room.iterations + 1, delta);
  }

  /// Leaves in `trial_` the room `count` + 1 iterations from where it is, and returns the delta of
  /// the last of them.
  double jump(const RoomState& room, std::int64_t count) {
    const RoomRows& rows = room.rows;
    // Only terms of one parity count, and the loops are made for the even ones.
    if (count % 2 == 0) {
      sweeps_.copy(rows, state_, even_);
    } else {
      (void)iterate(rows, state_, even_);
    }
    const std::vector<double> factors = power_expansion(count - count % 2, tail_);
    sweeps_.scale(rows, factors[0], even_, sum_);
    (void)iterate(rows, even_, odd_);
    // The pairs of a group follow each other at a distance of two rows.
    constexpr std::size_t distance = 2;
    const std::size_t fronts = room.pairs.fronts;
    const std::size_t pairs = factors.size() / 2;
    for (std::size_t first_pair = 0; first_pair < pairs; first_pair += group) {
      const std::size_t in_group = std::min(group, pairs - first_pair);
      for (std::size_t first = 0; first < fronts + distance * (in_group - 1); first += chunk) {
        for (std::size_t pair = 0; pair < in_group; ++pair) {
          const std::size_t lag = distance * pair;
          const std::size_t begin = std::min(first > lag ? first - lag : 0, fronts);
          const std::size_t end = std::min(first + chunk > lag ? first + chunk - lag : 0, fronts);
          if (begin == end) continue;
          // Every second pair adds two terms to the sum, and the last one what is left over.
          const std::size_t number = first_pair + pair;
          const TermShares shares{number % 2 == 1 ? factors[2 * number] : 0,
                                  factors[2 * number + 2]};
          const bool adds = number % 2 == 1 || number + 1 == pairs;
          sweeps_.expand(room.pairs, begin, end, {even_, odd_, sum_, source_},
                         adds ? &shares : nullptr);
        }
      }
      count_work(room,
                 room.iterations + count * static_cast<std::int64_t>(first_pair) /
                                       static_cast<std::int64_t>(pairs),
                 static_cast<std::int64_t>(2 * in_group));
    }
    count_work(room, room.iterations + count, 3);
    return iterate(rows, sum_, trial_);
  }

  /// Makes one iteration and returns its delta.
  double iterate(const RoomRows& rows, const double* from, double* to) const {
    const RoomChange change = sweeps_.jacobi(rows, from, to, source_);
    return limits_.norm == Norm::max ? change.largest : std::sqrt(change.squares);
  }

  /// `trial_` is where the room is now.
  void accept(RoomState& room, std::int64_t iterations, double delta) {
    sweeps_.copy(room.rows, trial_, state_);
    room.iterations = iterations;
    room.delta = delta;
  }

  /// Takes note of some sweeps, the last at this iteration, about. Throws Stopped if asked to.
  void count_work(const RoomState& room, std::int64_t iteration, std::int64_t sweeps = 1) {
    constexpr std::int64_t interval = 1 << 21;  // updates of a cell: less than a millisecond
    const std::int64_t before = std::exchange(work_, work_ + sweeps * room.room.cells);
    if (before / interval == work_ / interval) return;
    if (control_->stop.stop_requested()) throw Stopped();
    if (control_->progress) control_->progress(iteration, room.delta);
  }

  RoomSweeps sweeps_;
  std::unique_ptr<Solver> exact_;
  Limits limits_;
  const SolveControl* control_ = nullptr;
  double tail_ = 0;
  double doubt_ = 0;
  double doubt_after_one_jump_ = 0;
  std::int64_t work_ = 0;  ///< updates of a cell
  GridShape shape_;        ///< of the fields
  ZeroedArray<double> memory_;
  double* state_ = nullptr;  ///< where each room is
  double* trial_ = nullptr;  ///< where it would be
  double* even_ = nullptr;   ///< the terms of an expansion
  double* odd_ = nullptr;
  double* sum_ = nullptr;
  double* source_ = nullptr;  ///< null where there is none
};

}  // namespace

std::unique_ptr<Solver> make_fastforward_solver(Isa isa) {
  require_isa(isa);
  return std::make_unique<FastForwardSolver>(isa);
}

}  // namespace wallheat
