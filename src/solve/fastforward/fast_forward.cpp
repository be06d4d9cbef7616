#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "solve/cpu/active_blocks.hpp"
#include "solve/distance.hpp"
#include "solve/error_estimate.hpp"
#include "solve/fastforward/power_expansion.hpp"
#include "solve/fastforward/rooms.hpp"
#include "solve/source.hpp"
#include "wallheat/solver.hpp"

// The same iterate as Jacobi's, in far fewer sweeps. An iteration is affine, u -> J u + b, with J
// symmetric, not negative, its row sums at most 1 and its spectrum within (-1, 1). So the change of
// an iteration, d[k] = u[k] - u[k-1], is d[k + m] = J^m d[k]. With T_j the Chebyshev polynomials,
// p at least the largest eigenvalue of a room and x^m = sum of c_j T_j(x), c_j >= 0 and sum 1:
//   d[k + m] = p^m sum of c_j y_j,  y_0 = d[k],  y_1 = J d[k] / p,  y_{j+1} = 2 J y_j / p -
//   y_{j-1}.
// The smaller p, the fewer terms matter, 7.3 sqrt(m) at most (power_expansion.hpp). The same terms
// make the field:
//   u[k + m] = u[k] + (d[k + m] - d[k]) + (1 + J) g,  g = (1 + J^2 + ... + J^(m-2)) d[k].
//
// Where the iteration stops: delta, a norm of d[k], never rises. So one iteration with a delta of
// at least the tolerance proves that none before was the last. Jumps fall short of the end; the
// last iterations are plain ones.
//
// How far a computed delta may be from Jacobi's computed one, by half-epsilons e and the 2-norm
// |.|, in which neither J nor any T_j(J) makes anything larger:
//   - A step of an expansion rounds by 7.6 e |d|: additions of 2, 3 and 4 values, halved and
//     divided by p >= 0.99, a product and a subtraction. What is lost at one step has grown by at
//     most |U_i| <= i + 1 after i more. So y_n is wrong by 7.6 e |d| n (n + 1) / 2, and as the c_j
//     are the chances of a random walk, whose mean of n^2 is m, all of it by p^m 3.8 e |d| (m +
//     sqrt(m)). Coefficients and sum add 3 n e |d| p^m, and that p is rounded m e |d| p^m.
//   - The terms left out make their part of |d|, and what d[k] was wrong by becomes p^m of it.
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
/// What an expansion may leave out: the field is wrong by up to ten times that, measured.
constexpr double tail_at_usual = 5e-12;
/// What counts as doubt of a cell: a multiple of what was measured, 4e-12 of the largest
/// temperature.
constexpr double uncertainty_at_usual = 1e-9;
/// What is promised of the last delta, proven.
constexpr double largest_doubt_at_usual = 1e-8;
/// What an expansion may leave out, in parts of the tolerance: of a room whose end is looked for,
/// and of the others.
constexpr double left_out_of_search = 1e-6;
constexpr double left_out = 1e-6;
/// Rounding would show.
constexpr double highest_temperature = 1000 * usual_temperature;
/// Below, subnormal numbers would count.
constexpr double least_tolerance = 1e-280;

constexpr double half_epsilon = std::numeric_limits<double>::epsilon() / 2;

/// A room and how far it is. The fields hold its blocks; but for `field` they are 0 where there is
/// no cell of the room.
struct RoomState {
  Room room;
  CellPlace origin;  ///< of the part of the plan that is around it
  ActiveBlocks blocks;
  double* field = nullptr;   ///< where the room is
  double* change = nullptr;  ///< what its last iteration changed
  double* even = nullptr;    ///< the terms of an expansion
  double* odd = nullptr;
  double* sum = nullptr;     ///< the change where a jump leads
  double* growth = nullptr;  ///< g
  double* source = nullptr;  ///< null where there is none
  double estimate = 0;
  std::int64_t iterations = 0;
  FieldSize measured{};  ///< of the last change
  double delta = std::numeric_limits<double>::quiet_NaN();
  double error = 0;  ///< the 2-norm by which the change may be wrong
  /// An upper bound on the sum of all J^i 1, where it was asked for.
  double stay = std::numeric_limits<double>::infinity();
};

/// Where a jump leads.
struct Landing {
  FieldSize measured;
  double delta;
  double error;
};

struct Stopped {};  // by the user
struct InDoubt {};  // the end cannot be proven

