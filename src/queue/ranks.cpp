#include "queue/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace wallheat {

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

void Ranks::send(int rank, const ToWorker& message) {
  link_.send(rank, encode(message));
  told(at(rank));
}

/// Whatever it was told says that rank 0 lives.
void Ranks::told(Rank& rank) {
  rank.told = runtime_.now();
  if (rank.speaks) by_told_.splice(by_told_.end(), by_told_, rank.by_told);
}

void Ranks::heard(int rank) {
  Rank& speaker = at(rank);
  speaker.heard_s = clock_s_;
  if (std::exchange(speaker.speaks, true)) {
    by_silence_.splice(by_silence_.end(), by_silence_, speaker.by_silence);
  } else {
    speaker.by_silence = by_silence_.insert(by_silence_.end(), rank);
    speaker.by_told = by_told_.insert(by_told_.begin(), rank);
    speaker.told = {};
  }
}

std::vector<int> Ranks::time_passed(double seconds) {
  clock_s_ += seconds;
  std::vector<int> silent;
  while (!by_silence_.empty() && clock_s_ - at(by_silence_.front()).heard_s > timeout_s_) {
    Rank& rank = at(silent.emplace_back(by_silence_.front()));
    rank.speaks = false;
    by_silence_.pop_front();
    by_told_.erase(rank.by_told);
  }
  return silent;
}

void Ranks::tell_that_rank_0_lives() {
  const auto due = runtime_.now() - interval_;
  while (!by_told_.empty() && at(by_told_.front()).told <= due) {
    const int rank = by_told_.front();
    link_.send_sign_of_life(rank, encode(CoordinatorHeartbeat{}));
    told(at(rank));  // it is the last now
  }
}

}  // namespace wallheat
