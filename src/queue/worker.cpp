#include "queue/worker.hpp"

#include <exception>
#include <limits>
#include <optional>
#include <utility>

namespace wallheat {
namespace {

// How long a worker waits for a message before it looks for results of its own threads. The queue
// keeps plans waiting here, so that no thread waits for this.
constexpr std::chrono::microseconds look_interval{2000};
// Results travel in messages of about this size, far below MPI's limit of 2 GiB.
constexpr std::size_t message_size_bytes = 32U << 20;

class Worker {
 public:
  Worker(Link& link, const WorkerParts& parts) : link_(link), parts_(parts) {}

  void run() {
    send(Hello{parts_.machine});
    while (!finished_) {
      if (const auto envelope = link_.receive(look_interval)) {
        std::visit([this](const auto& message) { on(message); }, decode(envelope->message));
      }
      report_news();
      if (!leaving_ && parts_.interrupted()) leave("interrupted");
    }
  }

 private:
  void send(Message message) { link_.send(0, encode(message)); }

  void on(const Placed& placed) {
    if (leaving_) return;  // said before this message was on its way
    const std::size_t threads = placed.placement.cpus.size();
    Ready ready{parts_.machine.host, parts_.device_name(placed.placement), {}};
    std::vector<std::vector<int>> bound(threads);
    try {
      pool_.emplace(threads, [&](std::size_t thread) {
        ThreadParts thread_parts = parts_.prepare_thread(placed.placement, thread);
        bound[thread] = std::move(thread_parts.bound_cpus);
        return std::move(thread_parts.job);
      });
    } catch (const std::exception& error) {
      leave(error.what());
      return;
    }
    for (const auto& cpus : bound) ready.bound_cpus.push_back(cpus.empty() ? -1 : cpus.front());
    send(std::move(ready));
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

  void on(const Recall& recall) {
    send(Returned{pool_ ? pool_->take_back(recall.count) : std::vector<std::uint32_t>{}});
  }

  void on(const Stop&) {
    if (!leaving_) leave("stopped");
  }
  void on(const Finish&) { finished_ = true; }

  template <class Unexpected>
  void on(const Unexpected&) {
    throw DecodeError("a worker got a message that only rank 0 gets");
  }

  /// Gives back what was not started and abandons the rest; Farewell follows when all is quiet.
  void leave(std::string reason) {
    leaving_ = true;
    reason_ = std::move(reason);
    if (!pool_) return;
    send(Returned{pool_->take_back(std::numeric_limits<std::size_t>::max())});
    pool_->abandon_running();
  }

  void report_news() {
    const bool quiet = !pool_ || !pool_->busy();  // before news(), so that none can slip between
    if (pool_) {
      TaskPool::News news = pool_->news();
      Report report{std::move(news.started), {}};
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
    }
    if (leaving_ && quiet && !farewell_said_) {
      send(Farewell{reason_, parts_.interrupted()});
      farewell_said_ = true;
    }
  }

  Link& link_;
  const WorkerParts& parts_;
  std::optional<TaskPool> pool_;
  std::string reason_;
  bool leaving_ = false;
  bool farewell_said_ = false;
  bool finished_ = false;
};

}  // namespace

void run_worker(Link& link, const WorkerParts& parts) {
  try {
    Worker(link, parts).run();
  } catch (const std::exception& error) {
    link.send(0, encode(Farewell{error.what(), false}));
    for (bool finished = false; !finished;) {
      const auto envelope = link.receive(look_interval);
      finished = envelope && std::holds_alternative<Finish>(decode(envelope->message));
    }
  }
  link.flush();
}

}  // namespace wallheat
