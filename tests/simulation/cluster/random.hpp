#pragma once

#include <cmath>
#include <cstdint>

namespace wallheat::simulation {

/// Numbers from a seed, the same on every machine (SplitMix64; the standard's distributions differ
/// from library to library).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// In [0, 1).
  double fraction() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }
  bool chance(double probability) { return fraction() < probability; }
  double between(double least, double most) { return least + (most - least) * fraction(); }
  /// Evenly over the orders of magnitude.
  double over_magnitudes(double least, double most) {
    return least * std::pow(most / least, fraction());
  }
  /// In [least, most].
  int whole(int least, int most) {
    return least + static_cast<int>(fraction() * static_cast<double>(most - least + 1));
  }
  double exponential(double mean) { return -mean * std::log1p(-fraction()); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log1p(-fraction()));
    return radius * std::cos(6.283185307179586 * fraction());
  }
  /// Another stream, which does not change when this one is used more or less.
  [[nodiscard]] static Random stream(std::uint64_t seed, std::uint64_t number) {
    return Random(Random(seed ^ (number * 0xd1342543de82ef95U)).bits());
  }

 private:
  std::uint64_t state_;
};

}  // namespace wallheat::simulation
