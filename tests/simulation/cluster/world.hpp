#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime.hpp"
#include "queue/link.hpp"
#include "simulation/cluster/fiber.hpp"

namespace wallheat::simulation {

/// Simulated time, in s since the world began.
using Seconds = double;
constexpr Seconds for_ever_s = 1e18;

class World;

/// Thrown in the threads of a process that is killed, at whatever they wait for; no
/// std::exception, so that nobody takes it for an error.
struct Killed {};

/// A message on its way.
struct Letter {
  Envelope envelope;
  bool is_sign_of_life = false;
};

/// A process of the simulated cluster: its threads take turns, its clock is the world's.
class Process : public Runtime {
 public:
  /// `poll_s`: so long a poll may take while nothing happens in the process, as that of a process
  /// that the system does not wake at once. The longer, the fewer are simulated.
  Process(World& world, int rank, Seconds poll_s);
  ~Process() override;

  /// Its first thread.
  void begin(std::function<void()> work);
  [[nodiscard]] bool ended() const;
  [[nodiscard]] bool dying() const { return dying_; }
  /// Ends it: whatever its threads wait for throws Killed. Not to be called by one of them.
  void kill();
  /// It does not run before that time.
  void pause_until(Seconds time);
  /// The next wait for mail after that time throws RunError.
  void break_link_at(Seconds time) { link_breaks_s_ = time; }
  /// Something that its threads poll for has changed.
  void poke();

  [[nodiscard]] Clock::time_point now() const override;
  [[nodiscard]] std::unique_ptr<Condition> make_condition() override;
  [[nodiscard]] std::unique_ptr<Thread> start_thread(
      std::function<void(const std::stop_token&)> work) override;
  /// The thread that calls this sleeps.
  void sleep(Seconds time);

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] Seconds poll_s() const { return poll_s_; }

 private:
  friend class World;
  friend class SimulatedLink;
  class SimulatedCondition;
  class SimulatedThread;
  struct Task {
    std::unique_ptr<Fiber> fiber;
    std::uint64_t waits = 0;  ///< a wake-up for an earlier wait comes too late
    bool polling = false;     ///< it looks again soon after something has happened
    Seconds poll_s = 0;       ///< so soon
    bool was_idle = false;    ///< its last poll was in vain, too
  };

  std::shared_ptr<Task> add_task(std::function<void()> work);
  /// Leaves the calling fiber until `deadline` or a wake-up.
  void leave(Seconds deadline);
  /// The same. Throws Killed.
  void suspend(Seconds deadline);
  /// The same for a poll of `timeout` s, which may take longer while nothing happens.
  void suspend_poll(Seconds timeout);
  void wake(const std::shared_ptr<Task>& task);
  /// `news`: it is not another thread of this process that wakes it.
  void wake_at(const std::shared_ptr<Task>& task, Seconds time, bool news);
  void run(const std::shared_ptr<Task>& task, bool news);
  void wake_polling(const std::shared_ptr<Task>& but_for);

  World& world_;
  int rank_;
  Seconds poll_s_;
  bool dying_ = false;
  Seconds paused_until_ = 0;
  Seconds link_breaks_s_ = for_ever_s;
  std::vector<std::shared_ptr<Task>> tasks_;
  std::shared_ptr<Task> current_;
  std::deque<Letter> mail_;
  std::shared_ptr<Task> receiver_;              ///< the thread that waits for mail
  std::size_t credits_ = 0;                     ///< so many messages more it may have on their way
  std::deque<std::pair<int, Letter>> backlog_;  ///< rank, message: to be sent when it may
};

/// Time, what happens next, and the network.
class World {
 public:
  explicit World(std::uint64_t seed);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  [[nodiscard]] Seconds now() const { return now_; }
  void at(Seconds time, std::function<void()> action);
  /// Does what comes next. Returns false where nothing does, or only after `until`.
  bool step(Seconds until);
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Of all that has happened so far, in order.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  void note(std::uint64_t what);

  // The network between the processes of a session.

  struct Delays {
    Seconds least_s = 20e-6;
    Seconds mean_s = 50e-6;  ///< beyond the least; exponential
  };
  /// `credits`: so many messages a process may have sent that were not taken, to all others
  /// together. What goes to one that is dead is never taken.
  void connect(std::vector<std::unique_ptr<Process>>* processes, Delays delays,
               std::size_t credits);
  [[nodiscard]] std::unique_ptr<Link> link(Process& process);
  /// Called with each message to rank 0 when it is sent.
  void watch(std::function<void(int from, const Bytes& message)> look) { look_ = std::move(look); }
  /// As if the rank had sent it.
  void forge(int from, int to, Bytes message) { send(to, {{from, std::move(message)}, false}); }
  /// Nothing arrives from there before that time.
  void block(int from, int to, Seconds until);
  /// How many messages of this session rank 0 has sent that are no signs of life.
  [[nodiscard]] std::uint64_t orders() const { return orders_; }
  /// What is on its way from there is lost from the k-th message on.
  void lose_mail_of(int from, double part);

  StackPool& stacks() { return stacks_; }

 private:
  friend class Process;
  friend class SimulatedLink;
  struct Event {
    Seconds time;
    std::uint64_t number;
    std::function<void()> action;
    friend bool operator<(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };
  /// One direction between two ranks: order stays, as MPI promises.
  struct Channel {
    std::deque<Letter> on_their_way;
    Seconds last_s = 0;
    Seconds blocked_until_s = 0;
    bool sign_of_life = false;  ///< one was sent and not taken
  };
  void send(int to, Letter letter);
  void dispatch(int to, Letter letter);
  void arrive(int from, int to);
  [[nodiscard]] std::optional<Envelope> take(Process& process);
  [[nodiscard]] Channel& channel(int from, int to);

  Seconds now_ = 3600;
  std::uint64_t number_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t hash_ = 14695981039346656037U;
  StackPool stacks_;  // before the events, which hold fibers
  std::vector<Event> heap_;
  std::vector<std::unique_ptr<Process>>* processes_ = nullptr;
  std::uint64_t session_ = 0;  ///< mail of an earlier one is not delivered
  std::vector<Channel> channels_;
  std::uint64_t orders_ = 0;
  std::function<void(int from, const Bytes& message)> look_;
  Delays delays_;
  std::uint64_t random_;
};

}  // namespace wallheat::simulation
