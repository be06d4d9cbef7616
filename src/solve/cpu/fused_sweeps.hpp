#pragma once

#include "solve/cpu/sweep.hpp"

// For the files of the instruction sets alone. Everything is in an unnamed namespace, for the
// reason that sweep.hpp gives.

namespace wallheat {
namespace {

/// What turns the sum of four neighbours into the new value.
constexpr double sum_factor(Scaling scaling) {
  return scaling == Scaling::none ? 0.25 : scaling == Scaling::to_fourfold ? 1.0 : 0.0625;
}

/// What turns an old value into a new one that means the same temperature.
constexpr double kept_factor(Scaling scaling) {
  return scaling == Scaling::none ? 1.0 : scaling == Scaling::to_fourfold ? 4.0 : 0.25;
}

/// The scaling of a level, given that of level 0: what one writes, the next reads.
constexpr Scaling scaling_at(int level, Scaling first) {
  if (level % 2 == 0 || first == Scaling::none) return first;
  return first == Scaling::to_fourfold ? Scaling::from_fourfold : Scaling::to_fourfold;
}

/// Adds left and right neighbours along a row. They are shifted out of registers, as an unaligned
/// load would read two cache lines.
template <class Vector>
class ShiftedSides {
  using Type = typename Vector::Type;

 public:
  ShiftedSides() = default;
  [[gnu::always_inline]] explicit ShiftedSides(const double* cell)
      : here_(Vector::load(cell)), left_(Vector::left(Vector::load(cell - Vector::lanes), here_)) {}

  /// The cells themselves.
  [[nodiscard, gnu::always_inline]] Type here(const double* /*cell*/) const { return here_; }
  /// The sums for the cells from `cell` on; the next call is for those that follow.
  [[gnu::always_inline]] Type next(const double* cell) {
    const Type after = Vector::load(cell + Vector::lanes);
    const Type sum = Vector::add(left_, Vector::right(here_, after));
    left_ = Vector::left(here_, after);
    here_ = after;
    return sum;
  }

 private:
  Type here_;
  Type left_;  ///< the left neighbours of here_
};

/// What a step of Jacobi makes of a cell.
template <class Vector, Scaling scaling, bool with_delta, bool with_source>
class JacobiStep {
  using Type = typename Vector::Type;

 public:
  static constexpr bool in_place = false;

  [[gnu::always_inline]] JacobiStep(const SweepFields& fields, const Run& /*run*/) {
    if constexpr (with_source) source_ = fields.source - fields.even;
  }

  /// The new values of the vector at `to`, from its old ones and the sums of their neighbours;
  /// `blend` puts the second in place of the first where cells are fixed.
  template <int level, class Blend>
  [[gnu::always_inline]] Type next(Type sum, Type old, const double* row, const double* to,
                                   Blend blend) {
    constexpr Scaling here = scaling_at(level, scaling);
    if constexpr (with_source) sum = Vector::add(sum, Vector::load(row + source_));
    const Type kept = times(kept_factor(here), old);
    // What a fixed cell holds, the field that is written holds already.
    const Type value = blend(times(sum_factor(here), sum),
                             [&] { return Vector::reads_target ? Vector::load(to) : kept; });
    if constexpr (with_delta) largest_ = Vector::larger(largest_, Vector::distance(value, kept));
    return value;
  }

  [[gnu::always_inline]] void advance() {
    if constexpr (with_source) source_ += Vector::lanes;
  }

  [[nodiscard]] Type largest() const { return largest_; }

 private:
  [[gnu::always_inline]] static Type times(double factor, Type value) {
    return factor == 1 ? value : Vector::times(factor, value);
  }

  std::ptrdiff_t source_ = 0;  ///< from a row of `even` to where the walk is in the source
  Type largest_ = Vector::zero();
};

/// What the next term of an expansion is at a cell: its part of the sum of the neighbours in the
/// term before, less the term before that, which is where the new one goes. The last even term that
/// a walk makes and the one before it are added to the sums, if it has shares for them.
template <class Vector, int levels, bool with_sums>
class ExpansionStep {
  using Type = typename Vector::Type;

 public:
  static constexpr bool in_place = true;

