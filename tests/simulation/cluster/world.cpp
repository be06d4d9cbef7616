#include "simulation/cluster/world.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulation/random.hpp"
#include "wallheat/error.hpp"

namespace wallheat::simulation {
namespace {

constexpr std::chrono::milliseconds most_poll{10};

double seconds(Runtime::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

/// All that wait look again when they are notified; each says for itself whether it is done.
class Process::SimulatedCondition : public Runtime::Condition {
 public:
  explicit SimulatedCondition(Process& process) : process_(process) {}

  void notify() override {
    for (const auto& waiter : std::exchange(waiters_, {})) process_.wake(waiter);
  }

  bool wait_for(Lock& lock, const std::stop_token& stop, Clock::duration timeout,
                const std::function<bool()>& done) override {
    const std::stop_callback wake_on_stop(stop, [this] { notify(); });
    const bool endless = timeout == Clock::duration::max();
    const Seconds end = endless ? for_ever_s : process_.world_.now() + seconds(timeout);
    while (!done()) {
      if (stop.stop_requested() || process_.world_.now() >= end) return done();
      waiters_.push_back(process_.current_);
      lock.unlock();
      try {
        if (endless && !stop.stop_possible()) {
          process_.leave(end);  // as in destructors, which must not throw
        } else if (timeout <= most_poll) {
          process_.suspend_poll(seconds(timeout));
        } else {
          process_.suspend(end);
        }
      } catch (const Killed&) {
        lock.lock();
        std::erase(waiters_, process_.current_);
        throw;
      }
      lock.lock();
      std::erase(waiters_, process_.current_);
      if (process_.dying_) return done();
    }
    return true;
  }

 private:
  Process& process_;
  std::vector<std::shared_ptr<Task>> waiters_;
};

class Process::SimulatedThread : public Runtime::Thread {
 public:
  SimulatedThread(Process& process, std::function<void(const std::stop_token&)> work)
      : process_(process),
        task_(
            process.add_task([work = std::move(work), stop = stop_.get_token()] { work(stop); })) {}
  SimulatedThread(const SimulatedThread&) = delete;
  SimulatedThread& operator=(const SimulatedThread&) = delete;
  ~SimulatedThread() override {
    stop_.request_stop();
    while (!task_->fiber->ended()) {
      if (!process_.dying_) process_.wake(task_);
      process_.leave(process_.world_.now() + 1e-3);
    }
  }

 private:
  Process& process_;
  std::stop_source stop_;
  std::shared_ptr<Task> task_;
};

Process::Process(World& world, int rank, Seconds poll_s)
    : world_(world), rank_(rank), poll_s_(poll_s) {}

Process::~Process() { kill(); }

void Process::begin(std::function<void()> work) { (void)add_task(std::move(work)); }

bool Process::ended() const {
  return std::all_of(tasks_.begin(), tasks_.end(),
                     [](const auto& task) { return task->fiber->ended(); });
}

std::shared_ptr<Process::Task> Process::add_task(std::function<void()> work) {
  auto task = std::make_shared<Task>();
  task->fiber = std::make_unique<Fiber>(world_.stacks_, [work = std::move(work)] {
    try {
      work();
    } catch (const Killed&) {
    }
  });
  std::erase_if(tasks_, [](const auto& each) { return each->fiber->ended(); });
  tasks_.push_back(task);
  wake_at(task, world_.now(), false);
  return task;
}

void Process::kill() {
  dying_ = true;
  mail_.clear();
  // The youngest first: nobody waits for a thread that was started later.
  while (!ended()) {
    for (std::size_t k = tasks_.size(); k-- > 0;) {
      const auto task = tasks_[k];
      if (task->fiber->ended()) continue;
      if (!task->fiber->begun()) {
        task->fiber->forget();
        continue;
      }
      current_ = task;
      task->fiber->resume();
      current_ = nullptr;
    }
  }
  tasks_.clear();
}

void Process::pause_until(Seconds time) { paused_until_ = std::max(paused_until_, time); }

void Process::poke() { wake_polling(nullptr); }

void Process::wake_polling(const std::shared_ptr<Task>& but_for) {
  for (const auto& task : tasks_) {
    if (task == but_for || !task->polling) continue;
    task->polling = false;
    task->was_idle = false;
    wake_at(task, world_.now() + task->poll_s, false);
  }
}

Runtime::Clock::time_point Process::now() const {
  return Clock::time_point(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(world_.now())));
}

std::unique_ptr<Runtime::Condition> Process::make_condition() {
  return std::make_unique<SimulatedCondition>(*this);
}

std::unique_ptr<Runtime::Thread> Process::start_thread(
    std::function<void(const std::stop_token&)> work) {
  return std::make_unique<SimulatedThread>(*this, std::move(work));
}

void Process::sleep(Seconds time) {
  const Seconds end = world_.now() + time;
  while (world_.now() < end) suspend(end);
}

void Process::leave(Seconds deadline) {
  const auto task = current_;
  ++task->waits;
  if (!dying_ && deadline < for_ever_s) wake_at(task, deadline, true);
  task->fiber->leave();
  ++task->waits;
  task->polling = false;
}

void Process::suspend(Seconds deadline) {
  // Nobody throws in the middle of another exception.
  const bool unwinding = std::uncaught_exceptions() > 0;
  if (dying_ && !unwinding) throw Killed{};
  leave(deadline);
  if (dying_ && !unwinding) throw Killed{};
}

void Process::suspend_poll(Seconds timeout) {
  const auto task = current_;
  const bool idle = task->was_idle;
  task->was_idle = true;
  if (!idle) return suspend(world_.now() + timeout);
  task->polling = true;
  task->poll_s = timeout;
  suspend(world_.now() + std::max(poll_s_, timeout));
}

void Process::wake(const std::shared_ptr<Task>& task) {
  wake_at(task, world_.now(), current_ == nullptr);
}

void Process::wake_at(const std::shared_ptr<Task>& task, Seconds time, bool news) {
  world_.at(time, [this, task, news, wait = task->waits] {
    if (task->waits != wait || task->fiber->ended()) return;
    if (paused_until_ > world_.now()) return wake_at(task, paused_until_, news);
    run(task, news);
  });
}

void Process::run(const std::shared_ptr<Task>& task, bool news) {
  current_ = task;
  world_.note(static_cast<std::uint64_t>(rank_));
  task->fiber->resume();
  current_ = nullptr;
  if (news) wake_polling(task);  // what it did may be what they look for
}

class SimulatedLink : public Link {
 public:
  explicit SimulatedLink(Process& process) : process_(process), world_(process.world()) {}

