#include <algorithm>
#include <cmath>
#include <string>

#include "solve/convergence.hpp"
#include "solve/cpu/active_blocks.hpp"
#include "solve/cpu/cache_sizes.hpp"
#include "solve/cpu/isa.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

/// How many sweeps, an even number, to make in one pass. The rows in flight, of two fields, should
/// fit the first-level cache with room to spare; where not even those of a few sweeps do, half of
/// the second-level cache, with many sweeps in a pass. The shares were measured.
int sweeps_per_pass(std::size_t row_bytes) {
  constexpr std::size_t few = 4;
  constexpr std::size_t many = 64;
  constexpr std::size_t neighbours = 2;  // rows that the last sweep reads ahead and behind
  const CacheSizes cache = cache_sizes();
  const auto fitting = [&](std::size_t bytes) {
    const std::size_t rows = bytes / (2 * std::max<std::size_t>(row_bytes, 1));
    return std::clamp<std::size_t>(rows, neighbours, many + neighbours) - neighbours;
  };
  std::size_t sweeps = fitting(cache.first * 11 / 20);
  if (sweeps < few)
    sweeps = fitting(cache.first * 3 / 4) >= few ? few : fitting(cache.second * 11 / 20);
  return static_cast<int>(std::max(sweeps - sweeps % 2, few));
}

/// True where fields may be kept fourfold: no value can become so small or large that a factor of
/// four costs it digits.
///
/// Small values come of what spreads from the nearest fixed cell: at a distance of d cells, at
/// least 4^-d of its temperature, as nothing is negative and one path leads there; before it
/// arrives, a start value decays no faster. A row of interior cells that ends at a fixed cell above
/// zero bounds d by its length.
bool fourfold_is_exact(const FloorPlan& plan) {
  constexpr double least = 0x1p-20;
  constexpr double most = 0x1p+20;
  constexpr std::ptrdiff_t farthest = 480;  // 0x1p-20 * 4^-480 is far above the smallest normal
  const auto harmless = [](double value) {
    return value == 0 || (value >= least && value <= most);
  };
  if (!std::all_of(plan.domain.cells.begin(), plan.domain.cells.end(), harmless)) return false;
  for (std::size_t row = 0; row < plan.domain.rows; ++row) {
    const double* values = &plan.domain(row, 0);
    const std::uint8_t* begin = &plan.interior(row, 0);
    const std::uint8_t* end = begin + plan.domain.cols;
    const auto is_interior = [](std::uint8_t cell) { return cell != 0; };
    for (const std::uint8_t* cell = begin; cell != end;) {
      const std::uint8_t* first = std::find_if(cell, end, is_interior);
      const std::uint8_t* last = std::find_if_not(first, end, is_interior);
      const bool warm_end = (first != begin && values[first - begin - 1] > 0) ||
                            (last != end && values[last - begin] > 0);
      if (first != last && (!warm_end || last - first > farthest)) return false;
      cell = last;
    }
  }
  return true;
}

class JacobiSolver final : public Solver {
 public:
  explicit JacobiSolver(Sweeps sweeps) : sweeps_(sweeps) {}

  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                const SolveControl& control) override {
    blocks_.assign(plan.interior);
    const ActiveRows rows = blocks_.rows();
    const int pass = sweeps_per_pass(blocks_.mean_row_bytes());
    // All three start alike: a sweep only writes blocks that hold interior cells.
    const bool fourfold = fourfold_is_exact(plan);
    blocks_.load(plan.domain, 1, current_);
    blocks_.load(plan.domain, fourfold ? 4 : 1, odd_);
    blocks_.load(plan.domain, 1, even_);
    const auto sweep = fourfold ? sweeps_.fourfold : sweeps_.plain;
    const auto sweep_from_odd = fourfold ? sweeps_.with_delta_from_fourfold : sweeps_.with_delta;

    double largest_value = 0;
    for (const double value : plan.domain.cells)
      largest_value = std::max(largest_value, std::abs(value));
    Convergence convergence(limits.tolerance, limits.max_iterations, largest_value);
    while (!convergence.finished()) {
      const std::int64_t window = convergence.window();
      // From `current`, which is kept to go back to, to and fro between the other two. All sweeps
      // but the last are an odd number, so that it goes from `odd` to `even`.
      const double* from = current_.data();
      for (std::int64_t left = window - 1; left > 0;) {
        if (control.stop.stop_requested()) return std::nullopt;
        const int count = static_cast<int>(std::min<std::int64_t>(left, pass));
        sweep({from, odd_.data(), even_.data()}, rows, count);
        left -= count;
        from = even_.data();
      }
      if (control.stop.stop_requested()) return std::nullopt;
      const double delta = window == 1 ? sweeps_.with_delta(current_.data(), even_.data(), rows)
                                       : sweep_from_odd(odd_.data(), even_.data(), rows);
      if (!convergence.accept(delta)) continue;
      std::swap(current_, even_);
      if (control.progress) control.progress(convergence.iterations(), delta);
    }
    Solution result{plan.domain, convergence.iterations(), convergence.last_delta(),
                    convergence.converged()};
    blocks_.store(current_.data(), result.field);
    return result;
  }

 private:
  Sweeps sweeps_;
  ActiveBlocks blocks_;
  CompactField current_;
  CompactField odd_;
  CompactField even_;
};

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

std::unique_ptr<Solver> make_jacobi_solver(Isa isa) {
  const auto available = available_isas();
  if (std::find(available.begin(), available.end(), isa) == available.end()) {
    throw RunError("this processor has no " + std::string(to_string(isa)) +
                   "; choose another --isa or leave the choice to wallheat");
  }
  return std::make_unique<JacobiSolver>(sweeps_for(isa));
}

}  // namespace wallheat
