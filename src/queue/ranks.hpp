#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/runtime.hpp"
#include "queue/link.hpp"
#include "queue/messages.hpp"
#include "queue/worker.hpp"
#include "queue/worker_info.hpp"

namespace wallheat {

/// The other ranks as rank 0 knows them: how far each has come, and which of them live. Rank 0
/// speaks to them through this. It tells a rank now and then that rank 0 lives, from the rank's
/// first word until it is silent for too long, and again once it speaks: what is sent to a rank
/// that is dead takes room that the living need.
class Ranks {
 public:
  enum class Stage : std::uint8_t {
    awaited,   ///< has not reported
    reported,  ///< is to be placed
    placed,    ///< gets ready
    overdue,   ///< did not report or get ready in time; it may yet
    working,   ///< gets plans
    lost,      ///< worked, and was silent for too long
    leaving,   ///< takes no more plans
    left,      ///< is at nothing any more
    refused    ///< nothing that it says is for this run
  };

  Ranks(Link& link, const Timeouts& timeouts, const Runtime& runtime);

  [[nodiscard]] Stage stage(int rank) const { return at(rank).stage; }
  void move(int rank, Stage stage);
  [[nodiscard]] std::size_t count(Stage stage) const {
    return counts_.at(static_cast<std::size_t>(stage));
  }
  [[nodiscard]] std::vector<int> those(Stage stage) const;

  [[nodiscard]] const WorkerPointer& info(int rank) const { return at(rank).info; }
  void describe(WorkerInfo info);
  /// What it found on its host, until it is placed.
  void report(int rank, Machine machine);
  [[nodiscard]] Machine take_machine(int rank);

  void send(int rank, const ToWorker& message);
  /// The rank said something.
  void heard(int rank);
  /// So much time passed in which messages were taken in. Returns the ranks that have been silent
  /// for too long by now.
  [[nodiscard]] std::vector<int> time_passed(double seconds);
  /// Tells those that live that rank 0 lives, where it has said nothing to them for a while.
  void tell_that_rank_0_lives();

 private:
  struct Rank {
    Stage stage = Stage::awaited;
    WorkerPointer info;
    std::unique_ptr<Machine> machine;
    double heard_s = 0;  ///< on the clock of time_passed()
    Runtime::Clock::time_point told;
    bool speaks = false;  ///< it lives
  };
  [[nodiscard]] Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  Link& link_;
  const Runtime& runtime_;
  double timeout_s_;
  Runtime::Clock::duration interval_;
  double clock_s_ = 0;
  double next_look_s_ = 0;  ///< for the silent
  Runtime::Clock::time_point next_telling_{};
  std::vector<Rank> ranks_;  ///< by number; rank 0's is not used
  std::array<std::size_t, static_cast<std::size_t>(Stage::refused) + 1> counts_{};
};

}  // namespace wallheat
