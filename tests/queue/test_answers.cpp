#include <gmock/gmock.h>
#include <malloc.h>

#include "queue/answers.hpp"

namespace wallheat {
namespace {

class NoSink final : public ResultSink {
 public:
  std::vector<PlanResult> store(std::span<const PlanResult>) override { return {}; }
  void publish() override {}
};

/// Plan 0 is at worker 1, and a copy of it at worker 2.
struct CopiedPlan {
  CopiedPlan() {
    parts.plans = {{{0, "plan0"}, 0, 0}};
    for (const int worker : {1, 2}) {
      queue.worker_joined(worker, 1);
      EXPECT_EQ(queue.orders().size(), 1U);
      answers.started(worker, 0);
    }
  }

  void answer(int worker, std::size_t field_bytes) {
    PlanResult result;
    result.status = PlanStatus::converged;
    result.field.resize(field_bytes);
    answers.ended(worker, result);
  }

  /// Twice: what was handed over is let go of before the next is begun with.
  void write_all() {
    for (int time = 0; time < 2; ++time) {
      recorder.hand_over(0);
      while (!recorder.is_free_within(std::chrono::seconds{1})) continue;
    }
  }

  NoSink sink;
  int heartbeats = 0;
  std::int64_t last_iterations = 0;
  CoordinatorParts parts;
  WorkQueue queue{{{0, 0}}};
  Recorder recorder{sink,
                    [this](const Event& event) {
                      if (event.kind != Event::Kind::heartbeat) return;
                      ++heartbeats;
                      last_iterations = event.heartbeat.running.front().iterations;
                    },
                    system_runtime()};
  Answers answers{parts, queue, recorder};
};

/// Blocks so large as these fields are mapped one by one.
std::size_t large_blocks_bytes() { return ::mallinfo2().hblkhd; }

TEST(Answers, keeps_no_answer_for_a_copy_that_will_not_come) {
  constexpr std::size_t field_bytes = std::size_t{64} << 20;
  for (const std::string way : {"left", "lost", "returned", "failed", "answered"}) {
    SCOPED_TRACE(way);
    const std::size_t before = large_blocks_bytes();
    CopiedPlan plan;
    plan.parts.differences = [](const PlanResult&, const PlanResult&) {
      return std::vector<Difference>{};
    };
    plan.answer(1, field_bytes);
    plan.write_all();
    EXPECT_GE(large_blocks_bytes(), before + field_bytes) << "to be compared with the other's";
    PlanResult failed;
    failed.status = PlanStatus::failed;
    if (way == "left") plan.answers.worker_left(2);
    if (way == "lost") plan.answers.worker_lost({2, "host", "device", {}, false}, "rank 2");
    if (way == "returned") plan.answers.returned(2, {0});
    if (way == "failed") plan.answers.ended(2, failed);
    if (way == "answered") plan.answer(2, 0);
    EXPECT_LT(large_blocks_bytes(), before + field_bytes);
  }
}

TEST(Recorder, keeps_one_heartbeat_of_a_worker_while_the_disk_hangs) {
  CopiedPlan plan;
  const auto worker =
      std::make_shared<const WorkerInfo>(WorkerInfo{1, "host", "device", {}, false});
  for (int second = 0; second < 1000; ++second)
    plan.recorder.add({.kind = Event::Kind::heartbeat,
                       .worker = worker,
                       .heartbeat = {{{0, second, 0.5, 1.0 * second}}}});
  plan.write_all();
  EXPECT_EQ(plan.heartbeats, 1);
  EXPECT_EQ(plan.last_iterations, 999);
}

}  // namespace
}  // namespace wallheat
