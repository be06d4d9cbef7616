#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "isolation/job_settings.hpp"
#include "pull/agent.hpp"

namespace wallheat::pull {

/// The program that solves: it calls serve_seat(), see seats/solver_process.hpp.
struct SolverProgram {
  std::string file = "/proc/self/exe";
  std::vector<std::string> arguments = {"solver-process"};
};

struct SeatEvent {
  std::size_t seat = 0;
  std::variant<SeatReady, SeatAnswer, SourceAway, SeatEnd> what;
};

/// The solver processes of a worker, from this side. They end with the thread that started them.
class Seats {
 public:
  explicit Seats(SolverProgram program) : program_(std::move(program)) {}
  ~Seats();
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;

  /// Adds seats, none of which has a process yet.
  void add(const std::vector<JobSettings>& seats);
  /// Starts a seat's process. Why that failed, poll() says.
  void start(std::size_t seat);
  void give(std::size_t seat, std::size_t lane, const Task& task);
  /// Nothing is heard of its process any more.
  void kill(std::size_t seat);

  /// What has been said, or happened, if anything did within that time; of each seat in order. Its
  /// SeatEnd is the last of a process.
  [[nodiscard]] std::vector<SeatEvent> poll(std::chrono::milliseconds at_most);
  /// Calls tell(lane, PlanProgress) for each lane of a process that is at a plan, as its page says.
  void progress(std::size_t seat,
                const std::function<void(std::size_t lane, const PlanProgress&)>& tell) const;
  [[nodiscard]] std::size_t count() const { return seats_.size(); }

 private:
  struct Seat;
  SolverProgram program_;
  std::vector<std::unique_ptr<Seat>> seats_;
};

}  // namespace wallheat::pull
