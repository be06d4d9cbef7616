// What needs no CUDA.
#include "solve/gpu/device.hpp"

#include <algorithm>
#include <cstdlib>

namespace wallheat {
namespace {

constexpr const char* queues_variable = "CUDA_DEVICE_MAX_CONNECTIONS";

}  // namespace

void use_all_gpu_queues() { (void)::setenv(queues_variable, "32", 0); }

std::size_t gpu_queues() {
  constexpr std::size_t usual = 8;
  constexpr int most = 32;
  const char* const text = std::getenv(queues_variable);
  const int number = text == nullptr ? 0 : std::atoi(text);
  return number < 1 ? usual : static_cast<std::size_t>(std::min(number, most));
}

std::size_t plans_in_flight(int multiprocessors, std::size_t queues) {
  // A plan of 512 x 512 cells takes some 6 multiprocessors. For each that is solved, one is being
  // read and one summarised.
  constexpr int multiprocessors_a_plan = 6;
  const int solved = std::max(multiprocessors / multiprocessors_a_plan, 1);
  return std::min(3 * static_cast<std::size_t>(solved), queues);
}

}  // namespace wallheat