  [[gnu::always_inline]] ExpansionStep(const ExpansionFields& fields, const TermShares& shares,
                                       const Run& run)
      : sum_(fields.sum + run.cell[summed + 1]),
        growth_(fields.growth + run.cell[summed + 1]),
        factor_(fields.factor),
        shares_(shares) {}

  template <int level, class Blend>
  [[gnu::always_inline]] Type next(Type sum, Type /*old*/, const double* /*row*/, const double* to,
                                   Blend blend) {
    const Type before = Vector::load(to);
    const Type value =
        blend(Vector::subtract(Vector::times(factor_, sum), before), [&] { return before; });
    if constexpr (with_sums && level == summed) {
      add(sum_, shares_.before, before, shares_.after, value);
      add(growth_, shares_.growth_before, before, shares_.growth_after, value);
    }
    return value;
  }

  [[gnu::always_inline]] void advance() {
    sum_ += Vector::lanes;
    growth_ += Vector::lanes;
  }

 private:
  static constexpr int summed = levels - 2;

  [[gnu::always_inline]] static void add(double* to, double share_before, Type before,
                                         double share_after, Type after) {
    const Type added =
        Vector::add(Vector::times(share_before, before), Vector::times(share_after, after));
    Vector::store(to, Vector::add(Vector::load(to), added));
  }

  double* sum_;
  double* growth_;
  double factor_;
  TermShares shares_;
};

/// Walks along a run of front f, block by block; in each, level k updates row f - k. The row below
/// that is the one that level k - 1 has just updated, so those values are still in registers.
///
/// `Vector` is an instruction set: what it calls a vector, and what it can do with it. Everything
/// is inlined, so that what is an array here becomes registers.
template <class Vector, int levels, class Step>
class Walk {
  using Type = typename Vector::Type;

 public:
  [[gnu::always_inline]] Walk(const SweepFields& fields, const Run& run, const Step& step)
      : start_(fields.start - fields.even), odd_(fields.odd - fields.even), step_(step) {
    // The compiler must not know what the three indices have in common: it would make nine row
    // pointers and an index of six pointers and three indices, and run out of registers.
    asm("" : "+r"(start_), "+r"(odd_), "+r"(even_));
#pragma GCC unroll 6
    for (int row = 0; row < levels + 2; ++row) row_[row] = fields.even + run.cell[row];
#pragma GCC unroll 4
    for (int level = 0; level < levels; ++level)
      sides_[level] = typename Vector::Sides(from(level, level + 1));
  }

  [[gnu::always_inline]] void masked(const std::uint32_t* word) {
    const auto masks = Vector::masks(word);
#pragma GCC unroll 4
    for (int vector = 0; vector < vectors; ++vector) update<true>(masks, vector);
  }

  [[gnu::always_inline]] void full() {
#pragma GCC unroll 4
    for (int vector = 0; vector < vectors; ++vector) update<false>(nullptr, vector);
  }

  [[nodiscard]] const Step& step() const { return step_; }

 private:
  static constexpr int vectors = static_cast<int>(block_width) / Vector::lanes;

  /// Where a level reads in one of the run's rows, counted as in Run::cell.
  [[nodiscard, gnu::always_inline]] const double* from(int level, int row) const {
    const bool is_start = level == 0 && !Step::in_place;
    return row_[row] + (is_start ? start_ : level % 2 == 0 ? even_ : odd_);
  }
  [[nodiscard, gnu::always_inline]] double* to(int level) const {
    return row_[level + 1] + (level % 2 == 0 ? odd_ : even_);
  }

  template <bool is_masked, class Masks>
  [[gnu::always_inline]] void update(Masks masks, int vector) {
    update_from<0, is_masked>(Vector::load(from(0, 0)), masks, vector);
    step_.advance();
    if constexpr (!Step::in_place) start_ += Vector::lanes;
    odd_ += Vector::lanes;
    even_ += Vector::lanes;
  }

  /// Updates a vector in this level and in those after it.
  template <int level, bool is_masked, class Masks>
  [[gnu::always_inline]] void update_from(Type down, Masks masks, int vector) {
    const Type old = sides_[level].here(from(level, level + 1));
    const Type up = Vector::load(from(level, level + 2));
    const Type sides = sides_[level].next(from(level, level + 1));
    const Type sum = Vector::add(Vector::add(sides, up), down);
    const auto blend = [&](Type value, auto fixed) __attribute__((always_inline)) {
      if constexpr (is_masked)
        return Vector::select(Vector::mask(masks, level, vector), value, fixed());
      else
        return value;
    };
    const Type value = step_.template next<level>(sum, old, row_[level + 1], to(level), blend);
    // Of a masked block, too, all is stored: the next load would have to wait for a masked store.
    Vector::store(to(level), value);
    if constexpr (level + 1 < levels) update_from<level + 1, is_masked>(value, masks, vector);
  }

