#include "queue/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace wallheat {
namespace {

// Of ten thousand ranks not all may be looked at whenever something is said.
constexpr int looks_an_interval = 8;

}  // namespace

Ranks::Ranks(Link& link, const Timeouts& timeouts, const Runtime& runtime)
    : link_(link),
      runtime_(runtime),
      timeout_s_(timeouts.worker_s),
      interval_(std::max<Runtime::Clock::duration>(
          std::chrono::milliseconds{1},
          std::chrono::duration_cast<Runtime::Clock::duration>(
              std::chrono::duration<double>(timeouts.heartbeat_s())))),
      ranks_(static_cast<std::size_t>(link.size())) {
  counts_[static_cast<std::size_t>(Stage::awaited)] = ranks_.size() - 1;
  for (int rank = 1; rank < link.size(); ++rank) describe({rank, "its host", "", {}, false});
}

void Ranks::move(int rank, Stage stage) {
  --counts_[static_cast<std::size_t>(at(rank).stage)];
  ++counts_[static_cast<std::size_t>(stage)];
  at(rank).stage = stage;
}

std::vector<int> Ranks::those(Stage stage) const {
  std::vector<int> result;
  for (int rank = 1; rank < link_.size(); ++rank)
    if (at(rank).stage == stage) result.push_back(rank);
  return result;
}

void Ranks::describe(WorkerInfo info) {
  const int rank = info.rank;
  at(rank).info = std::make_shared<const WorkerInfo>(std::move(info));
}

void Ranks::report(int rank, Machine machine) {
  move(rank, Stage::reported);
  at(rank).machine = std::make_unique<Machine>(std::move(machine));
}

Machine Ranks::take_machine(int rank) { return std::move(*std::exchange(at(rank).machine, {})); }

/// Whatever a rank is told says that rank 0 lives.
void Ranks::send(int rank, const ToWorker& message) {
  link_.send(rank, encode(message));
  at(rank).told = runtime_.now();
}

void Ranks::heard(int rank) {
  Rank& speaker = at(rank);
  speaker.heard_s = clock_s_;
  if (!std::exchange(speaker.speaks, true)) speaker.told = {};
}

std::vector<int> Ranks::time_passed(double seconds) {
  clock_s_ += seconds;
  std::vector<int> silent;
  if (clock_s_ < next_look_s_) return silent;
  next_look_s_ = clock_s_ + std::chrono::duration<double>(interval_).count() / looks_an_interval;
  for (int rank = 1; rank < link_.size(); ++rank) {
    if (!at(rank).speaks || clock_s_ - at(rank).heard_s <= timeout_s_) continue;
    at(rank).speaks = false;
    silent.push_back(rank);
  }
  return silent;
}

void Ranks::tell_that_rank_0_lives() {
  const auto now = runtime_.now();
  if (now < next_telling_) return;
  next_telling_ = now + interval_ / looks_an_interval;
  for (int rank = 1; rank < link_.size(); ++rank) {
    if (!at(rank).speaks || at(rank).told > now - interval_) continue;
    link_.send_sign_of_life(rank, encode(CoordinatorHeartbeat{}));
    at(rank).told = now;
  }
}

}  // namespace wallheat
