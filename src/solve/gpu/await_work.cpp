#include "solve/gpu/await_work.hpp"

#include <algorithm>

#include "solve/gpu/device.hpp"

namespace wallheat::gpu {

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

}  // namespace wallheat::gpu
