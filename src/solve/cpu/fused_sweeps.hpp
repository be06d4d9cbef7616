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

/// Walks along a run of front f, block by block; in each, level k updates row f - k. The row below
/// that is the one that level k - 1 has just updated, so those values are still in registers.
///
/// `Vector` is an instruction set: what it calls a vector, and what it can do with it. Everything
/// is inlined, so that what is an array here becomes registers.
template <class Vector, int levels, Scaling scaling, bool with_delta, bool with_source>
class Walk {
  using Type = typename Vector::Type;

 public:
  [[gnu::always_inline]] Walk(const SweepFields& fields, const Run& run)
      : start_(fields.start - fields.even), odd_(fields.odd - fields.even) {
    if constexpr (with_source) source_ = fields.source - fields.even;
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

  [[nodiscard]] Type largest() const { return largest_; }

 private:
  static constexpr int vectors = static_cast<int>(block_width) / Vector::lanes;

  /// Where a level reads in one of the run's rows, counted as in Run::cell.
  [[nodiscard, gnu::always_inline]] const double* from(int level, int row) const {
    return row_[row] + (level == 0 ? start_ : level % 2 == 0 ? even_ : odd_);
  }
  [[nodiscard, gnu::always_inline]] double* to(int level) const {
    return row_[level + 1] + (level % 2 == 0 ? odd_ : even_);
  }

  template <bool is_masked, class Masks>
  [[gnu::always_inline]] void update(Masks masks, int vector) {
    update_from<0, is_masked>(Vector::load(from(0, 0)), masks, vector);
    if constexpr (with_source) source_ += Vector::lanes;
    start_ += Vector::lanes;
    odd_ += Vector::lanes;
    even_ += Vector::lanes;
  }

  /// Updates a vector in this level and in those after it.
  template <int level, bool is_masked, class Masks>
  [[gnu::always_inline]] void update_from(Type down, Masks masks, int vector) {
    constexpr Scaling here = scaling_at(level, scaling);
    const Type old = sides_[level].here(from(level, level + 1));
    const Type up = Vector::load(from(level, level + 2));
    const Type sides = sides_[level].next(from(level, level + 1));
    Type sum = Vector::add(Vector::add(sides, up), down);
    if constexpr (with_source) sum = Vector::add(sum, Vector::load(row_[level + 1] + source_));
    Type value = times(sum_factor(here), sum);
    const Type kept = times(kept_factor(here), old);
    if constexpr (is_masked) {
      // What a fixed cell holds, the field that is written holds already.
      const Type fixed = Vector::reads_target ? Vector::load(to(level)) : kept;
      value = Vector::select(Vector::mask(masks, level, vector), value, fixed);
    }
    if constexpr (with_delta) largest_ = Vector::larger(largest_, Vector::distance(value, kept));
    // Of a masked block, too, all is stored: the next load would have to wait for a masked store.
    Vector::store(to(level), value);
    if constexpr (level + 1 < levels) update_from<level + 1, is_masked>(value, masks, vector);
  }

  [[gnu::always_inline]] static Type times(double factor, Type value) {
    return factor == 1 ? value : Vector::times(factor, value);
  }

  double* row_[levels + 2] = {};
  std::ptrdiff_t start_;  ///< from a row of `even` to where the walk is in the field `start`
  std::ptrdiff_t odd_;    ///< the same for `odd`
  std::ptrdiff_t even_ = 0;
  std::ptrdiff_t source_ = 0;  ///< the same for the source
  typename Vector::Sides sides_[levels];
  Type largest_ = Vector::zero();
};

/// Returns the largest change if it is asked for, else 0.
template <class Vector, int levels, Scaling scaling, bool with_delta = false,
          bool with_source = false>
double walk(const SweepFields& fields, const Runs& runs) {
  auto largest = Vector::zero();
  for (const Run* run = runs.begin; run != runs.end; ++run) {
    Walk<Vector, levels, scaling, with_delta, with_source> walk(fields, *run);
    const std::uint32_t* word = runs.words + run->first_word;
    for (std::uint32_t part = 0; part < run->parts; ++part) {
      const std::uint32_t head = *word++;
      // Not unrolled: parts are short, and sorting out the rest of a division by the unrolling
      // costs more than it saves.
#pragma GCC unroll 1
      for (const std::uint32_t* end = word + masked_blocks(head); word != end; ++word)
        walk.masked(word);
#pragma GCC unroll 1
      for (std::uint32_t left = full_blocks(head); left != 0; --left) walk.full();
    }
    if constexpr (with_delta) largest = Vector::larger(largest, walk.largest());
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
          add<Vector>};
}

}  // namespace
}  // namespace wallheat
