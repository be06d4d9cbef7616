#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/result_store.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"

// `wallheat scaling --replay` on a file with known times.

namespace wallheat {
namespace {

class ReplayTest : public testing::Test {
 protected:
  /// Stores four plans that two threads have solved. Closes the file, unless the run was killed.
  void write_run(bool is_killed) const {
    ResultStore store({file_, OpenMode::overwrite}, {{"a", "b", "c", "d"}, {}, false}, {});
    ASSERT_TRUE(store.begin_unless_stopped());
    // 4 s of CPU time and 0.5 s of waiting for its file; the other 0.5 s waited for a core.
    add(store, 0, 0, 2, {.seconds = 5, .cpu_s = 4, .read_s = 0.5F});
    add(store, 1, 1, 4, {.seconds = 6, .cpu_s = 6, .read_s = 0.25F});
    add(store, 2, 0, 8, {.seconds = 4, .cpu_s = 4, .read_s = 0});
    add(store, 3, 1, 11, {.seconds = 5, .cpu_s = 2, .read_s = 3});
    if (!is_killed) store.close({{"seconds", "20"}, {"plans_at_once", "2"}, {"threads", "2"}});
  }
  [[nodiscard]] nlohmann::json replay(const std::string& workers,
                                      const std::string& slowdown = "1") const {
    return nlohmann::json::parse(run({"--workers", workers, "--slowdown", slowdown, "--json"}));
  }
  [[nodiscard]] std::string run(const std::vector<std::string>& options) const {
    std::vector<std::string> words{WALLHEAT_PROGRAM, "scaling", "--replay", file_};
    words.insert(words.end(), options.begin(), options.end());
    const Finished finished = run_program(words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished.out;
  }

 private:
  struct Times {
    double seconds, cpu_s;
    float read_s;
  };
  static void add(ResultStore& store, std::uint32_t index, std::int32_t thread, double started_s,
                  const Times& times) {
    PlanResult result;
    result.index = index;
    result.id = std::string(1, static_cast<char>('a' + index));
    result.status = PlanStatus::converged;
    result.device = "cpu avx2";
    result.rank = 1;
    result.thread = thread;
    result.started_s = started_s;
    result.seconds = times.seconds;
    result.cpu_s = times.cpu_s;
    result.phases.read_s = times.read_s;
    store.store({&result, 1});
  }

  TemporaryDirectory directory_;
  std::string file_ = directory_ / "r.h5";
};

TEST_F(ReplayTest, IncludesStartEndReadingAndWaitsForRank0) {
  write_run(false);
  const auto report = replay("1,2,4,1000");
  EXPECT_EQ(report["start_s"], 3) << "mean of 2 and 4";
  EXPECT_EQ(report["wait_per_plan_s"], 1) << "gaps from 7 to 8 and from 10 to 11";
  EXPECT_EQ(report["end_s"], 4) << "from 16 to 20";
  const auto& points = report["points"];
  ASSERT_EQ(points.size(), 4U);
  // The plans take 4.5, 6, 4 and 5 s, and 1 s more each for their wait.
  EXPECT_EQ(points[0]["seconds"], 3 + 23.5 + 4);
  EXPECT_EQ(points[1]["seconds"], 3 + 12 + 4) << "7 and 5 s parallel to 6 and 5.5 s";
  EXPECT_EQ(points[2]["seconds"], 3 + 7 + 4);
  EXPECT_EQ(points[3]["seconds"], 3 + 7 + 4);
  EXPECT_EQ(points[3]["speedup"], 30.5 / 14);
  EXPECT_EQ(report["limits"][0]["largest_speedup"], 30.5 / 14);
  EXPECT_EQ(report["limits"][0]["longest_plan_s"], 6);
  for (const auto& point : points)
    EXPECT_THAT(point["includes"].get<std::string>(),
                Mentions({"start", "reading", "rank 0", "end"}));
  EXPECT_THAT(run({"--format", "csv"}), Mentions({"start", "reading", "rank 0", "end"}));
  EXPECT_THAT(run({}), Not(Mentions("plans only")));
}

TEST_F(ReplayTest, AppliesSlowdownToPlansOnly) {
  write_run(false);
  // The plans ran next to others. Alone, each takes half of its time; its wait does not change.
  EXPECT_EQ(replay("1", "2")["points"][0]["seconds"], 3 + (9.75 + 4) + 4);
  EXPECT_EQ(replay("2", "2")["points"][0]["seconds"], 3 + 12 + 4);
}

TEST_F(ReplayTest, StatesWithEachNumberThatKilledRunHasOnlyTimesOfPlans) {
  write_run(true);
  const auto report = replay("1,4");
  EXPECT_TRUE(report["start_s"].is_null());
  EXPECT_EQ(report["points"][0]["seconds"], 4.5 + 6 + 4 + 5);
  EXPECT_EQ(report["points"][1]["seconds"], 6);
  EXPECT_THAT(report["figures"]["speedups"][0]["name"].get<std::string>(), Mentions("plans only"));
  EXPECT_THAT(report["layout"].dump(), Mentions("speed-up of the plans only")) << "the axis";
  for (const auto& point : report["points"])
    EXPECT_THAT(point["includes"].get<std::string>(),
                AllOf(Mentions({"plans", "reading"}), Not(Mentions("start"))));
  const std::string text = run({"--workers", "1,4"});
  EXPECT_THAT(text.substr(0, text.find('\n')),
              Mentions({"plans only: time s", "plans only: speed-up", "plans only: efficiency"}));
  EXPECT_THAT(text, Mentions({"start", "end", "rank 0"}));
  EXPECT_THAT(run({"--format", "csv"}), AllOf(Mentions("plans, reading"), Not(Mentions("start"))));
}

}  // namespace
}  // namespace wallheat