  double* row_[levels + 2] = {};
  std::ptrdiff_t start_;  ///< from a row of `even` to where the walk is in the field `start`
  std::ptrdiff_t odd_;    ///< the same for `odd`
  std::ptrdiff_t even_ = 0;
  typename Vector::Sides sides_[levels];
  Step step_;
};

/// Walks along all blocks of a run.
template <class Walk>
[[gnu::always_inline]] inline void walk_blocks(Walk& walk, const Run& run,
                                               const std::uint32_t* words) {
  const std::uint32_t* word = words + run.first_word;
  for (std::uint32_t part = 0; part < run.parts; ++part) {
    const std::uint32_t head = *word++;
    // Not unrolled: parts are short, and sorting out the rest of a division by the unrolling
    // costs more than it saves.
#pragma GCC unroll 1
    for (const std::uint32_t* end = word + masked_blocks(head); word != end; ++word)
      walk.masked(word);
#pragma GCC unroll 1
    for (std::uint32_t left = full_blocks(head); left != 0; --left) walk.full();
  }
}

/// Returns the largest change if it is asked for, else 0.
template <class Vector, int levels, Scaling scaling, bool with_delta = false,
          bool with_source = false>
double walk(const SweepFields& fields, const Runs& runs) {
  using Step = JacobiStep<Vector, scaling, with_delta, with_source>;
  auto largest = Vector::zero();
  for (const Run* run = runs.begin; run != runs.end; ++run) {
    Walk<Vector, levels, Step> walk(fields, *run, Step(fields, *run));
    walk_blocks(walk, *run, runs.words);
    if constexpr (with_delta) largest = Vector::larger(largest, walk.step().largest());
  }
  return with_delta ? Vector::largest_lane(largest) : 0;
}

template <class Vector, Scaling scaling, bool with_source = false>
void sweep(const SweepFields& fields, const Runs& runs, int levels) {
  if (levels == Vector::levels) {
    walk<Vector, Vector::levels, scaling, false, with_source>(fields, runs);
  } else if (levels == 1) {
    walk<Vector, 1, scaling, false, with_source>(fields, runs);
  } else {
    walk<Vector, Vector::levels - 1, scaling, false, with_source>(fields, runs);
  }
}

template <class Vector, Scaling scaling>
double sweep_with_delta(const double* from, double* to, const Runs& runs) {
  return walk<Vector, 1, scaling, true>({from, to, to}, runs);
}

template <class Vector>
double sweep_with_source_and_delta(const double* from, double* to, const double* source,
                                   const Runs& runs) {
  return walk<Vector, 1, Scaling::none, true, true>({from, to, to, source}, runs);
}

template <class Vector, bool with_sums>
void expand(const ExpansionFields& fields, const Runs& runs, const TermShares& shares) {
  using Step = ExpansionStep<Vector, Vector::levels, with_sums>;
  // The first level reads the odd term and makes the even one.
  const SweepFields turned{fields.odd, fields.even, fields.odd};
  for (const Run* run = runs.begin; run != runs.end; ++run) {
    Walk<Vector, Vector::levels, Step> walk(turned, *run, Step(fields, shares, *run));
    walk_blocks(walk, *run, runs.words);
  }
}

template <class Vector>
void any_expand(const ExpansionFields& fields, const Runs& runs, const TermShares* shares) {
  shares != nullptr ? expand<Vector, true>(fields, runs, *shares)
                    : expand<Vector, false>(fields, runs, {});
}

template <class Vector>
void scale(std::size_t cells, double factor, const double* from, double* to) {
  for (std::size_t cell = 0; cell < cells; cell += Vector::lanes)
    Vector::store(to + cell, Vector::times(factor, Vector::load(from + cell)));
}

/// Sums up lane by lane, and the lanes in the order of their cells, so that all instruction sets
/// get the same bits.
template <class Vector>
class SizeOfLanes {
  using Type = typename Vector::Type;

