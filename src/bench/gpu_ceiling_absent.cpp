#include "bench/gpu_ceiling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

GpuCeiling measure_gpu_ceiling(int) { throw RunError("this wallheat was built without CUDA"); }

GpuCopies measure_gpu_copies(int) { throw RunError("this wallheat was built without CUDA"); }

std::unique_ptr<Solver> make_gpu_baseline_solver(int) {
  throw RunError("this wallheat was built without CUDA");
}

}  // namespace wallheat
