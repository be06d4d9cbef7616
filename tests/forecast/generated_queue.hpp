#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "forecast/wait_forecast.hpp"

namespace wallheat {

/// Returns random waits of a scheduler queue. Kinds:
///   - "stationary": independent, log-normal;
///   - "alike": autocorrelated;
///   - "bursty": about twenty jobs at once, with similar waits;
///   - "drifting": ten times as long at the end, with slow oscillations;
///   - "daily": long by day, short by night;
///   - "jumping": another level every few thousand jobs.
inline std::vector<Wait> generated_queue(const std::string& kind, std::size_t jobs, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  std::uniform_real_distribution<double> uniform;
  std::vector<Wait> waits;
  double now_s = 1.6e9;
  double level = 0;
  int left = 0;
  for (std::size_t job = 0; job < jobs; ++job) {
    const double share = static_cast<double>(job) / static_cast<double>(jobs);
    const auto wave = [](double turns) { return std::sin(2 * std::numbers::pi * turns); };
    double gap_s = 60 * exponential(random);
    double log = 1.5 * normal(random);
    if (kind == "alike") log = level = 0.9 * level + std::sqrt(1 - 0.81) * log;
    if (kind == "bursty") {
      if (left-- <= 0) {
        left = static_cast<int>(20 * exponential(random));
        level = 1.4 * normal(random);
        gap_s *= 20;
      } else {
        gap_s /= 30;
      }
      log = level + 0.2 * log;
    }
    if (kind == "drifting")
      log += std::log(10) * share + 0.7 * wave(static_cast<double>(job) / 5e4);
    if (kind == "daily") log += wave(now_s / 86400);
    if (kind == "jumping") {
      if (uniform(random) < 1.0 / 5000) level = 1.5 * normal(random);
      log += level;
    }
    now_s += gap_s;
    waits.push_back(
        {static_cast<std::int64_t>(now_s), static_cast<std::int64_t>(600 * std::exp(log)), true});
  }
  return waits;
}

}  // namespace wallheat
