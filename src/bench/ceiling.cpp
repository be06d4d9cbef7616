#include "bench/ceiling.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "solve/cpu/active_blocks.hpp"
#include "solve/cpu/cache_sizes.hpp"
#include "solve/cpu/isa.hpp"

namespace wallheat {
namespace {

constexpr int tries = 7;
constexpr double try_s = 0.02;

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

double dense_update_rate(Isa isa) {
  // Wide rows, so that what a row costs beyond its blocks counts for little; two fields of it in
  // L1.
  constexpr std::size_t cols = 128;
  const std::size_t rows =
      cache_sizes().first * 3 / 4 / (2 * (cols + 2 * block_width) * sizeof(double)) - 2;
  ActiveBlocks blocks;
  blocks.assign(Grid<std::uint8_t>(rows, cols, 1));
  const Grid<double> start(rows, cols, 1.0);
  CompactField even;
  CompactField odd;
  blocks.load(start, 1, even);
  blocks.load(start, 4, odd);
  const Sweeps sweeps = sweeps_for(isa);
  constexpr int sweeps_a_call = 64;
  return best_rate(static_cast<double>(rows * cols * sweeps_a_call), [&] {
    for (int sweep = 0; sweep < sweeps_a_call; sweep += 4)
      sweeps.fourfold({even.data(), odd.data(), even.data()}, blocks.rows(), 4);
  });
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

}  // namespace

Ceiling measure_ceiling(Isa isa) {
  const auto [first, second] = cache_sizes();
  return {dense_update_rate(isa),
          {copy_rate("L1", first / 2), copy_rate("L2", second / 2),
           copy_rate("beyond L2", second * 8)}};
}

}  // namespace wallheat
