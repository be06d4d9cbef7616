#include "queue/worker.hpp"

#include <exception>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "queue/background_thread.hpp"
#include "queue/stopwatch.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// How long a worker waits for a message before it looks for results of its own threads. The queue
// keeps plans waiting here, so that no thread waits for this.
constexpr std::chrono::microseconds worker_look_interval{5000};
// Results travel in messages of about this size, far below MPI's limit of 2 GiB.
constexpr std::size_t message_size_bytes = 32U << 20;
constexpr std::chrono::seconds goodbye_timeout{5};
constexpr double leave_timeout_s = 20;

/// Nothing where the messages of rank 0 are not understood, as those of another version of wallheat
/// would be: then it only lives.
std::optional<ToWorker> message_of(const Envelope& envelope) {
  try {
    return decode_to_worker(envelope.message);
  } catch (const DecodeError&) {
    return std::nullopt;
  }
}

class Worker {
 public:
  Worker(Link& link, const WorkerParts& parts)
      : link_(link),
        parts_(parts),
        watch_(*parts.runtime, parts.timeouts.longest_lap_s()),
        starter_(*parts.runtime) {}
  ~Worker() {
    starter_.wait();
    started_.reset();  // while the thread lives that started its child processes
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() {
    send(Hello{parts_.machine, parts_.settings});
    while (!finished_) {
      try {
        look();
      } catch (const std::exception& error) {
        if (leaving_) throw;
        leave(error.what());
      }
      if (silent_s_ > parts_.timeouts.rank0_s())
        throw RunError("rank 0 has said nothing for " +
                       std::to_string(static_cast<int>(silent_s_)) +
                       " s and seems to be gone; what was stored is safe, go on with --resume");
    }
  }

 private:
  void send(const FromWorker& message) { link_.send(0, encode(message)); }

  void look() {
    const auto envelope = link_.receive(worker_look_interval);
    const double passed_s = watch_.lap_s();
    silent_s_ = envelope ? 0 : silent_s_ + passed_s;
    if (const auto message = envelope ? message_of(*envelope) : std::nullopt) {
      std::visit([this](const auto& each) { on(each); }, *message);
    } else if (envelope && !leaving_) {
      throw RunError(
          "the messages of rank 0 are not understood, as those of another version of wallheat "
          "would be");
    }
    take_start();
    report_news();
    tell_that_it_lives(passed_s);
    if (!leaving_ && parts_.interrupted()) leave("interrupted");
  }

  [[nodiscard]] std::int64_t peak_memory() const {
    return parts_.peak_memory ? parts_.peak_memory() : 0;
  }

  void tell_that_it_lives(double passed_s) {
    next_heartbeat_s_ -= passed_s;
    if (next_heartbeat_s_ > 0) return;
    next_heartbeat_s_ = parts_.timeouts.heartbeat_s();
    const FromWorker heartbeat = Heartbeat{
        pool_ ? pool_->progress() : std::vector<PlanProgress>{},
        pool_ && device_.gpu_samples ? device_.gpu_samples() : std::nullopt, peak_memory()};
    link_.send_sign_of_life(0, encode(heartbeat));
  }

  /// Loads solvers, which may take minutes, while this thread tells that the worker lives.
  void on(const Placed& placed) {
    if (leaving_) return;  // said before this message was on its way
    starting_ = true;
    starter_.run([this, placed] { start(placed); });
  }

  /// In the starter's thread, which lives as long as this worker: a child process ends with the
  /// thread that started it.
  void start(const Placed& placed) {
    for (const Task& plan : placed.samples)
      samples_.push_back({plan.id, parts_.sample ? parts_.sample(plan) : ""});
    device_ = parts_.open(placed.placement);
    std::vector<std::vector<int>> bound(device_.threads);
    started_.emplace(
        device_.threads,
        [&](std::size_t thread) {
          ThreadParts thread_parts = device_.prepare_thread(thread);
          bound[thread] = std::move(thread_parts.bound_cpus);
          return std::move(thread_parts.job);
        },
        *parts_.runtime);
    std::set<int> cpus;
    for (const auto& of_thread : bound) cpus.insert(of_thread.begin(), of_thread.end());
    bound_cpus_.assign(cpus.begin(), cpus.end());
  }

  void take_start() {
    if (!starting_) return;
    try {
      if (!starter_.is_free_within(std::chrono::milliseconds{0})) return;
    } catch (const std::exception& error) {
      starting_ = false;
      if (!leaving_) leave(error.what());
      return;
    }
    starting_ = false;
    if (leaving_) return;
    pool_ = &*started_;
    send(Ready{parts_.machine.host, device_.kind, static_cast<std::uint32_t>(device_.threads),
               bound_cpus_, samples_, peak_memory()});
  }

  void on(const Assign& assign) {
    if (leaving_ || !pool_) {
      Returned returned;
      for (const Task& task : assign.tasks) returned.plans.push_back(task.index);
      send(std::move(returned));
      return;
    }
    pool_->add(assign.tasks);
  }

  void on(const Retract& retract) {
    send(Returned{pool_ ? pool_->take_back(retract.count) : std::vector<std::uint32_t>{}});
  }

  void on(const Stop&) {
    if (!leaving_) leave("stopped");
  }
  void on(const CoordinatorHeartbeat&) {}  // any message breaks the silence
  void on(const Finish&) { finished_ = true; }

  void on(const Leave&) {}  // nothing follows it

  /// Gives back what was not started and abandons the rest; Farewell follows when all is quiet.
  void leave(std::string reason) {
    leaving_ = true;
    reason_ = std::move(reason);
    send(Leaving{parts_.interrupted()});
    if (!pool_) return;
    send(Returned{pool_->take_back(std::numeric_limits<std::size_t>::max())});
    pool_->abandon_running();
  }

  void report_news() {
    const bool quiet =
        pool_ == nullptr || !pool_->busy();  // before news(), so that none can slip between
    if (pool_) {
      TaskPool::News news = pool_->news();
      WorkerReport report{std::move(news.started), {}};
      std::size_t size_bytes = 0;
      for (PlanResult& result : news.results) {
        size_bytes += result.field.size();
        report.results.push_back(std::move(result));
        if (size_bytes >= message_size_bytes) {
          send(std::exchange(report, {}));
          size_bytes = 0;
        }
      }
      if (!report.started.empty() || !report.results.empty()) send(std::move(report));
      if (!news.abandoned.empty()) send(Returned{std::move(news.abandoned)});
      if (!news.broken.empty() && !leaving_) {
        source_away_ = news.source_away;
        leave(std::move(news.broken));
      }
    }
    if (leaving_ && quiet && !farewell_said_) {
      send(Farewell{reason_, source_away_ || parts_.interrupted()});
      farewell_said_ = true;
    }
  }

  Link& link_;
  const WorkerParts& parts_;
  WorkerDevice device_;              // the starter's, as long as there is no pool_
  std::optional<TaskPool> started_;  // the starter's, until it is done
  TaskPool* pool_ = nullptr;         // the same, once it is ready
  std::vector<int> bound_cpus_;
  std::vector<NamedValue> samples_;
  bool starting_ = false;
  std::string reason_;
  bool leaving_ = false;
  bool source_away_ = false;
  bool farewell_said_ = false;
  bool finished_ = false;
  Stopwatch watch_;
  double silent_s_ = 0;
  double next_heartbeat_s_ = 0;
  BackgroundThread starter_;  // last: it uses what is above
};

/// Waits for Leave, but not for long: rank 0 only waits for the others' Goodbyes.
bool leaves_together(Link& link, const WorkerParts& parts) {
  Stopwatch watch(*parts.runtime, parts.timeouts.longest_lap_s());
  for (double waited_s = 0; waited_s < leave_timeout_s; waited_s += watch.lap_s()) {
    const auto envelope = link.receive(worker_look_interval);
    const auto message = envelope ? message_of(*envelope) : std::nullopt;
    if (!message) continue;
    if (const auto* leave = std::get_if<Leave>(&*message)) return leave->together;
  }
  return false;
}

}  // namespace

bool run_worker(Link& link, const WorkerParts& parts) {
  Worker worker(link, parts);  // its threads may take a while to end: Goodbye is sent first
  worker.run();
  link.send(0, encode(Goodbye{}));
  link.flush(goodbye_timeout);
  return leaves_together(link, parts);
}

}  // namespace wallheat
