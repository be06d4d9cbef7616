#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "solve/distance.hpp"
#include "solve/error_estimate.hpp"
#include "solve/fastforward/power_expansion.hpp"
#include "solve/fastforward/rooms.hpp"
#include "solve/source.hpp"
#include "solve/zeroed_array.hpp"
#include "wallheat/solver.hpp"

// The same iterate as Jacobi's, in far fewer sweeps. An iteration is affine, u -> J u + b, with J
// symmetric, not negative, its row sums at most 1 and its spectrum within (-1, 1). So the change of
// an iteration, d[k] = u[k] - u[k-1], is d[k + m] = J^m d[k]. With T_j the Chebyshev polynomials
// and x^m = sum of c_j T_j(x), c_j >= 0 and sum 1, that is a convex combination:
//   d[k + m] = sum of c_j y_j,  y_0 = d[k],  y_1 = J d[k],  y_{j+1} = 2 J y_j - y_{j-1}.
// About 6.8 sqrt(m) terms matter (power_expansion.hpp). The same terms make the field:
//   u[k + m] = u[k] + (d[k + m] - d[k]) + (1 + J) g,  g = (1 + J^2 + ... + J^(m-2)) d[k].
//
// Where the iteration stops: delta, a norm of d[k], never rises. So one iteration with a delta of
// at least the tolerance proves that none before was the last. Jumps fall short of the end; the
// last iterations are plain ones.
//
// How far a computed delta may be from Jacobi's computed one, by half-epsilons e and the 2-norm
// |.|, in which neither J nor any T_j(J) makes anything larger:
//   - A step of an expansion rounds by 5.5 e |d|: additions of 2, 3 and 4 values, halved, and a
//     subtraction. What is lost at one step has grown by at most |U_i| <= i + 1 after i more. So
//     y_n is wrong by 5.5 e |d| n (n + 1) / 2, and as the c_j are the chances of a random walk,
//     whose mean of n^2 is m, all of it by 2.75 e |d| (m + sqrt(m)). Coefficients and sum add 3 n e
//     |d|.
//   - The terms left out, and that the others are made to sum up to 1, make 2 tail |d|.
//   - A plain sweep makes 2.25 e |d|.
//   All of that is relative to the change at the start of a jump, not to the field.
//   - Jacobi itself rounds an iterate by r = 2.25 e (with a source 3.25 e) times the largest
//     temperature. Its d[k] is wrong by the last of these errors and by the sum of (J - 1) J^i
//     times those before: by 2 r k in the maximum norm, 2 r k sqrt(cells) in the 2-norm.
//   - Any bound on the sum of all J^i 1 may stand for k. With g of a change of 1 everywhere,
//     (1 - J^2) g = 1 - J^m 1, so by the maximum principle 2 max(g) / (1 - max(J^m 1)) is one.
//   - The 2-norm of d + E differs from that of d by <E, d> / |d| and a term of second order. J is
//     symmetric, so <(J - 1) J^i r, d> <= |r| |J^i| |(J - 1) d|: little where d is smooth.

namespace wallheat {
namespace {

/// Below so many iterations the plain sweeps of the exact solver are as fast.
constexpr std::int64_t worth_it = 1000;
constexpr std::int64_t worth_a_jump = 60;
/// So many plain sweeps end a room that stops at a limit: they damp what an expansion left out.
constexpr std::int64_t last_sweeps = 32;
/// The temperature for which the next two hold; beyond, they grow in proportion.
constexpr double usual_temperature = 25;
/// The mass of the coefficients left out: the field is wrong by up to 40 times 25 of it, measured.
constexpr double tail_at_usual = 2e-12;
/// What is promised of a cell, as measured.
constexpr double uncertainty_at_usual = 1e-9;
/// What is promised of the last delta, proven.
constexpr double largest_doubt_at_usual = 1e-8;
/// What an expansion may leave out, in parts of the tolerance: of a room whose end is looked for,
/// and of the others.
constexpr double left_out_of_search = 1e-7;
constexpr double left_out = 1e-6;
/// Rounding would show.
constexpr double highest_temperature = 1000 * usual_temperature;
/// Below, subnormal numbers would count.
constexpr double least_tolerance = 1e-280;

constexpr double half_epsilon = std::numeric_limits<double>::epsilon() / 2;

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
  RoomSize change{};  ///< the last one's
  double delta = std::numeric_limits<double>::quiet_NaN();
  double error = 0;  ///< the 2-norm by which the change may be wrong
  /// An upper bound on the sum of all J^i 1, where it was asked for.
  double stay = std::numeric_limits<double>::infinity();
};

/// Where a jump leads.
struct Landing {
  RoomSize change;
  double delta;
  double error;
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
        (limits.tolerance > 0 && limits.tolerance < least_tolerance) ||
        layout.size() > std::numeric_limits<std::uint32_t>::max())
      return std::nullopt;
    if (control.stop.stop_requested()) throw Stopped();
    limits_ = limits;
    control_ = &control;
    largest_tail_ = tail_at_usual / scale;
    const auto cells = static_cast<double>(std::max<std::int64_t>(count_interior(plan), 1));
    constexpr double slack = 1.02;  // for terms of second order
    rounding_ = (with_source ? 3.25 : 2.25) * slack * half_epsilon * largest;
    if (limits.norm == Norm::l2) rounding_ *= std::sqrt(cells);
    // Jacobi's own subtractions; of the 2-norm its sum, in numpy's order, and that of sweeps.hpp.
    norm_rounding_ = (100 + cells / room_block) * half_epsilon * limits.tolerance;

