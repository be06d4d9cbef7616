#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/child_process.hpp"
#include "isolation/job_settings.hpp"
#include "isolation/seat_messages.hpp"

namespace wallheat {

/// The program that solves: it calls serve_seat(), see solver_process.hpp.
struct SolverProgram {
  std::string file = "/proc/self/exe";
  std::vector<std::string> arguments = {"solver-process"};
};

struct SeatEvent {
  std::size_t seat = 0;
  FromSeat what;
};

/// The solver processes of a worker, from this side. They end with the thread that started them.
class Seats {
 public:
  explicit Seats(SolverProgram program);
  /// Kills them all.
  ~Seats();
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;

  /// Adds a seat, which has no process yet. Throws RunError if there is no memory for its page.
  void add(const JobSettings& settings);
  /// Starts a process at a seat that has none. If that fails, poll() says why.
  void start(std::size_t seat);
  void give(std::size_t seat, const Task& task);
  /// Nothing is heard of the process any more.
  void kill(std::size_t seat);

  /// The messages, and which processes have ended; waits for the first of it. After a SeatEnd
  /// nothing more comes from a process.
  [[nodiscard]] std::vector<SeatEvent> poll(std::chrono::milliseconds at_most);
  /// Tells how far the plans in a process are, also of one that has ended.
  void progress(std::size_t seat, const std::function<void(const PlanProgress&)>& tell) const;
  [[nodiscard]] std::size_t count() const { return seats_.size(); }

 private:
  struct Seat;
  void listen(std::size_t seat, std::vector<SeatEvent>& events);

  SolverProgram program_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<std::unique_ptr<ChildProcess>> left_behind_;  // killed, not ended by the kernel yet
};

}  // namespace wallheat
