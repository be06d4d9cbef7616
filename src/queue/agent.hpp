#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "queue/messages.hpp"

namespace wallheat {

// What a solver process says to its worker, and how it ends. A seat is its place: a new process
// takes the place of one that died.

/// It has loaded and waits for plans.
struct SeatReady {
  std::uint32_t lanes = 1;  ///< plans that it solves at a time
  std::vector<int> cpus{};  ///< that it may use, read back from the system
  static void fields(auto& visit, auto& self) { visit(self.lanes, self.cpus); }
};
/// A plan is not solved: plans cannot be read for the time being.
struct SourceAway {
  std::uint32_t plan = 0;
  std::string reason;
  static void fields(auto& visit, auto& self) { visit(self.plan, self.reason); }
};
/// The last of a process.
struct SeatEnd {
  enum class Why : std::uint8_t {
    died,           ///< `reason` goes on after "solver process"
    gives_up,       ///< for a `reason` of its own
    device_silent,  ///< its device does not answer, whatever plans it had
    source_away     ///< while it loaded
  };
  Why why = Why::died;
  std::string reason;
  static void fields(auto& visit, auto& self) { visit(self.why, self.reason); }
};

/// A worker without I/O: it starts solver processes, hands them plans, tells rank 0, and judges who
/// is to blame if a process goes wrong. One loop drives it: see worker_loop.hpp.
///
/// A process may die, say that its device failed, or make no progress for too long. Then a new one
/// takes its place. A plan that makes no progress is to blame: it fails and may be tried again,
/// and the others go back. Otherwise the plan that was in the process alone is to blame. If there
/// were several, all go back as shaken, and rank 0 will give each of them alone. A device on which
/// several plans in a row are to blame, or that fails again and again with several plans at once,
/// is given up.
class Agent {
 public:
  /// What plans are solved on.
  struct Device {
    std::size_t seats = 1;
    WorkerFacts facts;  ///< but for lanes, shares_process and bound_cpus: those the processes tell
    double plan_timeout_s = 0;  ///< the longest without progress; 0: for ever
  };
  /// To a seat.
  struct Order {
    enum class Kind : std::uint8_t { start, give, kill };
    Kind kind = Kind::start;
    std::size_t seat = 0;
    Task task{};  ///< of `give`
  };
  struct Outbox {                      ///< emptied by whoever drives, in order
    std::vector<FromWorker> messages;  ///< results before the Bye that follows them
    std::vector<Order> orders;
    std::vector<std::string> warnings;  ///< sentences for whoever looks at the run
  };

  /// It speaks no less often than each `sign_s`.
  explicit Agent(double sign_s) : sign_s_(sign_s) {}

  /// Begins to load. If the first device is given up, the next one takes its place. The numbers of
  /// seats go on from device to device.
  void open(std::vector<Device> devices);
  void heard(const Work& work);
  void heard(const Stop& stop);
  /// Abandons everything at hand: kills all seats and says Bye, once.
  void leave(Bye::Why why, const std::string& reason);
  [[nodiscard]] bool has_left() const { return bye_.has_value(); }
  /// The index of the device in use among those that were opened.
  [[nodiscard]] std::size_t device_in_use() const { return device_; }
  /// No seat has anything to say.
  [[nodiscard]] bool waits_for_rank_0() const;

  void heard(std::size_t seat, const SeatReady& ready);
  void heard(std::size_t seat, Result result);
  void heard(std::size_t seat, const SourceAway& away);
  /// Its last progress is to be told before this.
  void heard(std::size_t seat, const SeatEnd& end);
  /// A process is at a plan, as its page says.
  void progressed(std::size_t seat, const PlanProgress& progress);

  /// To be called when everything at hand has been told. `awake_s`: by a clock that stands still
  /// while this process is stopped or sleeps for longer than it meant to, as only time counts in
  /// which it might have heard of progress.
  void tick(double awake_s);

  Outbox outbox;

 private:
  /// A plan that a process has.
  struct HeldPlan {
    Task task{};
    double turn_s = 0;      ///< when it was its turn
    double progress_s = 0;  ///< when it was seen to go on
    bool begun = false;     ///< the process was seen at it
    PlanProgress progress{};
  };
  struct Seat {
    enum class Stage : std::uint8_t { off, waits, loads, ready };
    Stage stage = Stage::off;
    double since_s = 0;     ///< loads since then; waits until then
    int failed_starts = 0;  ///< in a row
    std::size_t lanes = 0;  ///< plans that it solves at a time; 0 unless it is ready
    std::size_t ahead = 0;  ///< plans that it has in advance, for each lane
    std::vector<int> cpus{};
    std::vector<HeldPlan> plans{};  ///< it takes them in this order
    [[nodiscard]] bool runs() const { return stage == Stage::loads || stage == Stage::ready; }
    /// The plans whose turn it is.
    [[nodiscard]] std::span<const HeldPlan> at_work() const {
      return std::span(plans).first(std::min(lanes, plans.size()));
    }
    [[nodiscard]] std::vector<HeldPlan>::iterator find(std::uint32_t plan) {
      return std::ranges::find(plans, plan, [](const HeldPlan& held) { return held.task.plan; });
    }
  };
  /// Plans cannot be read.
  struct Away {
    double since_s = 0;
    double next_try_s = 0;
  };

  [[nodiscard]] const Device& device() const { return devices_[device_]; }
  [[nodiscard]] std::vector<HeldPlan> take_begun(std::size_t seat);
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] std::vector<PlanProgress> running() const;
  void start_device();
  void start(std::size_t seat, double pause_s = 0);
  void start_failed(std::size_t seat, const std::string& problem);
  void failed(std::size_t seat, const std::string& reason);
  void device_silent(std::size_t seat, const std::string& reason);
  void no_progress(std::size_t seat, std::uint32_t plan);
  void blame(const HeldPlan& held, const std::string& what);
  void give_up_for(const std::string& reason);
  void give_up(const std::string& reason);
  void stop_seats();
  void wait_for_source(const std::string& reason);
  void look_at(std::size_t seat);
  Task take_off(Seat& seat, std::vector<HeldPlan>::iterator held);
  void feed();
  void report();
  void order(Order::Kind kind, std::size_t seat) { outbox.orders.push_back({kind, seat}); }
  void warn(const std::string& sentence);

  double sign_s_;
  double now_s_ = 0;
  std::vector<Device> devices_{};
  std::size_t device_ = 0;
  std::vector<Seat> seats_{};  ///< of all devices so far
  std::deque<Task> stock_{};   ///< what no process has yet
  WorkerReport news_{};
  double reported_s_ = -std::numeric_limits<double>::infinity();
  bool reported_ready_ = false;  ///< of this device
  std::optional<Away> away_{};
  std::optional<Bye> bye_{};
  // The device's record.
  int blamed_in_a_row_ = 0;
  std::uint32_t blamed_last_ = 0;
  int failures_in_company_ = 0;
  int silences_ = 0;
};

}  // namespace wallheat
