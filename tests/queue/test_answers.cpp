#include <gmock/gmock.h>
#include <malloc.h>

#include <cmath>

#include "io/deflate.hpp"
#include "queue/answers.hpp"
#include "store/field_codec.hpp"

/// Null without a sanitizer.
extern "C" [[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();

namespace wallheat {
namespace {

class LastRow final : public ResultSink {
 public:
  std::vector<PlanResult> store(std::span<const PlanResult> rows) override {
    status = rows.back().status;
    error = rows.back().error;
    return {};
  }

  PlanStatus status = PlanStatus::pending;
  std::string error;
};

/// Plan 0 is at worker 1, and a copy of it at worker 2.
struct CopiedPlan {
  CopiedPlan() {
    parts.ids = {"plan0"};
    parts.plans = {{0, 0, 0}};
    parts.differences = [](const PlanResult&, const PlanResult&) {
      return std::vector<Difference>{};
    };
    for (const int worker : {1, 2}) {
      queue.worker_joined(worker, 1);
      EXPECT_EQ(queue.orders().size(), 1U);
      answers.started(worker, 0);
    }
  }

  void answer(int worker, std::size_t field_bytes) {
    PlanResult result;
    result.id = "plan0";
    result.host = "n" + std::to_string(worker);
    result.device = "gpu";
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

  LastRow sink;
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

/// Blocks so large as these fields are mapped one by one. A sanitizer's allocator counts all.
std::size_t large_blocks_bytes() {
  return __sanitizer_get_current_allocated_bytes != nullptr
             ? __sanitizer_get_current_allocated_bytes()
             : ::mallinfo2().hblkhd;
}

TEST(Answers, keeps_no_answer_for_a_copy_that_will_not_come) {
  constexpr std::size_t field_bytes = std::size_t{64} << 20;
  for (const std::string way : {"left", "lost", "returned", "failed", "answered"}) {
    SCOPED_TRACE(way);
    const std::size_t before = large_blocks_bytes();
    CopiedPlan plan;
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

TEST(Answers, stores_a_plan_as_failed_that_two_workers_answer_otherwise) {
  CopiedPlan plan;
  plan.parts.differences = [](const PlanResult&, const PlanResult&) {
    return std::vector<Difference>{{"mean_temp", "1.0", "2.0"}};
  };
  plan.answer(1, 0);
  plan.answer(2, 0);
  plan.write_all();
  EXPECT_EQ(plan.sink.status, PlanStatus::failed);
  EXPECT_EQ(plan.sink.error,
            "plan plan0: rank 1 (gpu on n1) and rank 2 (gpu on n2) gave different answers, so one "
            "of these devices is faulty: mean_temp is 1.0 by the first, 2.0 by the second");
}

TEST(Answers, are_equal_though_their_fields_are_compressed_otherwise) {
  Grid<double> field(60, 70);
  for (std::size_t i = 0; i < field.cells.size(); ++i)
    field.cells[i] = std::sin(static_cast<double>(i));
  PlanResult one;
  one.rows = 60;
  one.cols = 70;
  PlanResult other = one;
  one.field = compress_field(field);
  other.field = deflate(shuffle<double>(field.cells), Effort::best);
  EXPECT_NE(one.field, other.field);
  EXPECT_THAT(differences_with_fields(one, other), testing::IsEmpty());
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
