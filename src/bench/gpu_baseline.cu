#include <cmath>
#include <utility>

#include "bench/gpu_ceiling.hpp"
#include "solve/gpu/cuda_stream.hpp"
#include "solve/stencil.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// One iteration. Fields have a ring of 0 °C around them: `pitch` is a row's length with it.
/// Changes are not negative, so their bits, taken as integers, are in the same order.
__global__ void iterate_once(const double* __restrict__ old_field, double* __restrict__ new_field,
                             const std::uint8_t* __restrict__ interior, int rows, int cols,
                             std::size_t pitch, unsigned long long* largest_change) {
  const int col = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  unsigned long long change = 0;
  if (row < rows && col < cols && interior[static_cast<std::size_t>(row) * cols + col] != 0) {
    const std::size_t cell = (row + 1) * pitch + col + 1;
    const double value = updated(old_field[cell - 1], old_field[cell + 1], old_field[cell - pitch],
                                 old_field[cell + pitch]);
    new_field[cell] = value;
    change = static_cast<unsigned long long>(__double_as_longlong(fabs(value - old_field[cell])));
  }
  // A warp agrees before it touches memory: to leave that out would be no fair comparison.
  constexpr unsigned all_lanes = 0xffffffffU;
  for (int distance = 16; distance > 0; distance /= 2) {
    const unsigned long long other = __shfl_down_sync(all_lanes, change, distance);
    change = other > change ? other : change;
  }
  if (threadIdx.x == 0 && change > 0) atomicMax(largest_change, change);
}

class BaselineSolver final : public Solver {
 public:
  explicit BaselineSolver(int ordinal) : ordinal_(ordinal) {
    gpu::check(cudaSetDevice(ordinal), "selecting the device");
  }

  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                const SolveControl& control) override {
    gpu::check(cudaSetDevice(ordinal_), "selecting the device");
    try {
      return solve_in_memory(plan, limits, control);
    } catch (const std::bad_alloc&) {
      throw InputError("the plan is too large for the device's memory");
    }
  }

 private:
  static std::optional<Solution> solve_in_memory(const FloorPlan& plan, const Limits& limits,
                                                 const SolveControl& control) {
    const std::size_t rows = plan.domain.rows;
    const std::size_t cols = plan.domain.cols;
    const std::size_t pitch = cols + 2;
    const std::size_t row_bytes = cols * sizeof(double);
    const std::size_t field_bytes = (rows + 2) * pitch * sizeof(double);
    const gpu::DeviceArray<double> one((rows + 2) * pitch);
    const gpu::DeviceArray<double> other((rows + 2) * pitch);
    const gpu::DeviceArray<std::uint8_t> interior(rows * cols);
    const gpu::DeviceArray<unsigned long long> largest_change(1);
    // So that solvers of several threads do not wait for each other.
    const cudaStream_t stream = cudaStreamPerThread;
    for (const auto* field : {&one, &other}) {
      gpu::check(cudaMemsetAsync(field->data(), 0, field_bytes, stream), "clearing memory");
      gpu::check(cudaMemcpy2DAsync(field->data() + pitch + 1, pitch * sizeof(double),
                                   plan.domain.cells.data(), row_bytes, row_bytes, rows,
                                   cudaMemcpyHostToDevice, stream),
                 "copying a plan");
    }
    gpu::check(cudaMemcpyAsync(interior.data(), plan.interior.cells.data(), rows * cols,
                               cudaMemcpyHostToDevice, stream),
               "copying a plan");

    Solution solution{Grid<double>(rows, cols), 0, std::nan(""), false};
    double* old_field = one.data();
    double* new_field = other.data();
    const dim3 block(32, 8);
    const dim3 blocks(static_cast<unsigned>((cols + block.x - 1) / block.x),
                      static_cast<unsigned>((rows + block.y - 1) / block.y));
    while (!solution.converged && solution.iterations < limits.max_iterations) {
      if (control.stop.stop_requested()) return std::nullopt;
      gpu::check(cudaMemsetAsync(largest_change.data(), 0, sizeof(double), stream), "solving");
      iterate_once<<<blocks, block, 0, stream>>>(old_field, new_field, interior.data(),
                                                 static_cast<int>(rows), static_cast<int>(cols),
                                                 pitch, largest_change.data());
      gpu::check(cudaGetLastError(), "starting a kernel");
      gpu::check(cudaMemcpyAsync(&solution.last_delta, largest_change.data(), sizeof(double),
                                 cudaMemcpyDeviceToHost, stream),
                 "solving");
      gpu::check(cudaStreamSynchronize(stream), "solving");
      std::swap(old_field, new_field);
      ++solution.iterations;
      solution.converged = has_converged(solution.last_delta, limits.tolerance);
    }
    gpu::check(
        cudaMemcpy2DAsync(solution.field.cells.data(), row_bytes, old_field + pitch + 1,
                          pitch * sizeof(double), row_bytes, rows, cudaMemcpyDeviceToHost, stream),
        "copying a field");
    gpu::check(cudaStreamSynchronize(stream), "copying a field");
    return solution;
  }

  int ordinal_;
};

}  // namespace

std::unique_ptr<Solver> make_gpu_baseline_solver(int ordinal) {
  return std::make_unique<BaselineSolver>(ordinal);
}

}  // namespace wallheat
