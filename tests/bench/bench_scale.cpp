// What rank 0's queue costs, and what it lets a cluster do: a model of workers, threads and
// messages in simulated time around the real WorkQueue. The time that the queue really takes passes
// in the model, too. To decode a result and to store one take what the options say; the store works
// beside the queue, and holds it up where it falls far behind, as the coordinator has it.
//
//   bench_scale                              the table
//   bench_scale --workers 10000 --threads 64 one line of it

#include <malloc.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "queue/messages.hpp"
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
  double message_s = 50e-6;
  double look_s = 5e-3;  ///< a worker's time from one look at its threads to the next
  double decode_s = 0;   ///< rank 0's for a result
  double store_s = 0;    ///< the store's for a result
  [[nodiscard]] std::size_t plans() const { return workers * threads * plans_per_thread; }
};

struct Outcome {
  double efficiency = 0;      ///< plans' time / (threads * time of the run)
  double first_orders_s = 0;  ///< queue made, workers joined, and each told what to do
  double queue_us = 0;        ///< a plan
  double bytes = 0;           ///< a plan
  double busy = 0;            ///< share of the run in which rank 0 computed
  std::size_t copies = 0;
};

class Cluster {
 public:
  explicit Cluster(const Model& model) : model_(model), random_(1) {}

  Outcome run() {
    // As the coordinator does.
    constexpr double most_unstored = 100'000;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    bool withheld = false;
    make_queue();
    while (!queue_->all_finished()) {
      const std::vector<Incoming> messages = take_messages();
      // Where the store has fallen far behind, no orders are given until it has caught up.
      const double orders_again_s = store_free_s_ - most_unstored * model_.store_s;
      const bool gives_orders = orders_again_s <= now_;
      if (messages.empty() && (!gives_orders || !withheld)) {
        if (events_.empty() && !withheld) throw RunError("the queue waits for nothing");
        const double next_s = events_.empty() ? infinity : events_.top().time;
        now_ = std::max(now_, std::min(next_s, withheld ? orders_again_s : infinity));
        continue;
      }
      withheld = !gives_orders;
      std::vector<Order> orders;
      compute([&] {
        for (const auto& [worker, report] : messages) tell(static_cast<int>(worker + 1), report);
        queue_->time_passed(now_ - watched_s_);
        if (gives_orders) orders = queue_->orders();
      });
      watched_s_ = now_;
      for (const Incoming& message : messages) store(message.report.finished.size());
      send(orders);
    }
    const double end_s = std::max(now_, store_free_s_);
    outcome_.efficiency = work_s_ / (static_cast<double>(model_.workers * model_.threads) * end_s);
    outcome_.queue_us = 1e6 * queue_s_ / static_cast<double>(model_.plans());
    outcome_.busy = computed_s_ / end_s;
    return outcome_;
  }

 private:
  struct Event {
    double time;
    enum class Kind : std::uint8_t { plan_ends, look, order, report } kind;
    std::uint32_t worker;
    std::uint32_t what;  ///< the plan, or the place of an order or a report
    friend bool operator<(const Event& a, const Event& b) { return a.time > b.time; }
  };
  struct Report {
    std::vector<std::uint32_t> started, finished, returned;
    bool has_returned = false;
  };
  struct Incoming {
    std::uint32_t worker;
    Report report;
  };
  struct Worker {
    std::deque<std::uint32_t> waiting;
    std::size_t running = 0;
    bool looks = false;  ///< a look is on its way
    double phase_s = 0;
    Report news;
  };
  /// Keeps what is on its way.
  template <class T>
  struct Post {
    std::vector<T> places;
    std::vector<std::uint32_t> free;
    std::uint32_t put(T thing) {
      if (free.empty()) {
        places.push_back(std::move(thing));
        return static_cast<std::uint32_t>(places.size() - 1);
      }
      const std::uint32_t place = free.back();
      free.pop_back();
      places[place] = std::move(thing);
      return place;
    }
    T take(std::uint32_t place) {
      free.push_back(place);
      return std::move(places[place]);
    }
  };

  /// Calls the queue; what that takes passes in the model. Without what the clock itself takes.
  template <class Call>
  void compute(Call call) {
    const double start_s = cpu_s();
    call();
    const double passed_s = std::max(0.0, cpu_s() - start_s - clock_s_);
    queue_s_ += passed_s;
    spend(passed_s);
  }
  static double measured_clock_s() {
    constexpr int rounds = 10000;
    const double start_s = cpu_s();
    for (int round = 0; round < rounds; ++round) (void)cpu_s();
    return (cpu_s() - start_s) / rounds;
  }
  void spend(double seconds) {
    now_ += seconds;
    computed_s_ += seconds;
  }