  [[nodiscard]] int rank() const override { return process_.rank(); }
  [[nodiscard]] int size() const override { return static_cast<int>(world_.processes_->size()); }
  /// Each has a host of its own.
  [[nodiscard]] std::uint64_t system_of(int rank) const override {
    return static_cast<std::uint64_t>(rank);
  }
  void send(int peer, Bytes message) override {
    if (!process_.dying()) world_.send(peer, {{process_.rank(), std::move(message)}, false});
  }
  void send_sign_of_life(int peer, Bytes message) override {
    if (!process_.dying()) world_.send(peer, {{process_.rank(), std::move(message)}, true});
  }
  std::optional<Envelope> receive(std::chrono::microseconds timeout) override {
    if (world_.now() >= process_.link_breaks_s_) {
      process_.link_breaks_s_ = for_ever_s;
      throw RunError("the link failed");
    }
    if (process_.mail_.empty() && timeout.count() > 0) {
      process_.receiver_ = process_.current_;
      process_.suspend_poll(std::chrono::duration<double>(timeout).count());
      process_.receiver_ = nullptr;
    }
    auto envelope = world_.take(process_);
    if (envelope) process_.current_->was_idle = false;
    return envelope;
  }
  void flush(std::chrono::milliseconds) override {}

 private:
  Process& process_;
  World& world_;
};

World::World(std::uint64_t seed) : random_(seed) {}
World::~World() = default;

void World::at(Seconds time, std::function<void()> action) {
  heap_.push_back({std::max(time, now_), number_++, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end());
}

bool World::step(Seconds until) {
  if (heap_.empty() || heap_.front().time > until) return false;
  std::pop_heap(heap_.begin(), heap_.end());
  Event event = std::move(heap_.back());
  heap_.pop_back();
  now_ = event.time;
  ++events_;
  event.action();
  return true;
}

/// FNV-1a, with the time.
void World::note(std::uint64_t what) {
  const auto mix = [this](std::uint64_t value) { hash_ = (hash_ ^ value) * 1099511628211U; };
  mix(static_cast<std::uint64_t>(now_ * 1e9));
  mix(what);
}

void World::connect(std::vector<std::unique_ptr<Process>>* processes, Delays delays,
                    std::size_t credits) {
  processes_ = processes;
  delays_ = delays;
  ++session_;
  orders_ = 0;
  look_ = nullptr;
  channels_.assign(processes->size() * processes->size(), {});
  for (const auto& process : *processes) process->credits_ = credits;
}

std::unique_ptr<Link> World::link(Process& process) {
  return std::make_unique<SimulatedLink>(process);
}

World::Channel& World::channel(int from, int to) {
  return channels_.at(static_cast<std::size_t>(from) * processes_->size() +
                      static_cast<std::size_t>(to));
}

void World::block(int from, int to, Seconds until) {
  Channel& blocked = channel(from, to);
  blocked.blocked_until_s = std::max(blocked.blocked_until_s, until);
}

void World::lose_mail_of(int from, double part) {
  for (std::size_t to = 0; to < processes_->size(); ++to) {
    Channel& dying = channel(from, static_cast<int>(to));
    const auto kept =
        static_cast<std::size_t>(static_cast<double>(dying.on_their_way.size()) * part);
    dying.on_their_way.resize(kept);
  }
}

void World::send(int to, Letter letter) {
  const int from = letter.envelope.from;
  if (letter.is_sign_of_life && std::exchange(channel(from, to).sign_of_life, true)) return;
  if (from == 0 && !letter.is_sign_of_life) ++orders_;
  if (to == 0 && look_) look_(from, letter.envelope.message);
  Process& sender = *(*processes_)[static_cast<std::size_t>(from)];
  if (sender.credits_ == 0) {
    sender.backlog_.emplace_back(to, std::move(letter));
  } else {
    --sender.credits_;
    dispatch(to, std::move(letter));
  }
}

void World::dispatch(int to, Letter letter) {
  const int from = letter.envelope.from;
  Channel& way = channel(from, to);
  const double delay = delays_.least_s - delays_.mean_s * std::log1p(-Random(random_++).fraction());
  way.last_s = std::max({way.last_s, way.blocked_until_s, now_ + delay});
  way.on_their_way.push_back(std::move(letter));
  at(way.last_s, [this, from, to, session = session_] {
    if (session == session_) arrive(from, to);
  });
}

std::optional<Envelope> World::take(Process& process) {
  if (process.mail_.empty()) return std::nullopt;
  Letter letter = std::move(process.mail_.front());
  process.mail_.pop_front();
  const int from = letter.envelope.from;
  if (letter.is_sign_of_life) channel(from, process.rank_).sign_of_life = false;
  Process& sender = *(*processes_)[static_cast<std::size_t>(from)];
  if (sender.backlog_.empty() || sender.dying_) {
    ++sender.credits_;
  } else {
    auto [to, next] = std::move(sender.backlog_.front());
    sender.backlog_.pop_front();
    dispatch(to, std::move(next));
  }
  return std::move(letter.envelope);
}

void World::arrive(int from, int to) {
  Channel& way = channel(from, to);
  if (way.on_their_way.empty()) return;  // it was lost
  if (way.blocked_until_s > now_) {      // what was on its way waits, too
    at(way.blocked_until_s, [this, from, to, session = session_] {
      if (session == session_) arrive(from, to);
    });
    return;
  }
  Process& process = *(*processes_)[static_cast<std::size_t>(to)];
  Letter letter = std::move(way.on_their_way.front());
  way.on_their_way.pop_front();
  if (process.dying_) return;
  note((static_cast<std::uint64_t>(from) << 32U) | letter.envelope.message.size());
  process.mail_.push_back(std::move(letter));
  if (process.receiver_) process.wake(process.receiver_);
}

}  // namespace wallheat::simulation
