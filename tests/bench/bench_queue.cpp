// How many plans a second rank 0 can hand out, take back and store, when solving them takes no
// time.
//
//   mpirun -n 4 bench_queue --plans 200000     three worker ranks
//   bench_queue --plans 200000                 three workers that are threads of this process

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/options.hpp"
#include "mpi/mpi_link.hpp"
#include "queue/local_link.hpp"
#include "run/coordinate.hpp"
#include "run/recorder.hpp"
#include "store/result_store.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

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

/// A result such as a real plan has, without the solving.
Result answer(const Task& task) {
  PlanResult row;
  row.id = task.id;
  row.status = PlanStatus::converged;
  row.statistics = {14.01, 6.36, 30.96, 55.47};
  row.iterations = 3601;
  row.last_delta = 9.99e-5;
  row.interior_cells = 50000;
  row.rows = row.cols = 512;
  row.host = "a-host-of-some-cluster";
  row.device = "cpu vector";
  row.solver = "no solver at all";
  row.input_hash = task.plan;
  row.seconds = 1e-6;  // as the queue sends short plans in larger batches
  return {task.plan, Result::Kind::answered, row.seconds, digest_of(row, 0), encode_result(row)};
}

/// A worker that answers at once.
void work(Link& link, int lanes) {
  const auto report = [&](WorkerReport said) { link.send(0, encode(FromWorker(std::move(said)))); };
  auto signed_at = Clock::now();
  for (bool is_ready = false;;) {
    const auto envelope = link.receive(std::chrono::milliseconds(5));
    if (is_ready && seconds_since(signed_at) > 1) {
      signed_at = Clock::now();
      report({});
    }
    if (!envelope) continue;
    const ToWorker message = decode_to_worker(envelope->message);
    if (std::holds_alternative<Setup>(message)) {
      is_ready = true;
      report({.ready = WorkerFacts{"bench", "none", static_cast<std::uint32_t>(lanes)}});
    } else if (const auto* given = std::get_if<Work>(&message)) {
      WorkerReport said;
      for (const Task& task : given->tasks) said.results.push_back(answer(task));
      if (!given->tasks.empty()) report(std::move(said));
    } else if (std::holds_alternative<Stop>(message)) {
      link.send(0, encode(FromWorker(Bye{})));
    } else {
      return;
    }
  }
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

std::vector<QueuedPlan> queued_plans(std::size_t plans) {
  std::vector<QueuedPlan> queued(plans);
  for (std::size_t i = 0; i < plans; ++i) queued[i].index = static_cast<std::uint32_t>(i);
  return queued;
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

  const std::vector<QueuedPlan> queued = queued_plans(settings.plans);
  const auto tell = [](const Event& event, const PlanResult& row) {
    if (event.kind == Event::Kind::worker_left || event.kind == Event::Kind::worker_lost)
      std::fprintf(stderr, "bench_queue: rank %d is gone: %s\n", event.worker->rank,
                   event.reason.c_str());
    if (event.kind == Event::Kind::conflict)
      std::fprintf(stderr, "bench_queue: %s\n", row.error.c_str());
  };
  std::optional<Recorder> recorder;
  if (store) recorder.emplace(*store, plan.ids, queued, tell);
  std::size_t batches = 0;
  double store_s = 0;
  const auto start = Clock::now();
  CoordinationParts parts;
  parts.plans.assign(settings.plans, {});
  parts.task = [&](std::uint32_t number) { return Task{number, std::string(plan.ids[number])}; };
  parts.elapsed_s = [&] { return seconds_since(start); };
  parts.new_estimates = [] { return std::vector<std::pair<std::uint32_t, double>>(); };
  parts.interrupted = [] { return false; };
  parts.store = [&](std::span<Event> events, double) {
    const auto begun = Clock::now();
    if (recorder) recorder->record(events, seconds_since(start));
    store_s += seconds_since(begun);
    batches += events.empty() ? 0 : 1;
  };
  static_cast<void>(coordinate(link, std::move(parts)));
  const double run_s = seconds_since(start);

  const auto start_of_close = Clock::now();
  if (store) store->close({{"end", "finished"}});
  const double close_s = seconds_since(start_of_close);

  std::printf("%.0f plans/s: %zu plans through rank 0 in %.3f s, %d workers of %d thread(s), %s\n",
              static_cast<double>(settings.plans) / run_s, settings.plans, run_s, link.size() - 1,
              settings.threads, store ? "stored on disk" : "not stored");
  std::printf("storing %zu batches took %.3f s of it, beside the queue\n", batches, store_s);
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
  std::vector<std::jthread> workers;
  for (int rank = 1; rank <= settings.workers; ++rank)
    workers.emplace_back(
        [&network, &settings, rank] { work(*network.link(rank), settings.threads); });
  measure_and_dismiss(*network.link(0), settings);
}

void run_as_rank(MpiSession& mpi, const Settings& settings) {
  Link& link = mpi.link();
  if (mpi.rank() == 0) {
    measure_and_dismiss(link, settings);
  } else {
    work(link, settings.threads);
  }
}

void run(const Settings& settings) {
  if (!launched_by_mpi()) return run_in_one_process(settings);
  MpiSession mpi;
  if (mpi.size() == 1) return run_in_one_process(settings);
  run_as_rank(mpi, settings);
}

/// Throws UsageError, Options::Done.
Settings parse(const Arguments& arguments) {
  Settings settings;
  Options options("bench_queue", arguments);
  options.describe("[options]", "A program of its own, which mpirun may start.");
  options.add("plans", value(settings.plans, "N", 200000).at_least(1), "plans to pass through");
  options.add("workers", value(settings.workers, "N", 3).at_least(1),
              "workers, where mpirun starts none");
  options.add("threads", value(settings.threads, "N", 1).at_least(1), "threads a worker");
  options.add("dir", value(settings.directory, "DIR"),
              "directory for the result file (default: a temporary one)");
  options.add("no-store", flag(settings.keep_in_memory),
              "drop the results, to see the queue alone");
  options.parse();
  return settings;
}

}  // namespace
}  // namespace wallheat

int main(int argc, char** argv) {
  try {
    wallheat::run(wallheat::parse({argv + 1, argv + argc}));
    return 0;
  } catch (const wallheat::Options::Done&) {
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_queue: %s\n", error.what());
    return 1;
  }
}
