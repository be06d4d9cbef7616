// How many plans a second rank 0 can hand out, take back and store, when solving them takes no
// time.
//
//   mpirun -n 4 bench_queue --plans 200000     three worker ranks
//   bench_queue --plans 200000                 three workers that are threads of this process

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mpi/mpi_link.hpp"
#include "queue/coordinator.hpp"
#include "queue/local_link.hpp"
#include "queue/worker.hpp"
#include "store/result_store.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace po = boost::program_options;

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Settings {
  std::size_t plans = 0;
  int workers = 0;  ///< in a run of one process
  int threads = 0;
  bool keep_in_memory = false;
  std::filesystem::path directory;
};

/// The result store, or nothing, with the time that it takes.
class MeasuredSink final : public ResultSink {
 public:
  explicit MeasuredSink(ResultStore* store) : store_(store) {}
  std::vector<PlanResult> store(std::span<const PlanResult> results) override {
    const auto start = Clock::now();
    if (store_ != nullptr) store_->store(results);
    seconds += seconds_since(start);
    ++batches;
    return {};
  }

  std::size_t batches = 0;
  double seconds = 0;

 private:
  ResultStore* store_;
};

/// A result such as a real plan has, without the solving.
PlanResult answer(const Task& task) {
  const auto start = Clock::now();
  PlanResult result;
  result.index = task.index;
  result.id = task.id;
  result.status = PlanStatus::converged;
  result.statistics = {14.01, 6.36, 30.96, 55.47};
  result.iterations = 3601;
  result.last_delta = 9.99e-5;
  result.interior_cells = 50000;
  result.rows = result.cols = 512;
  result.host = "a-host-of-some-cluster";
  result.device = "cpu vector";
  result.solver = "no solver at all";
  result.input_hash = task.index;
  // As the real job does: the queue sends short plans in larger batches.
  result.seconds = seconds_since(start);
  return result;
}

WorkerParts worker_parts(const Settings& settings, int ranks) {
  WorkerParts parts;
  parts.machine.host = "bench";
  for (int cpu = 0; cpu < settings.threads * (ranks - 1); ++cpu)
    parts.machine.cores.push_back({cpu, 0, 0});
  parts.open = [](const Placement& placement) {
    return WorkerDevice{"none", placement.cpus.size(), [cpus = placement.cpus](std::size_t thread) {
                          return ThreadParts{
                              [](const Task& task, const SolveControl&) { return answer(task); },
                              {cpus.at(thread)}};
                        }};
  };
  parts.interrupted = [] { return false; };
  return parts;
}

StorePlan store_plan(std::size_t plans) {
  StorePlan plan;
  for (std::size_t i = 0; i < plans; ++i) plan.ids.push_back("plan" + std::to_string(i));
  plan.settings = {{"solver", "none"}};
  return plan;
}

/// All answers must be in the file: a fast loss is no success.
void check_file(const std::filesystem::path& file, std::size_t plans) {
  const ResultReader reader(file);
  std::size_t answers = 0;
  for (const PlanResult& row : reader.rows())
    answers += is_answer(row.status) && row.attempts == 1 ? 1 : 0;
  if (answers != plans || !reader.closed_well()) {
    throw RunError(file.string() + " holds " + std::to_string(answers) + " answers of " +
                   std::to_string(plans));
  }
}

