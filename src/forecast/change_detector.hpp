#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace wallheat {

/// How alike waits are that follow each other: the lag-1 autocorrelation of log(1 + wait) within
/// blocks of 64, averaged over some blocks. Within blocks, as a queue that changes would look alike
/// over its whole history.
class Likeness {
 public:
  void add(std::int64_t wait_s);
  /// From 0 to 0.98; 0 before the first block.
  [[nodiscard]] double autocorrelation() const;
  /// So many waits tell as much as one independent wait: (1 + r) / (1 - r).
  [[nodiscard]] double waits_a_fact() const;

 private:
  static constexpr std::size_t block = 64;
  std::array<double, block> logs_{};
  std::size_t count_ = 0;
  std::optional<double> mean_;
};

/// Tells from how well bounds held whether a queue has changed. After Brevik, Nurmi and Wolski,
/// Predicting bounds on queuing delay for batch-scheduled parallel machines (QBETS, 2006): a run of
/// misses that is longer than chance allows means that waits grow. Here also blocks of 128, 256,
/// 512, ... jobs in which misses are too many or too few for chance, as a queue may change slowly,
/// or for the better. Both allow for waits that are alike.
class ChangeDetector {
 public:
  /// `miss_share`: of misses that are expected, about 0.05.
  explicit ChangeDetector(double miss_share = 0.05) : miss_share_(miss_share) {}

  /// The outcome of the next bound. Where the queue has changed: how many of the latest waits to
  /// keep; the detector starts anew.
  [[nodiscard]] std::optional<std::size_t> add(bool missed, const Likeness& likeness);

 private:
  struct Block {
    std::size_t jobs = 0;
    std::size_t misses = 0;
  };
  static constexpr std::size_t shortest_block = 128;
  double miss_share_;
  std::size_t run_ = 0;
  std::array<Block, 24> blocks_{};  ///< of shortest_block, twice, four times, ... as many jobs
};

}  // namespace wallheat
