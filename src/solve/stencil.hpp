#pragma once

// For functions that the CPU and the GPU back ends share: nvcc needs to be told of them, and that
// it is to unroll a loop, so that an array stays in registers.
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

// The update and the stopping rule, once, for every back end on host and device.

/// The sum of a cell's neighbours, added in the reference's order.
constexpr double neighbour_sum(double left, double right, double up, double down) {
  return ((left + right) + up) + down;
}

/// A quarter of a sum of four neighbours, and maybe a source's term. It is exact.
constexpr double quarter(double sum) { return 0.25 * sum; }

/// The new value of a cell from its neighbours' old values.
constexpr double updated(double left, double right, double up, double down) {
  return quarter(neighbour_sum(left, right, up, down));
}

/// The same with a source, whose term (spacing^2 f) is added in the order of the program for
/// Poisson's equation that it reproduces: rows before columns.
constexpr double updated_with_source(double left, double right, double up, double down,
                                     double term) {
  return quarter(neighbour_sum(up, down, left, right) + term);
}

/// True if an iteration with this largest change is the last.
constexpr bool has_converged(double delta, double tolerance) { return delta < tolerance; }

}  // namespace wallheat
