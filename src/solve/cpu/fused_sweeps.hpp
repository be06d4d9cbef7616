#pragma once

#include "solve/cpu/sweep.hpp"
#include "solve/cpu/vector.hpp"

// The implementation of SweepKernels. Include this header only in the files that are compiled once
// per instruction set. Everything is in an unnamed namespace; sweep.hpp explains why.

namespace wallheat {
namespace {

using Type = Vector::Type;

/// Number of fused sweeps.
constexpr int fused_levels = Vector::lanes == 8 ? 4 : 2;

// Layouts of a block. A layout is the order in which the cells of a block are stored, and adds the
// left and right neighbours along a row. The neighbours are shifted within registers, because an
// unaligned load would read two cache lines.

/// Cells are stored in the order of their columns. isa.cpp selects the processors that use this.
class InOrder {
 public:
  /// Number of vectors that are updated together.
  static constexpr int group = 1;
  /// Returns the column of a stored cell of a block.
  static constexpr int column(int cell) { return cell; }

  InOrder() = default;
  [[gnu::always_inline]] explicit InOrder(const double* cell)
      : here_(Vector::load(cell)), left_(Vector::left(Vector::load(cell - Vector::lanes), here_)) {}

  /// Sets the values of a group of cells that starts at `cell`, and the sums of their left and
  /// right neighbours. Each call must be for the cells after those of the previous call.
  [[gnu::always_inline]] void next(const double* cell, Type (&values)[group], Type (&sums)[group]) {
    const Type after = Vector::load(cell + Vector::lanes);
    values[0] = here_;
    sums[0] = left_ + Vector::right(here_, after);
    left_ = Vector::left(here_, after);
    here_ = after;
  }

 private:
  Type here_;
  Type left_;  ///< left neighbours of here_
};

/// The first vector of each pair contains the even columns, and the second one the odd columns. The
/// right neighbours of the first and the left neighbours of the second need no shift, so a cell
/// takes half as many shifts as with InOrder. On 43 real plans, Jacobi's iteration was 1.08 times
/// as fast with AVX-512, and 1.12 times with AVX2 (AMD Zen 4). A prototype was 1.15 and 1.12 times
/// as fast on an Intel Sapphire Rapids.
///
/// Omitting the multiplication in every second level was slower on Zen 4, because fixed cells then
/// have different values in the two fields, which must be loaded.
class EvenOdd {
 public:
  static constexpr int group = 2;
  static constexpr int column(int cell) {
    const int in_pair = cell % (2 * Vector::lanes);
    return cell - in_pair + 2 * (in_pair % Vector::lanes) + in_pair / Vector::lanes;
  }

  EvenOdd() = default;
  [[gnu::always_inline]] explicit EvenOdd(const double* cell)
      : even_(Vector::load(cell)), odd_before_(Vector::load(cell - Vector::lanes)) {}

  [[gnu::always_inline]] void next(const double* cell, Type (&values)[group], Type (&sums)[group]) {
    const Type odd = Vector::load(cell + Vector::lanes);
    const Type even_after = Vector::load(cell + 2 * Vector::lanes);
    values[0] = even_;
    values[1] = odd;
    sums[0] = Vector::left(odd_before_, odd) + odd;
    sums[1] = even_ + Vector::right(even_, even_after);
    even_ = even_after;
    odd_before_ = odd;
  }

 private:
  Type even_;
  Type odd_before_;  ///< odd columns of the previous pair
};

/// Number of cells per block: at least eight, and a whole number of groups.
template <class Layout>
constexpr int block_cells = Vector::lanes* Layout::group > 8 ? Vector::lanes* Layout::group : 8;

/// Computes the Jacobi iteration of a vector of cells.
template <bool with_delta, bool with_source>
class JacobiStep {
 public:
  static constexpr bool in_place = false;

  [[gnu::always_inline]] JacobiStep(const SweepFields& fields, const BlockRun& /*run*/) {
    if constexpr (with_source) source_ = fields.source - fields.even;
  }

  /// Returns the new values of the vector at `to`, from its old values and the sums of the
  /// neighbours. `cell` is the offset of the vector from the first one of its group. blend(value,
  /// fixed) returns `fixed` in fixed cells, and `value` in all others.
  template <int level, class Blend>
  [[gnu::always_inline]] Type next(Type sum, Type old, const double* row, const double* /*to*/,
                                   std::ptrdiff_t /*cell*/, Blend blend) {
    if constexpr (with_source) sum += Vector::load(row + source_);
    const Type value = blend(0.25 * sum, old);
    if constexpr (with_delta) largest_ = Vector::larger(largest_, Vector::magnitude(value - old));
    return value;
  }

