#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "solve/steady/kernels.hpp"
#include "solve/zeroed_array.hpp"
#include "wallheat/grid.hpp"

namespace wallheat {

/// Strips in the order of rows and columns.
class Strips {
 public:
  void clear() { strips_.clear(); }
  /// Adds strip_width cells; strips grow as needed.
  void add_block(std::size_t cell, std::size_t row, std::size_t col);
  [[nodiscard]] const Strip* begin() const { return strips_.data(); }
  [[nodiscard]] const Strip* end() const { return strips_.data() + strips_.size(); }

 private:
  std::vector<Strip> strips_;
};

/// Arrays of a grid and their memory, which is kept from plan to plan. Beyond the strips of a plan
/// all values are zero; in them, what it does not write before it reads it may be the last plan's.
class Arrays {
 public:
  /// Begins a plan, without a strip yet. Makes room where the shape is another than the last one's.
  void begin(const GridShape& shape, const std::vector<float**>& places);
  void add_block(std::size_t row, std::size_t col) { strips_.add_block(cell(row, col), row, col); }
  /// Clears what only the last plan had in its strips.
  void end();
  /// Calls clear(first cell, cells) for that.
  template <class Clear>
  void for_each_left(Clear clear) const;

  [[nodiscard]] std::size_t cell(std::size_t row, std::size_t col) const {
    return (row + 1) * stride_ + strip_width + col;
  }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  /// Values of an array, its margin included.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const Strips& strips() const { return strips_; }

 private:
  GridShape shape_;
  std::size_t stride_ = 0;
  std::size_t size_ = 0;
  std::size_t count_ = 0;
  ZeroedArray<float> memory_;
  Strips strips_;
  Strips last_;  ///< of the plan before
};

struct Finest {
  void assign(const Grid<std::uint8_t>& interior);

  FinestData data{};
  float* right = nullptr;  ///< of the equation S x = right; here and below, of red cells
  float* x = nullptr;
  float* direction = nullptr;  ///< of conjugate gradients
  float* black = nullptr;      ///< of black cells
  Strips halo;                 ///< the strips, and all that touches them
  Arrays arrays;
};

/// A coarse grid of the hierarchy.
struct Level {
  /// Active cells are those of which the finer grid's cell at the same place is: `from` is what the
  /// first of those has in 1 / diagonal, from one to the next it is `step`, from row to row
  /// `row_step`. `inverse` is set to that value.
  void assign(const GridShape& shape, const float* from, std::size_t row_step, std::size_t step);

  LevelData data{};
  std::int64_t active = 0;  ///< number of active cells
  float* right = nullptr;   ///< of the equation A x = right
  float* x = nullptr;       ///< the answer but for the last step of Jacobi
  float* answer = nullptr;  ///< before, the residual
  Arrays arrays;
};

/// A V-cycle of black-box multigrid for S x = right (see kernels.hpp) at the red active cells of a
/// mask: interpolation and Galerkin operators follow from the matrix, so that no value leaks
/// through a wall (J. E. Dendy, "Black box multigrid", J. Comput. Phys. 48, 1982). Coarse cells are
/// every second cell of every second row. A step of Jacobi before the coarse grid and one
/// after it smooth. All in single precision, as it only preconditions. The cycle is a symmetric
/// positive definite operator.
class Multigrid {
 public:
  explicit Multigrid(SteadyKernels kernels) : kernels_(kernels) {}

  void assign(const Grid<std::uint8_t>& interior);
  [[nodiscard]] Finest& finest() { return finest_; }
  [[nodiscard]] const Finest& finest() const { return finest_; }
  /// finest().x = about S^-1 finest().right, columns += their product
  void cycle(double* columns);

 private:
  void solve_coarse(std::size_t number);
  void solve_coarsest(const Level& level);
  void invert_coarsest(const Level& level);
  [[nodiscard]] std::vector<double> coarsest_matrix(const Level& level) const;

  SteadyKernels kernels_;
  Finest finest_;
  std::vector<Level> levels_;
  std::size_t depth_ = 0;  ///< levels in use
  // The coarsest matrix, inverted, and where its cells are; nothing where it has too many.
  std::vector<float> inverse_;
  std::vector<std::size_t> cells_;
  std::vector<float> gathered_;
};

template <class Clear>
void Arrays::for_each_left(Clear clear) const {
  const Strip* other = strips_.begin();
  for (const Strip& strip : last_) {
    const std::size_t end = strip.cell + strip.cells;
    for (std::size_t first = strip.cell; first < end;) {
      while (other != strips_.end() && other->cell + other->cells <= first) ++other;
      const bool none = other == strips_.end();
      const std::size_t next = none ? end : std::min(other->cell, end);
      if (next > first) clear(first, next - first);
      first = none ? end : std::max(first, other->cell + other->cells);
    }
  }
}

}  // namespace wallheat