void measure(Link& link, const Settings& settings) {
  std::optional<TemporaryDirectory> temporary;
  if (settings.directory.empty() && !settings.keep_in_memory) temporary.emplace();
  const auto directory = temporary ? temporary->path() : settings.directory;
  const auto file = directory / "bench_queue.h5";
  const StorePlan plan = store_plan(settings.plans);

  const auto start_of_create = Clock::now();
  std::optional<ResultStore> store;
  if (!settings.keep_in_memory)
    store = ResultStore::create(file, plan, {{"command_line", "bench_queue"}}, true);
  if (store && !store->begin()) throw RunError("the store cannot begin");
  const double create_s = seconds_since(start_of_create);

  CoordinatorParts parts;
  parts.ids = plan.ids;
  for (std::size_t i = 0; i < settings.plans; ++i) {
    parts.plans.push_back({static_cast<std::uint32_t>(i), 0, 0});
  }
  parts.threads_per_worker = settings.threads;
  MeasuredSink sink(store ? &*store : nullptr);
  parts.sink = &sink;
  parts.observer = [&](const Event& event) {
    const char* reason = event.reason.c_str();
    if (event.kind == Event::Kind::worker_left)
      std::fprintf(stderr, "bench_queue: rank %d has left: %s\n", event.worker->rank, reason);
    if (event.kind == Event::Kind::worker_lost)
      std::fprintf(stderr, "bench_queue: rank %d is lost\n", event.worker->rank);
    if (event.kind == Event::Kind::conflict)
      std::fprintf(stderr, "bench_queue: plan %s: %s\n", event.result.id.c_str(),
                   event.result.error.c_str());
  };
  parts.differences = [](const PlanResult& first, const PlanResult& second) {
    return differences(Answer{first}, Answer{second});
  };
  parts.interrupted = [] { return false; };
  const auto start = Clock::now();
  static_cast<void>(coordinate(link, parts));
  const double run_s = seconds_since(start);

  const auto start_of_close = Clock::now();
  if (store) store->close({{"end", "finished"}});
  const double close_s = seconds_since(start_of_close);

  std::printf("%.0f plans/s: %zu plans through rank 0 in %.3f s, %d workers of %d thread(s), %s\n",
              static_cast<double>(settings.plans) / run_s, settings.plans, run_s, link.size() - 1,
              settings.threads, store ? "stored on disk" : "not stored");
  std::printf("storing %zu batches took %.3f s of it, beside the queue\n", sink.batches,
              sink.seconds);
  if (store) {
    std::printf("before and after: creating the file %.3f s, closing it %.3f s; file %ju bytes\n",
                create_s, close_s, static_cast<std::uintmax_t>(std::filesystem::file_size(file)));
    check_file(file, settings.plans);
    std::filesystem::remove(file);
  }
}

void measure_and_dismiss(Link& link, const Settings& settings) {
  try {
    measure(link, settings);
  } catch (...) {
    (void)dismiss_workers(link);
    throw;
  }
  (void)dismiss_workers(link);
}

void run_in_one_process(const Settings& settings) {
  LocalNetwork network(settings.workers + 1);
  const WorkerParts parts = worker_parts(settings, settings.workers + 1);
  std::vector<std::jthread> workers;
  for (int rank = 1; rank <= settings.workers; ++rank) {
    workers.emplace_back(
        [&network, &parts, rank] { (void)run_worker(*network.link(rank), parts); });
  }
  measure_and_dismiss(*network.link(0), settings);
}

void run_as_rank(MpiSession& mpi, const Settings& settings) {
  Link& link = mpi.link();
  if (mpi.rank() == 0) {
    measure_and_dismiss(link, settings);
  } else {
    (void)run_worker(link, worker_parts(settings, mpi.size()));
  }
}

void run(const Settings& settings) {
  if (!launched_by_mpi()) return run_in_one_process(settings);
  MpiSession mpi;
  if (mpi.size() == 1) return run_in_one_process(settings);
  run_as_rank(mpi, settings);
}

/// Nothing where only the help was asked for.
std::optional<Settings> parse(int argc, char** argv) {
  Settings settings;
  po::options_description description("Usage: [mpirun -n N] bench_queue [options]");
  auto add = description.add_options();
  add("help,h", "print this and exit");
  add("plans", po::value(&settings.plans)->default_value(200000)->value_name("N"),
      "plans to pass through");
  add("workers", po::value(&settings.workers)->default_value(3)->value_name("N"),
      "workers, where mpirun starts none");
  add("threads", po::value(&settings.threads)->default_value(1)->value_name("N"),
      "threads a worker");
  add("dir", po::value(&settings.directory)->value_name("DIR"),
      "directory for the result file (default: a temporary one)");
  add("no-store", po::bool_switch(&settings.keep_in_memory),
      "drop the results, to see the queue alone");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, description), values);
  po::notify(values);
  if (values.contains("help")) {
    std::cout << description;
    return std::nullopt;
  }
  if (settings.plans < 1 || settings.workers < 1 || settings.threads < 1) {
    throw RunError("--plans, --workers and --threads must be at least 1");
  }
  return settings;
}

}  // namespace
}  // namespace wallheat

int main(int argc, char** argv) {
  try {
    if (const auto settings = wallheat::parse(argc, argv)) wallheat::run(*settings);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_queue: %s\n", error.what());
    return 1;
  }
}