  void make_queue() {
    std::uniform_real_distribution<float> factor(0.8F, 1.2F);
    seconds_.resize(model_.plans());
    for (float& seconds : seconds_) {
      seconds = static_cast<float>(model_.plan_s) * factor(random_);
      work_s_ += seconds;
    }
    std::vector<WorkQueue::Item> items(model_.plans());
    for (std::size_t plan = 0; plan < items.size(); ++plan)
      items[plan].plan = static_cast<std::uint32_t>(plan);
    workers_.resize(model_.workers);
    std::uniform_real_distribution<double> phase(0, model_.look_s);
    for (Worker& worker : workers_) worker.phase_s = phase(random_);

    const std::size_t before = allocated_bytes();
    compute([&] { queue_.emplace(items); });
    std::vector<Order> orders;
    compute([&] {
      for (std::size_t worker = 0; worker < model_.workers; ++worker)
        queue_->worker_joined(static_cast<int>(worker + 1), model_.threads, "cpu");
      orders = queue_->orders();
    });
    outcome_.first_orders_s = queue_s_;
    // The forecast is ready when the first plans are solved.
    compute([&] {
      for (std::size_t plan = 0; plan < items.size(); ++plan)
        queue_->set_work(static_cast<std::uint32_t>(plan),
                         1e9 * static_cast<double>(seconds_[plan]));
    });
    outcome_.bytes =
        static_cast<double>(allocated_bytes() - before) / static_cast<double>(model_.plans());
    // Nor is it the queue's to wait for it: the clock starts when work is handed out.
    now_ = outcome_.first_orders_s;
    computed_s_ = now_;
    send(orders);
  }

  /// Those that have arrived when rank 0 has decoded them.
  std::vector<Incoming> take_messages() {
    constexpr std::size_t most_messages = 1024;
    std::vector<Incoming> taken;
    while (taken.size() < most_messages) {
      while (inbox_.empty() && !events_.empty() && events_.top().time <= now_) {
        const Event event = events_.top();
        events_.pop();
        happen(event);
      }
      if (inbox_.empty()) break;
      const auto [worker, place] = inbox_.front();
      inbox_.pop_front();
      taken.push_back({worker, reports_.take(place)});
      spend(model_.decode_s * static_cast<double>(taken.back().report.finished.size()));
    }
    return taken;
  }

  void happen(const Event& event) {
    Worker& worker = workers_[event.worker];
    switch (event.kind) {
      case Event::Kind::plan_ends:
        worker.news.finished.push_back(event.what);
        --worker.running;
        start_plans(event.worker, event.time);
        look_later(event.worker, event.time);
        break;
      case Event::Kind::look:
        worker.looks = false;
        report(event.worker, event.time);
        break;
      case Event::Kind::order: {
        const Order order = orders_.take(event.what);
        if (order.kind == Order::Kind::assign) {
          worker.waiting.insert(worker.waiting.end(), order.plans.begin(), order.plans.end());
        } else {
          worker.news.has_returned = true;
          while (!worker.waiting.empty() && worker.news.returned.size() < order.count) {
            worker.news.returned.push_back(worker.waiting.back());
            worker.waiting.pop_back();
          }
        }
        start_plans(event.worker, event.time);
        report(event.worker, event.time);
        break;
      }
      case Event::Kind::report:
        inbox_.emplace_back(event.worker, event.what);
        break;
    }
  }

  void start_plans(std::uint32_t id, double time) {
    Worker& worker = workers_[id];
    while (worker.running < model_.threads && !worker.waiting.empty()) {
      const std::uint32_t plan = worker.waiting.front();
      worker.waiting.pop_front();
      ++worker.running;
      worker.news.started.push_back(plan);
      events_.push({time + static_cast<double>(seconds_[plan]), Event::Kind::plan_ends, id, plan});
    }
  }

  void look_later(std::uint32_t id, double time) {
    Worker& worker = workers_[id];
    if (std::exchange(worker.looks, true)) return;
    const double looks = std::ceil((time - worker.phase_s) / model_.look_s);
    events_.push({worker.phase_s + looks * model_.look_s, Event::Kind::look, id, 0});
  }

  void report(std::uint32_t id, double time) {
    Report& news = workers_[id].news;
    if (news.started.empty() && news.finished.empty() && !news.has_returned) return;
    events_.push(
        {time + model_.message_s, Event::Kind::report, id, reports_.put(std::exchange(news, {}))});
  }