class FastForwardSolver final : public Solver {
 public:
  explicit FastForwardSolver(Isa isa) : sweeps_(sweeps_for(isa)), exact_(make_jacobi_solver(isa)) {}

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
    if (limits.max_iterations < worth_it || largest > highest_temperature ||
        (limits.tolerance > 0 && limits.tolerance < least_tolerance))
      return std::nullopt;
    if (control.stop.stop_requested()) throw Stopped();
    limits_ = limits;
    control_ = &control;
    largest_tail_ = tail_at_usual / scale;
    const auto cells = static_cast<double>(std::max<std::int64_t>(count_interior(plan), 1));
    constexpr double slack = 1.02;  // for terms of second order
    rounding_ = (with_source ? 3.25 : 2.25) * slack * half_epsilon * largest;
    if (limits.norm == Norm::l2) rounding_ *= std::sqrt(cells);
    // Jacobi's own subtractions; of the 2-norm its sum, in numpy's order, and that of sweep.hpp.
    norm_rounding_ = (100 + cells / block_width) * half_epsilon * limits.tolerance;

    std::vector<RoomState> rooms = ranked_rooms(plan, largest);
    if (rooms.empty()) return std::nullopt;
    const double estimate = rooms.front().estimate;
    if (!(estimate >= worth_it)) return std::nullopt;
    if (limits.tolerance > 0 && estimate < static_cast<double>(limits.max_iterations)) {
      // Deltas near the end are some `tolerance / estimate` apart.
      const double doubt = rounding_ * (limits.norm == Norm::max ? 0.25 * estimate : 1);
      if (limits.tolerance < doubt * estimate) return std::nullopt;
    }
    load(plan, terms, rooms);
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
      room.blocks.store(room.field, result.field, room.origin);
    }
    result.error_estimate = estimate_of_a_cell(result.error_estimate, plan, limits.norm);
    result.converged = result.last_delta < limits.tolerance;
    result.uncertainty = uncertainty_at_usual * scale;
    result.sweeps = static_cast<double>(work_) / static_cast<double>(all_cells);
    return result;
  }

  /// The one that will take longest first, those that are done well before it as one.
  [[nodiscard]] std::vector<RoomState> ranked_rooms(const FloorPlan& plan, double largest) const {
    // All rooms count in the 2-norm, so they are taken to the end together.
    const bool apart = limits_.norm == Norm::max;
    const std::int64_t small = apart ? 1000 : std::numeric_limits<std::int64_t>::max();  // cells
    std::vector<RoomState> states;
    for (Room& room : find_rooms(plan.interior, small)) {
      states.emplace_back();
      RoomState& state = states.back();
      state.room = std::move(room);
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
    // Together they have longer runs. One jump will do for them all.
    constexpr double well_before = 0.95;
    const auto rest = std::find_if(states.begin(), states.end(), [&](const RoomState& state) {
      return state.estimate < well_before * states.front().estimate;
    });
    if (rest == states.end()) return states;
    std::vector<Room> rooms;
    for (auto state = rest; state != states.end(); ++state) rooms.push_back(std::move(state->room));
    rest->room = united(rooms);
    states.erase(rest + 1, states.end());
    return states;
  }

  /// Gives each room its blocks and fields.
  void load(const FloorPlan& plan, const Grid<double>& terms, std::vector<RoomState>& rooms) {
    std::size_t cells = 0;
    for (RoomState& room : rooms) {
      const std::size_t top = room.room.runs.front().row;
      room.origin = {top, room.room.left / block_width * block_width};
      Grid<std::uint8_t> interior(room.room.runs.back().row + 1 - top,
                                  room.room.right - room.origin.col);
      for (const CellRun& run : room.room.runs)
        std::fill_n(&interior(run.row - top, run.begin - room.origin.col), run.end - run.begin,
                    std::uint8_t{1});
      room.blocks.assign(interior, sweeps_);
      cells += room.blocks.size();
    }
    const bool with_source = !terms.cells.empty();
    fields_.resize(with_source ? 7 : 6, cells);
    cells = 0;
    for (RoomState& room : rooms) {
      double** const fields[] = {&room.field, &room.change, &room.even,  &room.odd,
                                 &room.sum,   &room.growth, &room.source};
      for (std::size_t i = 0; i < (with_source ? 7 : 6); ++i) *fields[i] = fields_[i] + cells;
      cells += room.blocks.size();
      room.blocks.load(plan.domain, room.field, room.origin);
      // Of a sum or a change all is written before it is read.
      std::fill_n(room.even, room.blocks.size(), 0.0);
      std::fill_n(room.odd, room.blocks.size(), 0.0);
      if (!with_source) continue;
      std::fill_n(room.source, room.blocks.size(), 0.0);
      room.blocks.for_each_cell([&](std::size_t place, std::size_t row, std::size_t col) {
        room.source[place] = terms(room.origin.row + row, room.origin.col + col);
      });
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

  /// About where a room ended that is at `target` in its `sum`, past its end: the decay of delta
  /// there, which was faster before if anything, goes back to the tolerance. `target` where it
  /// does not decay any more.
  std::int64_t end_before(const RoomState& room, std::int64_t target, double delta) {
    const double after = delta_after_two(room, room.sum);
    const double back = std::log(limits_.tolerance / delta) / (std::log(delta / after) / 2);
    constexpr std::int64_t margin = 4;
    return back > 0 && back < static_cast<double>(target - room.iterations)
               ? target - static_cast<std::int64_t>(back) - margin
               : target;
  }

  /// Of a room at the end. By two further changes, as the modes near -1 alternate.
  double error_estimate(const RoomState& room) {
    const double after = delta_after_two(room, room.change);
    return error_by_decay(room.delta, after, -2);
  }

  /// The delta two iterations after a change.
  double delta_after_two(const RoomState& room, const double* change) {
    step(room, change, room.even);
    step(room, room.even, room.odd);
    count_work(room, room.iterations, 2);
    return delta_of(size(room, room.odd));
  }

  /// to = J from, both of which are 0 outside of the room
  void step(const RoomState& room, const double* from, double* to) const {
    sweeps_.sweep({from, to, to}, room.blocks.runs(0, room.blocks.fronts()), 1);
  }

  /// Of a change, before the next one is known.
  [[nodiscard]] FieldSize size(const RoomState& room, const double* change) const {
    FieldSize size = sweeps_.size(room.blocks.size(), change, change);
    size.turned = 4 * size.squares;  // J - 1 makes nothing more than twice as large
    return size;
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
    const double turn = (std::sqrt(room.measured.turned) + 2 * room.error) / room.delta;
    const double made = std::min(static_cast<double>(room.iterations), room.stay);
    const double of_smooth =
        1.01 * rounding_ * (4 + made * turn) + 0.51 * jacobi * jacobi / room.delta + norm_rounding_;
    return room.error + std::min(jacobi, of_smooth);
  }

  /// Makes the first iteration.
  void begin(RoomState& room) {
    const std::size_t cells = room.blocks.size();
    std::copy_n(room.field, cells, room.sum);
    step(room, room.field, room.sum);
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const double next =
          room.source != nullptr ? room.sum[cell] + 0.25 * room.source[cell] : room.sum[cell];
      room.change[cell] = next - room.field[cell];
      room.field[cell] += room.change[cell];
    }
    count_work(room, 0);
    room.iterations = 1;
    room.measured = size(room, room.change);
    room.delta = delta_of(room.measured);
  }

  void sweep(RoomState& room) {
    room.error += 3 * half_epsilon * std::sqrt(room.measured.squares);
    step(room, room.change, room.even);
    room.measured = sweeps_.take(room.blocks.size(), room.even, room.change, room.field);
    count_work(room, room.iterations);
    ++room.iterations;
    room.delta = delta_of(room.measured);
  }

  /// Leaves in a room's `sum` its change `count` iterations from where it is, an even number, and
  /// in `growth` what accept() needs for the field.
  Landing jump(const RoomState& room, std::int64_t count, double share = left_out) {
    const double length = std::sqrt(room.measured.squares);
    const double tail = limits_.tolerance > 0
                            ? std::min(largest_tail_, share * limits_.tolerance / length)
                            : largest_tail_;
    const Expanded expanded = expand(room, room.change, count, tail);
    const FieldSize measured = size(room, room.sum);
    return {measured, delta_of(measured),
            (expanded.damping + expanded.left_out) * room.error +
                (expanded.left_out + expanded.rounding) * length};
  }

  /// An upper bound on the sum of all J^i 1: how long a random walk stays in the room at most.
  double longest_stay(const RoomState& room) {
    room.blocks.for_each_cell(
        [&](std::size_t place, std::size_t, std::size_t) { room.odd[place] = 1; });
    // About as long as J^i 1 takes to become small, if the iteration is near its end.
    const std::int64_t count = std::max<std::int64_t>(room.iterations / 16 * 2, worth_a_jump);
    const Expanded expanded = expand(room, room.odd, count, largest_tail_);
    // With what was rounded, in each norm. That of g is at most sum of a_j (7.6 e) j^2 / 2.
    const auto m = static_cast<double>(count);
    const double root = std::sqrt(static_cast<double>(room.room.cells));
    const double growth_rounding =
        half_epsilon * m * (m + 6 * static_cast<double>(expanded.terms)) * root;
    const double most = size(room, room.growth).largest + growth_rounding;
    const double left = size(room, room.sum).largest + expanded.rounding * root;
    return left < 1 ? 2 * most / (1 - left) : std::numeric_limits<double>::infinity();
  }

  /// What an expansion came to; all but the first number in parts of the 2-norm of its start.
  struct Expanded {
    std::size_t terms;
    double damping;   ///< by which J^count makes anything smaller, at least
    double left_out;  ///< at most
    double rounding;  ///< at most
  };

  /// Sums up in a room's `sum` J^count of a start, an even number, and in `growth` its g.
  Expanded expand(const RoomState& room, const double* start, std::int64_t count, double tail) {
    // A much smaller radius would save no more, and numbers would become too small.
    const double radius =
        std::max({room.room.largest_eigenvalue, 0.99, 1 - 64 / static_cast<double>(count)});
    PowerExpansion expansion = power_expansion(count, radius, tail);
    std::vector<double>& power = expansion.power;
    std::vector<double>& growth = expansion.growth;
    const std::size_t terms = 2 * power.size() - 1;
    const std::size_t cells = room.blocks.size();
    sweeps_.scale(cells, 1, start, room.even);
    sweeps_.scale(cells, power[0], start, room.sum);
    sweeps_.scale(cells, growth[0], start, room.growth);
    step(room, room.even, room.odd);
    sweeps_.scale(cells, 1 / radius, room.odd, room.odd);
    // Each set of four levels makes two even terms, which are added to the sums together.
    const std::size_t made = (terms + most_levels - 2) / most_levels * most_levels;
    power.resize(made / 2 + 1);
    growth.resize(made / 2 + 1);
    const ExpansionFields fields{room.even, room.odd, room.sum, room.growth, 0.5 / radius};
    for (std::size_t first = 0; first < made; first += sweeps_a_pass) {
      const std::size_t in_pass = std::min(sweeps_a_pass, made - first);
      const bool passed = room.blocks.pass(
          in_pass, control_->stop, [&](std::size_t number, const Runs& runs, int levels) {
            const std::size_t term = first + number + static_cast<std::size_t>(levels);
            const std::size_t even = term / 2;
            const TermShares shares{power[even - 1], power[even], growth[even - 1], growth[even]};
            sweeps_.expand(fields, runs, term % most_levels == 0 ? &shares : nullptr);
          });
      if (!passed) throw Stopped();
      count_work(room,
                 room.iterations +
                     count * static_cast<std::int64_t>(first) / static_cast<std::int64_t>(made),
                 static_cast<std::int64_t>(in_pass));
    }
    count_work(room, room.iterations + count, 2);
    const double rounded = 5 * static_cast<double>(count) + 6 * static_cast<double>(terms);
    return {terms, expansion.damping, expansion.left_out,
            half_epsilon * expansion.damping * rounded};
  }

  [[nodiscard]] double delta_of(const FieldSize& change) const {
    return limits_.norm == Norm::max ? change.largest : std::sqrt(change.squares);
  }

  /// Takes a room to where a jump just led.
  void accept(RoomState& room, std::int64_t iterations, const Landing& landing) {
    step(room, room.growth, room.even);
    sweeps_.take_jump(room.blocks.size(), room.sum, room.growth, room.even, room.change,
                      room.field);
    room.iterations = iterations;
    room.measured = landing.measured;
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

  Sweeps sweeps_;
  std::unique_ptr<Solver> exact_;
  Limits limits_;
  const SolveControl* control_ = nullptr;
  double largest_tail_ = 0;
  double rounding_ = 0;       ///< of one of Jacobi's iterates, in the norm of delta
  double norm_rounding_ = 0;  ///< of a delta of the tolerance
  std::int64_t work_ = 0;     ///< updates of a cell
  CompactFields fields_;
};

}  // namespace

std::unique_ptr<Solver> make_fastforward_solver(Isa isa) {
  require_isa(isa);
  return std::make_unique<FastForwardSolver>(isa);
}

}  // namespace wallheat
