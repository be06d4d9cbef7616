#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>

#include "queue/link.hpp"
#include "run/coordinator_loop.hpp"
#include "support/matchers.hpp"

namespace wallheat {
namespace {

TEST(CoordinatorLoop, StoresInOneThread) {
  const auto links = make_local_links(2);
  BackgroundThread thread;
  std::mutex mutex;
  std::set<pid_t> threads;
  const auto add_this_thread = [&] {
    const std::scoped_lock lock(mutex);
    threads.insert(::gettid());
  };
  std::atomic<int> batches = 0;
  double now_s = 0;
  CoordinationContext context;
  context.plans.resize(1);
  context.elapsed_s = [&] { return now_s += 0.01; };
  context.new_estimates = [] { return std::vector<std::pair<QueueIndex, double>>(); };
  context.interrupted = [&] { return batches >= 3; };
  context.store = [&](std::span<Event>, double) {
    add_this_thread();
    ++batches;
  };
  run_with_heartbeats(*links[0], thread, 1, add_this_thread);
  EXPECT_EQ(coordinate(*links[0], thread, std::move(context)), RunEnd::interrupted);
  run_with_heartbeats(*links[0], thread, 1, add_this_thread);
  EXPECT_EQ(threads.size(), 1u) << "at the limit of threads, another one cannot be started";
  EXPECT_FALSE(threads.contains(::gettid()));
}

TEST(CoordinatorLoop, ThrowsErrorOfStoring) {
  const auto links = make_local_links(2);
  BackgroundThread thread;
  CoordinationContext context;
  context.plans.resize(1);
  double now_s = 0;
  context.elapsed_s = [&] { return now_s += 0.01; };
  context.new_estimates = [] { return std::vector<std::pair<QueueIndex, double>>(); };
  context.interrupted = [] { return false; };
  context.store = [](std::span<Event>, double) { throw RunError("disk full"); };
  EXPECT_THROW((void)coordinate(*links[0], thread, std::move(context)), RunError);
}

}  // namespace
}  // namespace wallheat