 public:
  [[gnu::always_inline]] void add(int vector, Type value, Type before) {
    largest_[vector] = Vector::larger(largest_[vector], Vector::distance(value, Vector::zero()));
    squares_[vector] = Vector::add(squares_[vector], Vector::product(value, value));
    const Type turned = Vector::subtract(value, before);
    turned_[vector] = Vector::add(turned_[vector], Vector::product(turned, turned));
  }
  [[nodiscard]] FieldSize all() const {
    FieldSize size{0, sum(squares_), sum(turned_)};
    for (const Type& values : largest_) {
      const double value = Vector::largest_lane(values);
      size.largest = value > size.largest ? value : size.largest;
    }
    return size;
  }
  static constexpr int vectors = static_cast<int>(block_width) / Vector::lanes;

 private:
  static double sum(const Type (&values)[vectors]) {
    alignas(64) double lane[block_width];
    for (int vector = 0; vector < vectors; ++vector)
      Vector::store(lane + vector * Vector::lanes, values[vector]);
    double result = 0;
    for (std::size_t cell = 0; cell < block_width; ++cell)
      result += lane[place_in_block(cell, Vector::even_first)];
    return result;
  }

  Type largest_[vectors] = {};
  Type squares_[vectors] = {};
  Type turned_[vectors] = {};
};

template <class Vector, bool takes, class Before>
FieldSize size_of(std::size_t cells, const double* next, Before* change, double* field) {
  SizeOfLanes<Vector> size;
  for (std::size_t cell = 0; cell < cells;) {
#pragma GCC unroll 4
    for (int vector = 0; vector < size.vectors; ++vector, cell += Vector::lanes) {
      const auto value = Vector::load(next + cell);
      size.add(vector, value, Vector::load(change + cell));
      if constexpr (takes) {
        Vector::store(field + cell, Vector::add(Vector::load(field + cell), value));
        Vector::store(change + cell, value);
      }
    }
  }
  return size.all();
}

template <class Vector>
FieldSize size(std::size_t cells, const double* of, const double* before) {
  return size_of<Vector, false>(cells, of, before, nullptr);
}

template <class Vector>
FieldSize take(std::size_t cells, const double* next, double* change, double* field) {
  return size_of<Vector, true>(cells, next, change, field);
}

template <class Vector>
void take_jump(std::size_t cells, const double* next, const double* growth, const double* stepped,
               double* change, double* field) {
  for (std::size_t cell = 0; cell < cells; cell += Vector::lanes) {
    const auto value = Vector::load(next + cell);
    const auto grown =
        Vector::add(Vector::add(Vector::load(growth + cell), Vector::load(stepped + cell)),
                    Vector::subtract(value, Vector::load(change + cell)));
    Vector::store(field + cell, Vector::add(Vector::load(field + cell), grown));
    Vector::store(change + cell, value);
  }
}

/// In 16 vectors: more than it takes to hide how long an addition lasts, and no more than
/// registers.
template <class Vector>
std::int64_t add(std::int64_t rounds) {
  constexpr int chains = 16 / Vector::registers;
  volatile double number = 0;  // the compiler cannot foresee what it is, nor leave it out
  typename Vector::Type sum[chains];
#pragma GCC unroll 16
  for (auto& chain : sum) chain = Vector::times(number, Vector::zero());
#pragma GCC unroll 1
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (auto& chain : sum) chain = Vector::add(chain, chain);
  }
#pragma GCC unroll 16
  for (auto& chain : sum) number = Vector::largest_lane(chain);
  return rounds * chains * Vector::lanes;
}

/// All sweeps of an instruction set.
template <class Vector>
Sweeps sweeps_of() {
  return {Vector::levels,
          Vector::even_first,
          sweep<Vector, Scaling::none>,
          sweep<Vector, Scaling::to_fourfold>,
          sweep_with_delta<Vector, Scaling::none>,
          sweep_with_delta<Vector, Scaling::from_fourfold>,
          sweep<Vector, Scaling::none, true>,
          sweep_with_source_and_delta<Vector>,
          any_expand<Vector>,
          scale<Vector>,
          size<Vector>,
          take<Vector>,
          take_jump<Vector>,
          add<Vector>};
}

}  // namespace
}  // namespace wallheat
