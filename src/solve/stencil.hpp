#pragma once

// Macros for functions that the CPU and the GPU share. nvcc requires WALLHEAT_HOST_DEVICE; with
// WALLHEAT_UNROLL it unrolls a loop, so that an array stays in registers.
#ifdef __CUDACC__
#define WALLHEAT_HOST_DEVICE __host__ __device__
#else
#define WALLHEAT_HOST_DEVICE
#endif
#ifdef __CUDA_ARCH__
#define WALLHEAT_UNROLL _Pragma("unroll")
#else
#define WALLHEAT_UNROLL
#endif

namespace wallheat {

// The update of a cell and the convergence criterion. All implementations, on CPU and GPU, use
// these functions, so their results are bit-identical.

/// Returns the sum of a cell's neighbours, added in the order of the reference program.
constexpr double neighbour_sum(double left, double right, double up, double down) {
  return ((left + right) + up) + down;
}

/// Returns a quarter of a sum. The result is exact, except for subnormal numbers.
constexpr double quarter(double sum) { return 0.25 * sum; }

/// Returns the new value of a cell from the old values of its neighbours.
constexpr double updated(double left, double right, double up, double down) {
  return quarter(neighbour_sum(left, right, up, down));
}

/// Returns the new value of a cell with a heat source. `term` is spacing^2 f. The order of the
/// additions is that of the program for Poisson's equation that this reproduces: vertical
/// neighbours before horizontal ones.
constexpr double updated_with_source(double left, double right, double up, double down,
                                     double term) {
  return quarter(neighbour_sum(up, down, left, right) + term);
}

/// Returns true if the iteration converges with this delta.
constexpr bool has_converged(double delta, double tolerance) { return delta < tolerance; }

}  // namespace wallheat
