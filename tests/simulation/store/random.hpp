#pragma once

#include <cstdint>

namespace wallheat::simulation {

/// SplitMix64: the same numbers from the same seed on every machine.
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

 private:
  std::uint64_t state_;
};

/// A seed for one purpose out of one for several.
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t purpose) {
  return Random(seed ^ (purpose * 0xd1342543de82ef95ULL)).next();
}

}  // namespace wallheat::simulation
