#include "bench/ceiling.hpp"

#include <algorithm>

#include "core/cpu_time.hpp"
#include "solve/cpu/sweep.hpp"

namespace wallheat {

double measure_update_ceiling(Isa isa) {
  constexpr int tries = 5;
  constexpr double try_s = 0.002;
  constexpr double additions_an_update = 3;
  constexpr std::int64_t rounds = 4096;
  const auto add = sweeps_for(isa).add;
  double best = 0;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const double start_s = thread_cpu_seconds();
    double updates = 0;
    double seconds = 0;
    while (seconds < try_s) {
      updates += static_cast<double>(add(rounds)) / additions_an_update;
      seconds = thread_cpu_seconds() - start_s;
    }
    best = std::max(best, updates / seconds);
  }
  return best;
}

}  // namespace wallheat
