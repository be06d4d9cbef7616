#include "bench/ceiling.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/cpu_time.hpp"
#include "solve/cpu/sweep.hpp"

namespace wallheat {
namespace {

constexpr int tries = 5;
constexpr double try_s = 0.002;

/// The best rate of several tries, by the time in which this thread had its core: `work` does
/// `units` of work a call.
template <class Work>
double best_rate(double units, Work work) {
  double best = 0;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const double start_s = thread_cpu_seconds();
    double done = 0;
    double seconds = 0;
    while (seconds < try_s) {
      work();
      done += units;
      seconds = thread_cpu_seconds() - start_s;
    }
    best = std::max(best, done / seconds);
  }
  return best;
}

CopyRate copy_rate(std::string level, std::size_t size_bytes) {
  // Both begin at a page: where the addresses of a copy differ by few bytes modulo its size, some
  // processors copy at a twentieth of their speed.
  constexpr std::size_t page = 4096;
  const std::size_t bytes = (size_bytes / 2 + page - 1) / page * page;
  std::vector<char> memory(2 * bytes + page, 1);
  void* start = memory.data();
  std::size_t room = memory.size();
  char* const from = static_cast<char*>(std::align(page, 2 * bytes, start, room));
  char* const to = from + bytes;
  const auto copy = [&] {
    for (std::size_t copied = 0; copied < (1U << 20); copied += bytes) {
      std::memcpy(to, from, bytes);
      // Keeps the compiler from leaving out a copy that nobody reads.
      asm volatile("" : : "r"(to) : "memory");
    }
  };
  const std::size_t copies = ((1U << 20) + bytes - 1) / bytes;
  return {std::move(level), 2 * bytes, best_rate(2.0 * static_cast<double>(copies * bytes), copy)};
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
