#include "bench/ceiling.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "solve/cpu/isa.hpp"

namespace wallheat {
namespace {

constexpr int tries = 5;
constexpr double try_s = 0.002;

/// The best rate of several tries: `work` does `units` of work a call.
template <class Work>
double best_rate(double units, Work work) {
  double best = 0;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    double done = 0;
    double seconds = 0;
    while (seconds < try_s) {
      work();
      done += units;
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    best = std::max(best, done / seconds);
  }
  return best;
}

CopyRate copy_rate(std::string level, std::size_t size_bytes) {
  std::vector<char> from(size_bytes / 2, 1);
  std::vector<char> to(size_bytes / 2);
  const auto copy = [&] {
    for (std::size_t copied = 0; copied < (1U << 20); copied += from.size()) {
      std::memcpy(to.data(), from.data(), from.size());
      // Keeps the compiler from leaving out a copy that nobody reads.
      asm volatile("" : : "r"(to.data()) : "memory");
    }
  };
  const std::size_t copies = ((1U << 20) + from.size() - 1) / from.size();
  return {std::move(level), size_bytes,
          best_rate(2.0 * static_cast<double>(copies * from.size()), copy)};
}

/// A cache's size as the system tells it, or a small one of today where it does not.
std::size_t cache_size(int name, std::size_t otherwise) {
  const long size = ::sysconf(name);
  return size > 0 ? static_cast<std::size_t>(size) : otherwise;
}

}  // namespace

double measure_update_ceiling(Isa isa) {
  constexpr double additions_an_update = 3;
  constexpr std::int64_t rounds = 4096;
  const auto add = sweeps_for(isa).add;
  const auto additions = static_cast<double>(add(rounds));
  return best_rate(additions / additions_an_update, [&] { add(rounds); });
}

std::vector<CopyRate> measure_copies() {
  const std::size_t first = cache_size(_SC_LEVEL1_DCACHE_SIZE, 32U << 10);
  const std::size_t second = cache_size(_SC_LEVEL2_CACHE_SIZE, 512U << 10);
  return {copy_rate("L1", first / 2), copy_rate("L2", second / 2),
          copy_rate("beyond L2", second * 8)};
}

}  // namespace wallheat