  [[gnu::always_inline]] void advance(std::ptrdiff_t cells) {
    if constexpr (with_source) source_ += cells;
  }

  [[nodiscard]] Type largest() const { return largest_; }

 private:
  std::ptrdiff_t source_ = 0;  ///< offset from a row of `even` to the current cells of the source
  Type largest_{};
};

/// Computes the next term of an expansion for a vector of cells: the factor times the sum of the
/// neighbours in the previous term, minus the term before that, in whose place the result is
/// stored. If `with_sums`, adds the last two even terms of a walk, multiplied by `shares`, to the
/// sums.
template <bool with_sums>
class ExpansionStep {
 public:
  static constexpr bool in_place = true;

  [[gnu::always_inline]] ExpansionStep(const ExpansionFields& fields, const TermShares& shares,
                                       const BlockRun& run)
      : sum_(fields.sum + run.cell[summed + 1]),
        growth_(fields.growth + run.cell[summed + 1]),
        factor_(fields.factor),
        shares_(shares) {}

  template <int level, class Blend>
  [[gnu::always_inline]] Type next(Type sum, Type /*old*/, const double* /*row*/, const double* to,
                                   std::ptrdiff_t cell, Blend blend) {
    const Type before = Vector::load(to);
    const Type value = blend(factor_ * sum - before, before);
    if constexpr (with_sums && level == summed) {
      add(sum_ + cell, shares_.before * before + shares_.after * value);
      add(growth_ + cell, shares_.growth_before * before + shares_.growth_after * value);
    }
    return value;
  }

  [[gnu::always_inline]] void advance(std::ptrdiff_t cells) {
    sum_ += cells;
    growth_ += cells;
  }

 private:
  static constexpr int summed = fused_levels - 2;

  [[gnu::always_inline]] static void add(double* to, Type value) {
    Vector::store(to, Vector::load(to) + value);
  }

  double* sum_;
  double* growth_;
  double factor_;
  TermShares shares_;
};

/// Updates a run of front f, block by block. In each block, level k updates row f - k. The row
/// below it is the row that level k - 1 has just updated, so its values are still in registers.
///
/// All functions are inlined, so that the arrays of this class are kept in registers.
template <class Layout, int levels, class Step>
class RunUpdater {
 public:
  [[gnu::always_inline]] RunUpdater(const SweepFields& fields, const BlockRun& run,
                                    const Step& step)
      : start_(fields.start - fields.even), odd_(fields.odd - fields.even), step_(step) {
    // Hide from the compiler that the three offsets advance together. Otherwise it would replace
    // six pointers and three offsets by nine row pointers and one index, and run out of registers.
    asm("" : "+r"(start_), "+r"(odd_), "+r"(even_));
#pragma GCC unroll 6
    for (int row = 0; row < levels + 2; ++row) row_[row] = fields.even + run.cell[row];
#pragma GCC unroll 4
    for (int level = 0; level < levels; ++level) sides_[level] = Layout(from(level, level + 1));
  }

  [[gnu::always_inline]] void masked(const std::uint64_t* word) {
#pragma GCC unroll 4
    for (int vector = 0; vector < vectors; vector += Layout::group) update<true>(word, vector);
  }

  [[gnu::always_inline]] void full() {
#pragma GCC unroll 4
    for (int vector = 0; vector < vectors; vector += Layout::group) update<false>(nullptr, vector);
  }

  [[nodiscard]] const Step& step() const { return step_; }

 private:
  /// Returns the current position from which a level reads in a row of the run. Rows are numbered
  /// as in BlockRun::cell.
  [[nodiscard, gnu::always_inline]] const double* from(int level, int row) const {
    const bool is_start = level == 0 && !Step::in_place;
    return row_[row] + (is_start ? start_ : level % 2 == 0 ? even_ : odd_);
  }
  [[nodiscard, gnu::always_inline]] double* to(int level) const {
    return row_[level + 1] + (level % 2 == 0 ? odd_ : even_);
  }

  static constexpr int vectors = block_cells<Layout> / Vector::lanes;  ///< per block

  /// Updates the group of vectors that starts with vector number `vector` of a block.
  template <bool is_masked>
  [[gnu::always_inline]] void update(const std::uint64_t* word, int vector) {
    Type down[Layout::group];
#pragma GCC unroll 2
    for (int i = 0; i < Layout::group; ++i) down[i] = Vector::load(from(0, 0) + i * Vector::lanes);
    update_from<0, is_masked>(down, word, vector);
    constexpr std::ptrdiff_t cells = Layout::group * Vector::lanes;
    step_.advance(cells);
    if constexpr (!Step::in_place) start_ += cells;
    odd_ += cells;
    even_ += cells;
  }

