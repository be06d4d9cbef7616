#pragma once

#include "solve/cpu/sweep.hpp"
#include "solve/cpu/vector.hpp"

// The implementation of SweepKernels. Include this header only in the files that are compiled once
// per instruction set. Everything is in an unnamed namespace; sweep.hpp explains why.

namespace wallheat {
namespace {

using Type = Vector::Type;

/// Number of fused sweeps, and number of vectors in a block.
constexpr int fused_levels = Vector::lanes == 8 ? 4 : 2;
constexpr int vectors = static_cast<int>(block_width) / Vector::lanes;

/// Computes the sums of left and right neighbours along a row. The neighbours are shifted within
/// registers, because an unaligned load would read two cache lines.
class HorizontalSums {
 public:
  HorizontalSums() = default;
  [[gnu::always_inline]] explicit HorizontalSums(const double* cell)
      : here_(Vector::load(cell)), left_(Vector::left(Vector::load(cell - Vector::lanes), here_)) {}

  /// Returns the values of the cells themselves.
  [[nodiscard, gnu::always_inline]] Type here() const { return here_; }
  /// Returns the sums for the cells that start at `cell`. Each call must be for the cells after
  /// those of the previous call.
  [[gnu::always_inline]] Type next(const double* cell) {
    const Type after = Vector::load(cell + Vector::lanes);
    const Type sum = left_ + Vector::right(here_, after);
    left_ = Vector::left(here_, after);
    here_ = after;
    return sum;
  }

 private:
  Type here_;
  Type left_;  ///< left neighbours of here_
};

/// Computes the Jacobi iteration of a vector of cells.
template <bool with_delta, bool with_source>
class JacobiStep {
 public:
  static constexpr bool in_place = false;

  [[gnu::always_inline]] JacobiStep(const SweepFields& fields, const BlockRun& /*run*/) {
    if constexpr (with_source) source_ = fields.source - fields.even;
  }

  /// Returns the new values of the vector at `to`, from its old values and the sums of the
  /// neighbours. blend(value, fixed) returns `fixed` in fixed cells, and `value` in all others.
  template <int level, class Blend>
  [[gnu::always_inline]] Type next(Type sum, Type old, const double* row, const double* /*to*/,
                                   Blend blend) {
    if constexpr (with_source) sum += Vector::load(row + source_);
    const Type value = blend(0.25 * sum, old);
    if constexpr (with_delta) largest_ = Vector::larger(largest_, Vector::magnitude(value - old));
    return value;
  }

  [[gnu::always_inline]] void advance() {
    if constexpr (with_source) source_ += Vector::lanes;
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
                                   Blend blend) {
    const Type before = Vector::load(to);
    const Type value = blend(factor_ * sum - before, before);
    if constexpr (with_sums && level == summed) {
      add(sum_, shares_.before * before + shares_.after * value);
      add(growth_, shares_.growth_before * before + shares_.growth_after * value);
    }
    return value;
  }

  [[gnu::always_inline]] void advance() {
    sum_ += Vector::lanes;
    growth_ += Vector::lanes;
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
template <int levels, class Step>
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
    for (int level = 0; level < levels; ++level)
      sides_[level] = HorizontalSums(from(level, level + 1));
  }

  [[gnu::always_inline]] void masked(const std::uint32_t* word) {
#pragma GCC unroll 4
    for (int vector = 0; vector < vectors; ++vector) update<true>(word, vector);
  }

