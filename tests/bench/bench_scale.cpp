// What rank 0's queue costs, and how many threads it keeps at work: the real WorkQueue, asked in
// simulated time, in which the time that it really takes passes, too.
//
//   bench_scale                              the table
//   bench_scale --workers 10000 --threads 64 one line of it

#include <malloc.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <exception>
#include <iostream>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "queue/work_queue.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

/// Of this thread, so that a busy machine does not count.
double cpu_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// What is allocated now.
std::size_t allocated_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Model {
  std::size_t workers = 0;
  std::size_t threads = 1;
  std::size_t plans_per_thread = 20;
  double plan_s = 0.1;  ///< mean; plans take from 0.8 to 1.2 times as long
  [[nodiscard]] std::size_t plans() const { return workers * threads * plans_per_thread; }
};

class Cluster {
 public:
  explicit Cluster(const Model& model)
      : model_(model), seconds_(model.plans()), workers_(model.workers) {}

  void run_and_print() {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<float> factor(0.8F, 1.2F);
    double work_s = 0;
    for (float& seconds : seconds_) {
      seconds = static_cast<float>(model_.plan_s) * factor(random);
      work_s += seconds;
    }
    const std::size_t before = allocated_bytes();
    std::vector<Order> orders = begin();
    const double first_orders_s = queue_s_;
    // The forecast is ready when the first plans are solved.
    compute([&] {
      for (std::size_t plan = 0; plan < seconds_.size(); ++plan)
        queue_->set_work(static_cast<std::uint32_t>(plan),
                         1e9 * static_cast<double>(seconds_[plan]));
    });
    const std::size_t bytes = allocated_bytes() - before;
    now_ = 0;  // the clock starts when work is handed out
    obey(orders);
    while (!queue_->all_finished()) {
      if (ends_.empty()) throw RunError("the queue waits for nothing");
      const double asked_s = std::exchange(now_, std::max(now_, ends_.top().time));
      std::vector<End> ended;
      for (; !ends_.empty() && ends_.top().time <= now_; ends_.pop()) ended.push_back(ends_.top());
      for (const End& end : ended) start_plans(end.worker, end.time, 1);
      compute([&] {
        for (const auto& [worker, plan] : std::exchange(started_, {}))
          copies_ += queue_->plan_started(worker, plan) ? 0 : 1;
        for (const End& end : ended) {
          (void)queue_->predicted_s(end.worker, end.plan);
          (void)queue_->plan_finished(end.worker, end.plan, seconds_[end.plan]);
        }
        queue_->time_passed(now_ - asked_s);
        orders = queue_->orders();
      });
      obey(orders);
    }
    const auto plans = static_cast<double>(model_.plans());
    std::printf("%8zu %8zu %9zu %9.3g | %10.3f %8zu | %10.3f %9.3f %8.0f\n", model_.workers,
                model_.threads, model_.plans(), model_.plan_s,
                work_s / (static_cast<double>(model_.workers * model_.threads) * now_), copies_,
                1e6 * queue_s_ / plans, first_orders_s, static_cast<double>(bytes) / plans);
    std::fflush(stdout);
  }

 private:
  /// Of a plan.
  struct End {
    double time;
    int worker;
    std::uint32_t plan;
    friend bool operator<(const End& a, const End& b) { return a.time > b.time; }
  };
  struct Worker {
    std::deque<std::uint32_t> waiting;
    std::size_t running = 0;
  };
  Worker& worker_of(int rank) { return workers_[static_cast<std::size_t>(rank - 1)]; }

  /// Calls the queue; what that takes passes in the model.
  template <class Call>
  void compute(Call call) {
    const double start_s = cpu_s();
    call();
    const double passed_s = cpu_s() - start_s;
    queue_s_ += passed_s;
    now_ += passed_s;
  }