  /// Updates a group of vectors in this level and in all later levels. `values` contains the row
  /// below, and after the call the new values.
  template <int level, bool is_masked>
  [[gnu::always_inline]] void update_from(Type (&values)[Layout::group], const std::uint64_t* word,
                                          int vector) {
    Type old[Layout::group];
    Type sides[Layout::group];
    sides_[level].next(from(level, level + 1), old, sides);
#pragma GCC unroll 2
    for (int i = 0; i < Layout::group; ++i) {
      const std::ptrdiff_t cell = i * Vector::lanes;
      const Type up = Vector::load(from(level, level + 2) + cell);
      const auto blend = [&](Type value, Type fixed) __attribute__((always_inline)) {
        if constexpr (is_masked)
          return Vector::select(Vector::mask(word, level, vector + i), value, fixed);
        else
          return value;
      };
      values[i] = step_.template next<level>((sides[i] + up) + values[i], old[i],
                                             row_[level + 1] + cell, to(level) + cell, cell, blend);
    }
    // Masked blocks are stored completely, too, because the next load would have to wait for a
    // masked store.
#pragma GCC unroll 2
    for (int i = 0; i < Layout::group; ++i) Vector::store(to(level) + i * Vector::lanes, values[i]);
    if constexpr (level + 1 < levels) update_from<level + 1, is_masked>(values, word, vector);
  }

  double* row_[levels + 2] = {};
  std::ptrdiff_t start_;     ///< offset from a row of `even` to the current cells of `start`
  std::ptrdiff_t odd_;       ///< offset to the current cells of `odd`
  std::ptrdiff_t even_ = 0;  ///< offset to the current cells of `even`
  Layout sides_[levels];
  Step step_;
};

/// Calls walk.masked() or walk.full() for each block of a run.
template <class Walk>
[[gnu::always_inline]] inline void walk_blocks(Walk& walk, const BlockRun& run,
                                               const std::uint64_t* words) {
  const std::uint64_t* word = words + run.first_word;
  for (std::uint32_t part = 0; part < run.parts; ++part) {
    const std::uint64_t head = *word++;
    // The loops are not unrolled, because parts are short: the code for the remaining iterations of
    // an unrolled loop would cost more time than unrolling saves.
#pragma GCC unroll 1
    for (const std::uint64_t* end = word + masked_blocks(head); word != end; ++word)
      walk.masked(word);
#pragma GCC unroll 1
    for (std::uint64_t remaining = full_blocks(head); remaining != 0; --remaining) walk.full();
  }
}

/// Makes `levels` sweeps along the runs. Returns the largest change if `with_delta`, otherwise 0.
template <class Layout, int levels, bool with_delta, bool with_source>
double walk(const SweepFields& fields, const BlockRuns& runs) {
  using Step = JacobiStep<with_delta, with_source>;
  Type largest{};
  for (const BlockRun* run = runs.begin; run != runs.end; ++run) {
    RunUpdater<Layout, levels, Step> walk(fields, *run, Step(fields, *run));
    walk_blocks(walk, *run, runs.words);
    if constexpr (with_delta) largest = Vector::larger(largest, walk.step().largest());
  }
  return with_delta ? Vector::largest_lane(largest) : 0;
}

template <class Layout, bool with_source>
void sweep(const SweepFields& fields, const BlockRuns& runs, int levels) {
  if (levels == fused_levels) {
    walk<Layout, fused_levels, false, with_source>(fields, runs);
  } else if (levels == 1) {
    walk<Layout, 1, false, with_source>(fields, runs);
  } else {
    walk<Layout, fused_levels - 1, false, with_source>(fields, runs);
  }
}

template <class Layout>
void any_sweep(const SweepFields& fields, const BlockRuns& runs, int levels) {
  fields.source != nullptr ? sweep<Layout, true>(fields, runs, levels)
                           : sweep<Layout, false>(fields, runs, levels);
}

template <class Layout>
double sweep_with_delta(const SweepFields& fields, const BlockRuns& runs) {
  return fields.source != nullptr ? walk<Layout, 1, true, true>(fields, runs)
                                  : walk<Layout, 1, true, false>(fields, runs);
}

template <class Layout, bool with_sums>
void expand(const ExpansionFields& fields, const BlockRuns& runs, const TermShares& shares) {
  using Step = ExpansionStep<with_sums>;
  // The first level reads the odd term and computes the even one.
  const SweepFields swapped{fields.odd, fields.even, fields.odd};
  for (const BlockRun* run = runs.begin; run != runs.end; ++run) {
    RunUpdater<Layout, fused_levels, Step> walk(swapped, *run, Step(fields, shares, *run));
    walk_blocks(walk, *run, runs.words);
  }
}

template <class Layout>
void any_expand(const ExpansionFields& fields, const BlockRuns& runs, const TermShares* shares) {
  shares != nullptr ? expand<Layout, true>(fields, runs, *shares)
                    : expand<Layout, false>(fields, runs, {});
}

/// Computes norms with one partial sum per column modulo 8. The partial sums are added in the order
/// of their columns, so the result is the same in every bit for all instruction sets and layouts.
template <class Layout>
class ColumnNorms {
 public:
  /// Stored cells that have different partial sums: a vector, or half of it.
  static constexpr int size = Vector::lanes < 4 ? Vector::lanes : 4;
  using Cells [[gnu::vector_size(8 * size), gnu::may_alias]] = double;