  void tell(int worker, const Report& report) {
    for (const std::uint32_t plan : report.started)
      outcome_.copies += queue_->plan_started(worker, plan) ? 0 : 1;
    for (const std::uint32_t plan : report.finished) {
      (void)queue_->predicted_s(worker, plan);
      (void)queue_->plan_finished(worker, plan, static_cast<double>(seconds_[plan]));
    }
    if (report.has_returned) queue_->plans_returned(worker, report.returned);
  }

  void store(std::size_t results) {
    store_free_s_ = std::max(store_free_s_, now_) + model_.store_s * static_cast<double>(results);
  }

  void send(std::vector<Order>& orders) {
    for (Order& order : orders) {
      const auto worker = static_cast<std::uint32_t>(order.worker - 1);
      events_.push(
          {now_ + model_.message_s, Event::Kind::order, worker, orders_.put(std::move(order))});
    }
  }

  const Model model_;
  const double clock_s_ = measured_clock_s();
  std::mt19937_64 random_;
  std::vector<float> seconds_;
  std::optional<WorkQueue> queue_;
  std::vector<Worker> workers_;
  std::priority_queue<Event> events_;
  std::deque<std::pair<std::uint32_t, std::uint32_t>> inbox_;  ///< worker, place of the report
  Post<Order> orders_;
  Post<Report> reports_;
  double now_ = 0;
  double watched_s_ = 0;
  double work_s_ = 0;
  double queue_s_ = 0;
  double computed_s_ = 0;
  double store_free_s_ = 0;
  Outcome outcome_;
};

/// Rank 0's time for a result in a message, measured.
double measured_decode_s() {
  PlanResult result;
  result.id = "building_1234567";
  result.host = "a-host-of-some-cluster";
  result.device = "cpu vector";
  result.solver = "jacobi of some version";
  Report report;
  constexpr std::uint32_t results = 16;
  for (std::uint32_t plan = 0; plan < results; ++plan) {
    report.started.push_back(plan);
    report.results.push_back(result);
  }
  const Bytes message = encode(FromWorker{report});
  constexpr int rounds = 2000;
  std::size_t decoded = 0;
  const double start_s = cpu_s();
  for (int round = 0; round < rounds; ++round)
    decoded += std::get<Report>(decode_from_worker(message)).results.size();
  return (cpu_s() - start_s) / static_cast<double>(decoded);
}

void print_head(double decode_s, double store_s) {
  std::printf("a result takes %.2f us to decode and %.2f us to store\n", 1e6 * decode_s,
              1e6 * store_s);
  std::printf("%8s %8s %9s %9s | %10s %8s %8s | %10s %9s %8s\n", "workers", "threads", "plans",
              "plan s", "efficiency", "rank 0", "copies", "queue us", "first s", "bytes");
}

void print(const Model& model, const Outcome& outcome) {
  std::printf("%8zu %8zu %9zu %9.3g | %10.3f %7.0f%% %8zu | %10.3f %9.3f %8.0f\n", model.workers,
              model.threads, model.plans(), model.plan_s, outcome.efficiency, 100 * outcome.busy,
              outcome.copies, outcome.queue_us, outcome.first_orders_s, outcome.bytes);
  std::fflush(stdout);
}

struct Settings {
  Model model;
  double decode_us = 0;
  double store_us = 0;
};

void run(Settings settings) {
  Model& model = settings.model;
  model.decode_s = settings.decode_us < 0 ? measured_decode_s() : 1e-6 * settings.decode_us;
  model.store_s = 1e-6 * settings.store_us;
  print_head(model.decode_s, model.store_s);
  if (model.workers > 0) return print(model, Cluster(model).run());
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
    print(model, Cluster(model).run());
  }
}

/// Nothing where only the help was asked for.
std::optional<Settings> parse(int argc, char** argv) {
  Settings settings;
  Model& model = settings.model;
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
  add("decode", po::value(&settings.decode_us)->default_value(-1, "measured")->value_name("US"),
      "rank 0's time to decode a result in us");
  add("store", po::value(&settings.store_us)->default_value(3)->value_name("US"),
      "the storing thread's time for a result in us, as bench_queue shows it");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, description), values);
  po::notify(values);
  if (values.contains("help")) {
    std::cout << description;
    return std::nullopt;
  }
  if (model.threads < 1 || model.plans_per_thread < 1 || !(model.plan_s > 0))
    throw RunError("--threads and --plans must be at least 1, and --seconds above 0");
  return settings;
}

}  // namespace
}  // namespace wallheat

int main(int argc, char** argv) {
  try {
    if (const auto settings = wallheat::parse(argc, argv)) wallheat::run(*settings);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_scale: %s\n", error.what());
    return 1;
  }
}
