#include "wallheat/error.hpp"
#include "wallheat/gpu_ceiling.hpp"

namespace wallheat {

GpuCeiling measure_gpu_ceiling(int) { throw RunError("this wallheat was built without CUDA"); }

std::unique_ptr<Solver> make_gpu_baseline_solver(int) {
  throw RunError("this wallheat was built without CUDA");
}

}  // namespace wallheat
