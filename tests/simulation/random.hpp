#pragma once

#include <cmath>
#include <cstdint>

namespace wallheat::simulation {

/// SplitMix64: the same numbers from the same seed on every machine, as the standard's
/// distributions do not give them.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Below `end`; 0 if that is 0.
  std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : next() % end; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// In [0, 1).
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }
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

 private:
  std::uint64_t state_;
};

/// A seed for one purpose out of one for several.
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t purpose) {
  return Random(seed ^ (purpose * 0xd1342543de82ef95ULL)).next();
}

}  // namespace wallheat::simulation