  [[gnu::always_inline]] void full() {
#pragma GCC unroll 4
    for (int vector = 0; vector < vectors; ++vector) update<false>(nullptr, vector);
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

  template <bool is_masked>
  [[gnu::always_inline]] void update(const std::uint32_t* word, int vector) {
    update_from<0, is_masked>(Vector::load(from(0, 0)), word, vector);
    step_.advance();
    if constexpr (!Step::in_place) start_ += Vector::lanes;
    odd_ += Vector::lanes;
    even_ += Vector::lanes;
  }

  /// Updates a vector in this level and in all later levels.
  template <int level, bool is_masked>
  [[gnu::always_inline]] void update_from(Type down, const std::uint32_t* word, int vector) {
    const Type old = sides_[level].here();
    const Type up = Vector::load(from(level, level + 2));
    const Type sides = sides_[level].next(from(level, level + 1));
    const auto blend = [&](Type value, Type fixed) __attribute__((always_inline)) {
      if constexpr (is_masked)
        return Vector::select(Vector::mask(word, level, vector), value, fixed);
      else
        return value;
    };
    const Type value =
        step_.template next<level>((sides + up) + down, old, row_[level + 1], to(level), blend);
    // Masked blocks are stored completely, too, because the next load would have to wait for a
    // masked store.
    Vector::store(to(level), value);
    if constexpr (level + 1 < levels) update_from<level + 1, is_masked>(value, word, vector);
  }

  double* row_[levels + 2] = {};
  std::ptrdiff_t start_;     ///< offset from a row of `even` to the current cells of `start`
  std::ptrdiff_t odd_;       ///< offset to the current cells of `odd`
  std::ptrdiff_t even_ = 0;  ///< offset to the current cells of `even`
  HorizontalSums sides_[levels];
  Step step_;
};

/// Calls walk.masked() or walk.full() for each block of a run.
template <class Walk>
[[gnu::always_inline]] inline void walk_blocks(Walk& walk, const BlockRun& run,
                                               const std::uint32_t* words) {
  const std::uint32_t* word = words + run.first_word;
  for (std::uint32_t part = 0; part < run.parts; ++part) {
    const std::uint32_t head = *word++;
    // The loops are not unrolled, because parts are short: the code for the remaining iterations of
    // an unrolled loop would cost more time than unrolling saves.
#pragma GCC unroll 1
    for (const std::uint32_t* end = word + masked_blocks(head); word != end; ++word)
      walk.masked(word);
#pragma GCC unroll 1
    for (std::uint32_t remaining = full_blocks(head); remaining != 0; --remaining) walk.full();
  }
}

/// Makes `levels` sweeps along the runs. Returns the largest change if `with_delta`, otherwise 0.
template <int levels, bool with_delta, bool with_source>
double walk(const SweepFields& fields, const BlockRuns& runs) {
  using Step = JacobiStep<with_delta, with_source>;
  Type largest{};
  for (const BlockRun* run = runs.begin; run != runs.end; ++run) {
    RunUpdater<levels, Step> walk(fields, *run, Step(fields, *run));
    walk_blocks(walk, *run, runs.words);
    if constexpr (with_delta) largest = Vector::larger(largest, walk.step().largest());
  }
  return with_delta ? Vector::largest_lane(largest) : 0;
}

template <bool with_source>
void sweep(const SweepFields& fields, const BlockRuns& runs, int levels) {
  if (levels == fused_levels) {
    walk<fused_levels, false, with_source>(fields, runs);
  } else if (levels == 1) {
    walk<1, false, with_source>(fields, runs);
  } else {
    walk<fused_levels - 1, false, with_source>(fields, runs);
  }
}

void any_sweep(const SweepFields& fields, const BlockRuns& runs, int levels) {
  fields.source != nullptr ? sweep<true>(fields, runs, levels) : sweep<false>(fields, runs, levels);
}

double sweep_with_delta(const SweepFields& fields, const BlockRuns& runs) {
  return fields.source != nullptr ? walk<1, true, true>(fields, runs)
                                  : walk<1, true, false>(fields, runs);
}

template <bool with_sums>
void expand(const ExpansionFields& fields, const BlockRuns& runs, const TermShares& shares) {
  using Step = ExpansionStep<with_sums>;
  // The first level reads the odd term and computes the even one.
  const SweepFields swapped{fields.odd, fields.even, fields.odd};
  for (const BlockRun* run = runs.begin; run != runs.end; ++run) {
    RunUpdater<fused_levels, Step> walk(swapped, *run, Step(fields, shares, *run));
    walk_blocks(walk, *run, runs.words);
  }
}

void any_expand(const ExpansionFields& fields, const BlockRuns& runs, const TermShares* shares) {
  shares != nullptr ? expand<true>(fields, runs, *shares) : expand<false>(fields, runs, {});
}

/// Computes norms with one partial sum per SIMD lane of a block. The partial sums are added in the
/// order of their cells, so the result is the same in every bit for all instruction sets.
class LaneNorms {
 public:
  [[gnu::always_inline]] void add(int vector, Type value) {
    largest_[vector] = Vector::larger(largest_[vector], Vector::magnitude(value));
    squares_[vector] += value * value;
  }
  [[nodiscard]] Norms all() const {
    Type largest{};
    double squares = 0;
    for (int vector = 0; vector < vectors; ++vector) {
      largest = Vector::larger(largest, largest_[vector]);
      for (int lane = 0; lane < Vector::lanes; ++lane) squares += squares_[vector][lane];
    }
    return {Vector::largest_lane(largest), squares};
  }

 private:
  Type largest_[vectors] = {};
  Type squares_[vectors] = {};
};

/// Calls visit(cell, value) for all vectors of a field, and returns its norms.
template <class Visit>
[[gnu::always_inline]] inline Norms norms_of(std::size_t cells, const double* of, Visit visit) {
  LaneNorms found;
  for (std::size_t cell = 0; cell < cells;) {
#pragma GCC unroll 4
    for (int vector = 0; vector < vectors; ++vector, cell += Vector::lanes) {
      const Type value = Vector::load(of + cell);
      found.add(vector, value);
      visit(cell, value);
    }
  }
  return found.all();
}

Norms norms(std::size_t cells, const double* of) {
  return norms_of(cells, of, [](std::size_t, Type) {});
}

Norms take(std::size_t cells, const double* next, double* change, double* field) {
  return norms_of(cells, next, [=](std::size_t cell, Type value) {
    Vector::store(field + cell, Vector::load(field + cell) + value);
    Vector::store(change + cell, value);
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

/// The sweeps for this instruction set.
constexpr SweepKernels all_sweeps{fused_levels, any_sweep, sweep_with_delta, any_expand, norms,
                                  take,         add};

}  // namespace
}  // namespace wallheat
