#include "forecast/change_detector.hpp"

#include <algorithm>
#include <cmath>

namespace wallheat {
namespace {

/// What is kept at least: as many waits as tell what 59 independent ones would.
constexpr double least_facts = 59;

}  // namespace

void Likeness::add(std::int64_t wait_s) {
  logs_.at(count_++) = std::log1p(static_cast<double>(std::max<std::int64_t>(wait_s, 0)));
  if (count_ < block) return;
  count_ = 0;
  double mean = 0;
  for (const double log : logs_) mean += log / block;
  double variance = 0;
  double product = 0;
  for (std::size_t i = 0; i < block; ++i) {
    variance += (logs_.at(i) - mean) * (logs_.at(i) - mean);
    if (i > 0) product += (logs_.at(i) - mean) * (logs_.at(i - 1) - mean);
  }
  const double correlation = variance > 0 ? product / variance : 0;
  constexpr double weight = 0.125;  // of the latest block
  mean_ = mean_ ? *mean_ + weight * (correlation - *mean_) : correlation;
}

double Likeness::autocorrelation() const { return std::clamp(mean_.value_or(0), 0.0, 0.98); }

double Likeness::waits_a_fact() const {
  const double r = autocorrelation();
  return (1 + r) / (1 - r);
}

std::optional<std::size_t> ChangeDetector::add(bool missed, const Likeness& likeness) {
  const double facts = likeness.waits_a_fact();
  std::optional<double> keep;  // of the latest waits
  // As improbable as four misses in a row are where waits are independent.
  run_ = missed ? run_ + 1 : 0;
  const double again = miss_share_ + (1 - miss_share_) * likeness.autocorrelation();
  const double longest = 1 + std::ceil(3 * std::log(miss_share_) / std::log(again) - 1e-9);
  if (static_cast<double>(run_) >= longest) keep = 0;

  constexpr double deviations = 3.3;  // one block in a thousand is beyond by chance
  std::size_t size = shortest_block;
  for (Block& block : blocks_) {
    block.misses += missed ? 1 : 0;
    if (++block.jobs == size) {
      const double expected = miss_share_ * static_cast<double>(size);
      const double spread = std::sqrt(expected * (1 - miss_share_) * facts);
      if (std::abs(static_cast<double>(block.misses) - expected) > deviations * spread)
        keep = std::max(keep.value_or(0), static_cast<double>(size) / 4);
      block = {};
    }
    size *= 2;
  }
  if (!keep) return std::nullopt;
  run_ = 0;
  blocks_ = {};
  return static_cast<std::size_t>(std::max(*keep, std::ceil(least_facts * facts)));
}

}  // namespace wallheat