    std::vector<RoomState> rooms = ranked_rooms(plan, layout, largest);
    if (rooms.empty()) return std::nullopt;
    const double estimate = rooms.front().estimate;
    if (!(estimate >= worth_it)) return std::nullopt;
    if (limits.tolerance > 0 && estimate < static_cast<double>(limits.max_iterations)) {
      // Deltas near the end are some `tolerance / estimate` apart.
      const double doubt = rounding_ * (limits.norm == Norm::max ? 0.25 * estimate : 1);
      if (limits.tolerance < doubt * estimate) return std::nullopt;
    }
    load(plan.domain, terms, layout);
    work_ = 0;
    for (RoomState& room : rooms) begin(room);
    std::int64_t end = limits.max_iterations;
    if (limits.tolerance > 0) end = find_end(rooms);
    Solution result{plan.domain, end, 0, false};
    result.error_estimate = 0;
    std::int64_t all_cells = 0;
    for (RoomState& room : rooms) {
      advance(room, end);
      check(room);
      result.last_delta = std::max(result.last_delta, room.delta);
      if (!(doubt(room) <=
            largest_doubt_at_usual * scale * (limits.norm == Norm::l2 ? std::sqrt(cells) : 1)))
        throw InDoubt();
      result.error_estimate = std::max(result.error_estimate, error_estimate(room));
      all_cells += room.room.cells;
      for (const CellRun& run : room.room.runs)
        std::copy_n(field_ + layout.cell(run.row, run.begin), run.end - run.begin,
                    &result.field(run.row, run.begin));
    }
    result.error_estimate = estimate_of_a_cell(result.error_estimate, plan, limits.norm);
    result.converged = result.last_delta < limits.tolerance;
    result.uncertainty = uncertainty_at_usual * scale;
    result.sweeps = static_cast<double>(work_) / static_cast<double>(all_cells);
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
    std::vector<double**> fields{&field_, &change_, &even_, &odd_, &sum_, &growth_};
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
      for (std::size_t row = 0; row < domain.rows; ++row) {
        double* const to = *field + layout.cell(row, 0);
        if (field == &field_)
          std::copy_n(&domain(row, 0), domain.cols, to);
        else if (field == &source_)
          std::copy_n(&terms(row, 0), domain.cols, to);
        else
          std::fill_n(to, domain.cols, 0.0);  // walls do not change
      }
    }
  }

  /// The iteration with which all rooms are below the tolerance, or the limit.
  std::int64_t find_end(std::vector<RoomState>& rooms) {
    find_end_of(rooms.front());
    std::int64_t end = rooms.front().iterations;
    double last = rooms.front().delta;  // the largest at the end
    for (std::size_t i = 1; i < rooms.size(); ++i) {
      // One jump to the end. Where it does not show clearly that the room was below the tolerance
      // by then, and that its delta is not the largest, it is not taken.
      RoomState& room = rooms[i];
      if (end - room.iterations > worth_a_jump) {
        if ((end - room.iterations) % 2 != 0) sweep(room);
        const Landing landing = jump(room, end - room.iterations);
        if (landing.delta <
            std::min(last, limits_.tolerance) - doubt(landing.error, end, room.stay)) {
          accept(room, end, landing);
          continue;
        }
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
    constexpr std::int64_t first_sweeps = 16;
    constexpr std::int64_t some_sweeps = 4;
    constexpr double first_share = 0.8;
    check(room);
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

  /// Jumps to about an iteration or, where that may be past the end, less far; or stays.
  void jump_towards(RoomState& room, std::int64_t target) {
    while (target - room.iterations > worth_a_jump) {
      target -= (target - room.iterations) % 2;
      const Landing landing = jump(room, target - room.iterations, left_out_of_search);
      if (landing.delta >= limits_.tolerance + doubt(landing.error, target, room.stay)) {
        accept(room, target, landing);
        return;
      }
      const std::int64_t shorter = room.iterations + (target - room.iterations) * 17 / 20;
      target = std::min(shorter, end_before(room, target, landing.delta));
    }
  }

  /// About where a room ended that is at `target` in `sum_`, past its end: the decay of delta
  /// there, which was faster before if anything, goes back to the tolerance. `target` where it
  /// does not decay any more.
  std::int64_t end_before(const RoomState& room, std::int64_t target, double delta) {
    (void)sweeps_.step(room.rows, sum_, even_);
    const double after = delta_of(sweeps_.step(room.rows, even_, odd_));
    count_work(room, room.iterations, 2);
    const double back = std::log(limits_.tolerance / delta) / (std::log(delta / after) / 2);
    constexpr std::int64_t margin = 4;
    return back > 0 && back < static_cast<double>(target - room.iterations)
               ? target - static_cast<std::int64_t>(back) - margin
               : target;
  }

  /// Of a room at the end. By two further changes, as the modes near -1 alternate.
  double error_estimate(const RoomState& room) {
    (void)sweeps_.step(room.rows, change_, even_);
    const double after = delta_of(sweeps_.step(room.rows, even_, odd_));
    count_work(room, room.iterations, 2);
    return error_by_decay(room.delta, after, -2);
  }

  /// Takes a room to an iteration that it has not passed.
  void advance(RoomState& room, std::int64_t iteration) {
    std::int64_t target = iteration - last_sweeps;
    if (target - room.iterations > worth_a_jump) {
      target -= (target - room.iterations) % 2;
      accept(room, target, jump(room, target - room.iterations));
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
      check(room);
    }
    return last_but_one;
  }

  /// Throws InDoubt if a delta is too near to the tolerance.
  void check(RoomState& room) {
    const auto in_doubt = [&] {
      return limits_.tolerance > 0 && !(std::abs(room.delta - limits_.tolerance) > doubt(room));
    };
    if (!in_doubt()) return;
    if (std::isinf(room.stay)) room.stay = longest_stay(room);
    if (in_doubt()) throw InDoubt();
  }

  /// How far a delta may be from the one that Jacobi computes at this iteration, with a change that
  /// may be wrong by `error`. The first change counts like two iterations.
  [[nodiscard]] double doubt(double error, std::int64_t iterations, double stay) const {
    const double made = std::min(static_cast<double>(iterations), stay);
    return error + 2 * rounding_ * (made + 2) + norm_rounding_;
  }

  [[nodiscard]] double doubt(const RoomState& room) const {
    const double any = doubt(room.error, room.iterations, room.stay);
    const double jacobi = any - room.error;
    if (limits_.norm == Norm::max || !(jacobi < 0.01 * room.delta)) return any;
    // How much a further step would turn the change, at most, in parts of it.
    const double turn = (std::sqrt(room.change.turned) + 2 * room.error) / room.delta;
    const double made = std::min(static_cast<double>(room.iterations), room.stay);
    const double of_smooth =
        1.01 * rounding_ * (4 + made * turn) + 0.51 * jacobi * jacobi / room.delta + norm_rounding_;
    return room.error + std::min(jacobi, of_smooth);
  }

  /// Makes the first iteration.
  void begin(RoomState& room) {
    sweeps_.first_change(room.rows, field_, change_, source_);
    sweeps_.take(room.rows, change_, change_, field_);
    count_work(room, 0);
    room.iterations = 1;
    room.change = sweeps_.size(room.rows, change_);
    room.delta = delta_of(room.change);
  }

  void sweep(RoomState& room) {
    room.error += 3 * half_epsilon * std::sqrt(room.change.squares);
    room.change = sweeps_.step(room.rows, change_, even_);
    sweeps_.take(room.rows, even_, change_, field_);
    count_work(room, room.iterations);
    ++room.iterations;
    room.delta = delta_of(room.change);
  }

  /// Leaves in `sum_` the change of a room `count` iterations from where it is, an even number, and
  /// in `growth_` what accept() needs for the field.
  Landing jump(const RoomState& room, std::int64_t count, double share = left_out) {
    const double length = std::sqrt(room.change.squares);
    const double tail = limits_.tolerance > 0
                            ? std::min(largest_tail_, share * limits_.tolerance / length)
                            : largest_tail_;
    const std::size_t terms = expand(room, change_, count, tail);
    const RoomSize change = sweeps_.size(room.rows, sum_);
    const double error = room.error + (2 * tail + rounding_of(count, terms)) * length;
    return {change, delta_of(change), error};
  }

  /// Of an expansion, in parts of the 2-norm of its start.
  static double rounding_of(std::int64_t count, std::size_t terms) {
    return half_epsilon * (3 * static_cast<double>(count) + 6 * static_cast<double>(terms));
  }

  /// An upper bound on the sum of all J^i 1: how long a random walk stays in the room at most.
  double longest_stay(const RoomState& room) {
    const RoomLayout layout(shape_);
    for (const CellRun& run : room.room.runs)
      std::fill_n(odd_ + layout.cell(run.row, run.begin), run.end - run.begin, 1.0);
    // About as long as J^i 1 takes to become small, if the iteration is near its end.
    const std::int64_t count = std::max<std::int64_t>(room.iterations / 16 * 2, worth_a_jump);
    const std::size_t terms = expand(room, odd_, count, largest_tail_);
    // With what was rounded, in each norm. That of g is at most sum of a_j (5.5 e) j^2 / 2.
    const auto m = static_cast<double>(count);
    const double root = std::sqrt(static_cast<double>(room.room.cells));
    const double growth_rounding = half_epsilon * m * (m + 6 * static_cast<double>(terms)) * root;
    const double most = sweeps_.size(room.rows, growth_).largest + growth_rounding;
    const double left = sweeps_.size(room.rows, sum_).largest + rounding_of(count, terms) * root;
    return left < 1 ? 2 * most / (1 - left) : std::numeric_limits<double>::infinity();
  }

  /// Sums up in `sum_` J^count of a start, an even number, and in `growth_` its g. Returns the
  /// number of terms.
  std::size_t expand(const RoomState& room, const double* start, std::int64_t count, double tail) {
    const RoomRows& rows = room.rows;
    const std::vector<double> factors = power_expansion(count, tail);
    const std::vector<double> growth = sum_of_even_powers(factors);
    sweeps_.scale(rows, 1, start, even_);
    sweeps_.scale(rows, factors[0], start, sum_);
    sweeps_.scale(rows, growth[0], start, growth_);
    (void)sweeps_.step(rows, even_, odd_);
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
          // Every second pair adds two terms to the sums, and the last one what is left over.
          const std::size_t number = first_pair + pair;
          const std::size_t term = 2 * number;
          const bool both = number % 2 == 1;
          const TermShares shares{both ? factors[term] : 0, factors[term + 2],
                                  both ? growth[term] : 0, growth[term + 2]};
          const bool adds = both || number + 1 == pairs;
          sweeps_.expand(room.pairs, begin, end, {even_, odd_, sum_, growth_},
                         adds ? &shares : nullptr);
        }
      }
      count_work(room,
                 room.iterations + count * static_cast<std::int64_t>(first_pair) /
                                       static_cast<std::int64_t>(pairs),
                 static_cast<std::int64_t>(2 * in_group));
    }
    count_work(room, room.iterations + count, 2);
    return factors.size();
  }

  [[nodiscard]] double delta_of(const RoomSize& change) const {
    return limits_.norm == Norm::max ? change.largest : std::sqrt(change.squares);
  }

  /// Takes a room to where a jump just led.
  void accept(RoomState& room, std::int64_t iterations, const Landing& landing) {
    (void)sweeps_.step(room.rows, growth_, even_);
    sweeps_.take_jump(room.rows, sum_, growth_, even_, change_, field_);
    room.iterations = iterations;
    room.change = landing.change;
    room.delta = landing.delta;
    room.error = landing.error;
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
  double largest_tail_ = 0;
  double rounding_ = 0;       ///< of one of Jacobi's iterates, in the norm of delta
  double norm_rounding_ = 0;  ///< of a delta of the tolerance
  std::int64_t work_ = 0;     ///< updates of a cell
  GridShape shape_;           ///< of the fields
  ZeroedArray<double> memory_;
  double* field_ = nullptr;   ///< where each room is
  double* change_ = nullptr;  ///< what its last iteration changed
  double* even_ = nullptr;    ///< the terms of an expansion
  double* odd_ = nullptr;
  double* sum_ = nullptr;     ///< the change where a jump leads
  double* growth_ = nullptr;  ///< g
  double* source_ = nullptr;  ///< null where there is none
};

}  // namespace

std::unique_ptr<Solver> make_fastforward_solver(Isa isa) {
  require_isa(isa);
  return std::make_unique<FastForwardSolver>(isa);
}

}  // namespace wallheat