  std::vector<Order> begin() {
    std::vector<WorkQueue::Item> items(model_.plans());
    for (std::size_t plan = 0; plan < items.size(); ++plan)
      items[plan].plan = static_cast<std::uint32_t>(plan);
    std::vector<Order> orders;
    compute([&] {
      queue_.emplace(items);
      for (std::size_t worker = 0; worker < model_.workers; ++worker)
        queue_->worker_joined(static_cast<int>(worker + 1), model_.threads, "cpu");
      orders = queue_->orders();
    });
    return orders;
  }

  void obey(const std::vector<Order>& orders) {
    for (const Order& order : orders) {
      Worker& worker = worker_of(order.worker);
      if (order.kind == Order::Kind::assign) {
        worker.waiting.insert(worker.waiting.end(), order.plans.begin(), order.plans.end());
      } else {
        std::vector<std::uint32_t> returned;
        for (; !worker.waiting.empty() && returned.size() < order.count; worker.waiting.pop_back())
          returned.push_back(worker.waiting.back());
        compute([&] { queue_->plans_returned(order.worker, returned); });
      }
      start_plans(order.worker, now_, 0);
    }
  }

  /// After so many of its plans have ended.
  void start_plans(int rank, double time, std::size_t ended) {
    Worker& worker = worker_of(rank);
    worker.running -= ended;
    for (; worker.running < model_.threads && !worker.waiting.empty(); worker.waiting.pop_front()) {
      const std::uint32_t plan = worker.waiting.front();
      ++worker.running;
      started_.emplace_back(rank, plan);
      ends_.push({time + static_cast<double>(seconds_[plan]), rank, plan});
    }
  }

  const Model model_;
  std::vector<float> seconds_;
  std::optional<WorkQueue> queue_;
  std::vector<Worker> workers_;
  std::priority_queue<End> ends_;
  std::vector<std::pair<int, std::uint32_t>> started_;  ///< worker, plan: not told yet
  double now_ = 0;
  double queue_s_ = 0;
  std::size_t copies_ = 0;
};

void run(Model model) {
  std::printf("%8s %8s %9s %9s | %10s %8s | %10s %9s %8s\n", "workers", "threads", "plans",
              "plan s", "efficiency", "copies", "queue us", "first s", "bytes");
  if (model.workers > 0) return Cluster(model).run_and_print();
  struct Line {
    std::size_t workers, threads, plans_per_thread;
  };
  constexpr Line lines[] = {{10, 1, 100},   {100, 1, 20},     {1000, 1, 20},
                            {3000, 1, 20},  {10000, 1, 20},   {2000, 8, 20},
                            {1000, 64, 20}, {10, 1, 100'000}, {10, 64, 15'625}};
  for (const Line& line : lines) {
    model.workers = line.workers;
    model.threads = line.threads;
    model.plans_per_thread = line.plans_per_thread;
    Cluster(model).run_and_print();
  }
}

/// Nothing where only the help was asked for.
std::optional<Model> parse(int argc, char** argv) {
  Model model;
  po::options_description description("Usage: bench_scale [options]");
  auto add = description.add_options();
  add("help,h", "print this and exit");
  add("workers", po::value(&model.workers)->default_value(0)->value_name("N"),
      "workers (0: the table)");
  add("threads", po::value(&model.threads)->default_value(1)->value_name("N"), "threads a worker");
  add("plans", po::value(&model.plans_per_thread)->default_value(20)->value_name("N"),
      "plans a thread");
  add("seconds", po::value(&model.plan_s)->default_value(0.1, "0.1")->value_name("S"),
      "mean time of a plan in s");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, description), values);
  po::notify(values);
  if (values.contains("help")) {
    std::cout << description;
    return std::nullopt;
  }
  if (model.threads < 1 || model.plans_per_thread < 1 || !(model.plan_s > 0))
    throw RunError("--threads and --plans must be at least 1, and --seconds above 0");
  return model;
}

}  // namespace
}  // namespace wallheat

int main(int argc, char** argv) {
  try {
    if (const auto model = wallheat::parse(argc, argv)) wallheat::run(*model);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_scale: %s\n", error.what());
    return 1;
  }
}