  /// Adds the cells from number `first` of a block, a multiple of `size`.
  [[gnu::always_inline]] void add(int first, Cells value) {
    const int part = part_of(first);
    const Bits magnitude = reinterpret_cast<Bits>(value) & 0x7fff'ffff'ffff'ffff;
    // Compared as integers, NaN is larger than all numbers.
    largest_[part] = magnitude > largest_[part] ? magnitude : largest_[part];
    squares_[part] += value * value;
  }
  [[nodiscard]] Norms all() const {
    long long largest = 0;
    double squares = 0;
    for (int column = 0; column < columns; ++column) {
      int cell = 0;
      while (Layout::column(cell) != column) ++cell;
      const long long each = largest_[part_of(cell)][cell % size];
      largest = each > largest ? each : largest;
      squares += squares_[part_of(cell)][cell % size];
    }
    return {__builtin_bit_cast(double, largest), squares};
  }

 private:
  using Bits [[gnu::vector_size(8 * size), gnu::may_alias]] = long long;
  static constexpr int columns = 8;
  /// Returns the index of the partial sums to which a cell of a block is added.
  static constexpr int part_of(int cell) { return Layout::column(cell / size * size) % columns; }

  Bits largest_[columns] = {};
  Cells squares_[columns] = {};
};

/// Calls visit(cell, value) for all cells of a field, and returns its norms.
template <class Layout, class Visit>
[[gnu::always_inline]] inline Norms norms_of(std::size_t cells, const double* of, Visit visit) {
  using Found = ColumnNorms<Layout>;
  using Cells = typename Found::Cells;
  Found found;
  for (std::size_t block = 0; block < cells; block += block_cells<Layout>) {
#pragma GCC unroll 4
    for (int first = 0; first < block_cells<Layout>; first += Found::size) {
      const Cells value = *reinterpret_cast<const Cells*>(of + block + first);
      found.add(first, value);
      visit(block + first, value);
    }
  }
  return found.all();
}

template <class Layout>
Norms norms(std::size_t cells, const double* of) {
  return norms_of<Layout>(cells, of, [](std::size_t, auto) {});
}

template <class Layout>
Norms apply_change(std::size_t cells, const double* next, double* change, double* field) {
  using Cells = typename ColumnNorms<Layout>::Cells;
  return norms_of<Layout>(cells, next, [=](std::size_t cell, Cells value) {
    *reinterpret_cast<Cells*>(field + cell) += value;
    *reinterpret_cast<Cells*>(change + cell) = value;
  });
}

/// Performs independent additions in 16 vectors: enough to hide the latency of an addition, and few
/// enough for the registers.
std::int64_t add(std::int64_t rounds) {
  constexpr int chains = 16;
  volatile double number = 0;  // so that the compiler can neither predict nor omit the additions
  Type sum[chains];
#pragma GCC unroll 16
  for (Type& chain : sum) chain = number * Type{};
#pragma GCC unroll 1
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (Type& chain : sum) chain += chain;
  }
#pragma GCC unroll 16
  for (const Type& chain : sum) number = chain[0];
  return rounds * chains * Vector::lanes;
}

/// Returns the sweeps for this instruction set and a layout.
template <class Layout>
constexpr SweepKernels sweeps_with() {
  SweepKernels sweeps{.levels = fused_levels,
                      .block_width = block_cells<Layout>,
                      .columns = {},
                      .sweep = any_sweep<Layout>,
                      .sweep_with_delta = sweep_with_delta<Layout>,
                      .expand = any_expand<Layout>,
                      .norms = norms<Layout>,
                      .apply_change = apply_change<Layout>,
                      .add = add};
  for (int cell = 0; cell < block_cells<Layout>; ++cell)
    sweeps.columns[cell] = static_cast<std::uint8_t>(Layout::column(cell));
  return sweeps;
}

}  // namespace
}  // namespace wallheat
