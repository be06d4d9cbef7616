// What needs no CUDA.
#include "solve/gpu/device.hpp"

#include <algorithm>
#include <cstdlib>

#include "solve/gpu/stream.hpp"

namespace wallheat {
namespace {

constexpr const char* queues_variable = "CUDA_DEVICE_MAX_CONNECTIONS";

}  // namespace

void use_all_gpu_queues() { (void)::setenv(queues_variable, "32", 0); }

std::size_t gpu_queues() {
  constexpr std::size_t default_queues = 8;
  constexpr int most = 32;
  const char* const text = std::getenv(queues_variable);
  const int number = text == nullptr ? 0 : std::atoi(text);
  return number < 1 ? default_queues : static_cast<std::size_t>(std::min(number, most));
}

std::size_t plans_in_flight(int multiprocessors, std::size_t queues) {
  // A plan of 512 x 512 cells takes some 6 multiprocessors. For each that is solved, one is being
  // read and one summarised.
  constexpr int multiprocessors_a_plan = 6;
  const int solved = std::max(multiprocessors / multiprocessors_a_plan, 1);
  return std::min(3 * static_cast<std::size_t>(solved), queues);
}

namespace gpu {

void await_work(const std::function<bool()>& is_done, const std::function<void(double)>& sleep,
                const std::string& doing) {
  constexpr double shortest_s = 50e-6;
  constexpr double longest_s = 1e-3;
  double waited_s = 0;
  while (!is_done()) {
    if (waited_s >= longest_silence_s)
      throw DeviceSilent("the GPU has not answered for " +
                         std::to_string(static_cast<int>(longest_silence_s)) + " s at " + doing);
    const double pause_s = std::clamp(waited_s / 8, shortest_s, longest_s);
    sleep(pause_s);
    waited_s += pause_s;
  }
}

}  // namespace gpu
}  // namespace wallheat
