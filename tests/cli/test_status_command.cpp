#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "store/result_store.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"
#include "view/run_status.hpp"

// `wallheat status` on files that living, finished and killed writers made.

namespace wallheat {
namespace {

class Status : public testing::Test {
 protected:
  static constexpr const char* started = "2030-01-02T03:04:05.678Z";

  /// One that has begun.
  struct BegunStore : ResultStore {
    BegunStore(const std::string& file, const TextList& ids, const Attributes& session)
        : ResultStore({file, OpenMode::overwrite}, {ids, {{"solver", "jacobi"}}, false}, session) {
      EXPECT_TRUE(begin_unless_stopped());
    }
  };
  /// Of the plans from a to the last one.
  static BegunStore create(const std::string& file, const std::string& shard, char last) {
    TextList ids;
    for (char id = 'a'; id <= last; ++id) ids.push_back({&id, 1});
    return {file, ids, {{"started_utc", started}, {"shard", shard}}};
  }
  BegunStore create() { return create(file_, "", 'd'); }
  static void store(ResultStore& store, std::uint32_t index, PlanStatus status) {
    PlanResult result;
    result.index = index;
    result.id = std::string(1, static_cast<char>('a' + index));
    result.status = status;
    result.attempts = 2;
    if (status == PlanStatus::failed) result.error = "plan " + result.id + ": a wall is missing";
    store.store({&result, 1});
  }
  static void store_all(ResultStore& results, PlanStatus last) {
    for (std::uint32_t index = 0; index < 3; ++index) store(results, index, PlanStatus::converged);
    store(results, 3, last);
  }
  static void close(ResultStore& results) {
    results.close({{"ended_utc", "2030-01-02T03:05:05.678Z"},
                   {"seconds", "2"},
                   {"solved", "3"},
                   {"failed", "1"}});
  }
  void finish(PlanStatus last) {
    auto results = create();
    store_all(results, last);
    close(results);
  }
  /// When it has solved a plan.
  void be_killed() {
    auto results = create();
    store(results, 0, PlanStatus::converged);
  }
  void write_status(const std::string& session = started) {
    RunStatus status;
    status.started_utc = session;
    status.state = "running";
    status.host = "node1";
    status.plans_per_s = 12.5;
    status.total = 4;
    status.solved = 1;
    status.left = 3;
    status.running = 1;
    status.seconds_left = 200;
    status.workers = {{1, "node7", "cpu avx2", 8, 15, 0.25, "working", {{"c", 512, 0.125, 3.5}}},
                      {3, "node9", "cpu avx2", 8, 15, 31, "lost", {{"d", 7, 0.5, 30}}},
                      {2, "node8", "gpu", 1, 90, 0.25, "idle", {}, GpuSample{.power_w = 512}}};
    write_run_status(status_file(file_), status);
  }
  /// As a process of another host would leave it, on a file system without locks.
  void pretend_the_writer_is_elsewhere() {
    std::ofstream(file_ + ".lock") << "host elsewhere\npid 4711\nsince 2030-01-02 03:04:05 UTC\n";
  }
  /// By two hours.
  void let_age() {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      std::filesystem::last_write_time(
          entry, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  }
  [[nodiscard]] Finished look(const std::string& option = "--interval=1") const {
    return run_program({WALLHEAT_PROGRAM, "status", file_, option});
  }
  /// That it ends with this status and tells this.
  void expect_look(int status, const testing::Matcher<std::string>& expected,
                   const std::string& option = "--interval=1") const {
    const Finished finished = look(option);
    EXPECT_EQ(finished.status, status);
    EXPECT_THAT(finished.out, expected);
  }
  [[nodiscard]] std::string word() const { return look("--word").out; }
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(look("--json").out); }

  TemporaryDirectory directory_;
  std::string file_ = directory_ / "results.h5";
};

TEST_F(Status, of_a_closed_file_is_what_to_do_next) {
  finish(PlanStatus::converged);
  // Failures are no plans of a rate.
  expect_look(
      0, AllOf(HasSubstr("closed at 2030-01-02T03:05:05.678Z"), HasSubstr("solved   4"),
               HasSubstr("pending  0"), HasSubstr("1.50 plans/s"), HasSubstr("nothing to do")));
  EXPECT_EQ(word(), "done\n");
  finish(PlanStatus::failed);
  expect_look(
      3, AllOf(HasSubstr("failed   1"), HasSubstr("advice     mend the input"),
               HasSubstr("--retry-failed"), HasSubstr("d          2  plan d: a wall is missing")));
  EXPECT_EQ(word(), "failed\n");
  {
    auto results = create();
    store(results, 0, PlanStatus::converged);
    close(results);
  }
  expect_look(75, AllOf(HasSubstr("pending  3"), HasSubstr("--resume")));
  EXPECT_EQ(word(), "left\n");
}

TEST_F(Status, is_told_a_line_a_look_until_nobody_writes_the_file) {
  auto results = create();
  Process watching({WALLHEAT_PROGRAM, "status", file_, "--watch", "--interval", "0.01"});
  wait_until("a look at the living run", [&] {
    return watching.out().find("being written: 0 solved, 0 failed, 4 pending\n") !=
           std::string::npos;
  });
  store_all(results, PlanStatus::failed);
  close(results);
  EXPECT_EQ(watching.wait(), 3);
  EXPECT_THAT(watching.out(), EndsWith("closed: 3 solved, 1 failed, 0 pending, 1.50 plans/s\n"));
}

TEST_F(Status, of_a_session_is_that_of_the_last_one) {
  { auto results = create(); }
  // A job that starts the same again would do so for ever.
  expect_look(1, AllOf(HasSubstr("left open: 0 plans"), HasSubstr("4 left")), "--session");
  be_killed();
  write_status();
  pretend_the_writer_is_elsewhere();
  EXPECT_EQ(word(), "running\n");
  expect_look(75, AllOf(HasSubstr("left open: 1 plan "), HasSubstr("--resume")), "--session");
  auto results = create();
  store_all(results, PlanStatus::failed);
  results.close({{"exit_status", "1"}}, false);
  EXPECT_EQ(look("--session").status, 1) << "as the session said";
  EXPECT_EQ(look().status, 75);
  file_ = directory_ / "merged.h5";  // whose session does not say it
  auto merged = create();
  store(merged, 0, PlanStatus::converged);
  close(merged);
  EXPECT_EQ(look("--session").status, 75);
}

TEST_F(Status, of_a_living_run_tells_rate_time_left_and_workers) {
  auto results = create();
  store(results, 0, PlanStatus::converged);
  write_status();
  EXPECT_EQ(word(), "running\n");
  expect_look(75, AllOf(HasSubstr("being written, process " + std::to_string(::getpid())),
                        HasSubstr("solved   1"), HasSubstr("pending  3, 1 of them running"),
                        HasSubstr("12.5 plans/s"), HasSubstr("left       3 min 20 s"),
                        HasSubstr("advice     wait\n"), HasSubstr("node7"), HasSubstr("512 W\n"),
                        testing::ContainsRegex("1  working  c  +[0-9]+[.]. s +512 +0[.]12")));
  const auto seen = json();
  EXPECT_EQ(seen["seconds_left"], 200);
  EXPECT_EQ(seen["running_plans"][0]["id"], "c");
  EXPECT_GE(seen["running_plans"][0]["seconds"], 3.5) << "with the age of the status";
  EXPECT_EQ(seen["workers"][2]["power_w"], 512);
  store(results, 1, PlanStatus::failed);
  EXPECT_EQ(json()["pending"], 3) << "the run tries it again, as its status knows of no failure";
  let_age();
  EXPECT_THAT(look().out, HasSubstr("has not written its status for 2 h 00 min"));
}

TEST_F(Status, of_a_living_run_does_not_need_its_status_file) {
  auto results = create();
  store(results, 0, PlanStatus::converged);
  expect_look(
      75, AllOf(HasSubstr("being written"), HasSubstr("solved   1"), Not(HasSubstr("plans/s"))));
  std::ofstream(status_file(file_)) << "{\"file\": \"resul";
  expect_look(75, AllOf(HasSubstr("being written"), HasSubstr("results.h5.status is damaged")));
  write_status("2029-01-01T00:00:00.000Z");
  EXPECT_THAT(look().out, Not(HasSubstr("node7"))) << "it is of an earlier session";
}

TEST_F(Status, tells_why_plans_have_no_answer) {
  {
    auto results = create();
    store(results, 0, PlanStatus::converged);
    write_status();
    EXPECT_THAT(look("--why").out,
                AllOf(HasSubstr("a     solved after 2 starts\n"), HasSubstr("at rank 1 on node7\n"),
                      HasSubstr("at rank 3 on node9, which is lost\n"),
                      HasSubstr("1 plan not started yet, waiting for a free worker")));
  }
  EXPECT_THAT(
      look("--why").out,
      AllOf(HasSubstr("c     ran for 3.5 s at rank 1 on node7, when the run was last heard"),
            HasSubstr("1 plan never started")));
}

TEST_F(Status, of_a_killed_run_is_what_to_do_about_it) {
  be_killed();
  write_status();
  let_age();
  std::filesystem::create_symlink("results.h5", directory_ / "link.h5");
  for (const char* name : {"results.h5", "link.h5"}) {
    file_ = directory_ / name;
    EXPECT_EQ(word(), "killed\n");
    expect_look(75, AllOf(HasSubstr("its writer was killed"), HasSubstr("solved   1"),
                          HasSubstr("--resume"), HasSubstr("wallheat repair"), HasSubstr("node7"),
                          HasSubstr("written 2 h 00 min ago"), Not(HasSubstr("\nleft  ")),
                          Not(HasSubstr("of them running"))));
    EXPECT_EQ(json()["running"], 0) << "that was then";
  }
}

TEST_F(Status, of_a_complete_file_that_is_not_whole_asks_for_that) {
  {
    auto results = create();
    store_all(results, PlanStatus::converged);
  }
  expect_look(75, HasSubstr("its writer was killed"));
  auto results = create();
  store_all(results, PlanStatus::converged);
  results.close({{"ended_utc", "2030-01-02T03:05:05.678Z"}}, false);
  expect_look(75, AllOf(HasSubstr("closed at 2030"), HasSubstr("solved   4"),
                        HasSubstr("'wallheat repair'")));
}

TEST_F(Status, of_a_writer_on_another_host_goes_by_the_status_of_its_run) {
  be_killed();
  pretend_the_writer_is_elsewhere();
  EXPECT_THAT(look().out, HasSubstr("whether process 4711 on host elsewhere still lives"));
  write_status();
  EXPECT_EQ(json()["state"], "being written");
  let_age();
  EXPECT_EQ(json()["state"], "unknown");
}

/// Parts of four shards of ten plans, beside a results.h5 that is not there yet.
class StatusOfParts : public Status {
 protected:
  BegunStore create_part(int shard) {
    return create(part(shard), std::to_string(shard) + "/4", 'j');
  }
  [[nodiscard]] std::string part(int shard) const {
    return directory_ / ("results.part-" + std::to_string(shard) + "-of-4.h5");
  }
  void finish_part(int shard, PlanStatus last = PlanStatus::converged) {
    auto results = create_part(shard);
    for (auto index = static_cast<std::uint32_t>(shard - 1); index < 10; index += 4)
      store(results, index, index + 4 < 10 ? PlanStatus::converged : last);
    close(results);
  }
};

TEST_F(StatusOfParts, is_one_table_of_what_all_have_done_and_of_those_that_need_attention) {
  finish_part(1);
  finish_part(2, PlanStatus::failed);
  { auto killed = create_part(3); }
  expect_look(75, AllOf(HasSubstr("4 parts, 1 killed (3), 1 not begun (4), 2 closed"),
                        HasSubstr("plans      10\n  solved   5\n  failed   1\n  pending  4\n"),
                        HasSubstr("submit the array again"), HasSubstr("plan j: a wall is missing"),
                        HasSubstr("its writer was killed")));
  const auto seen = json();
  EXPECT_EQ(seen["total"], 10);
  ASSERT_EQ(seen["parts"].size(), 4U);
  EXPECT_EQ(seen["parts"][0]["shard"], "2/4") << "first those that need attention";
  EXPECT_EQ(seen["parts"][3]["state"], "not begun");
  EXPECT_EQ(seen["failed_plans"][0]["part"], "results.part-2-of-4.h5");
  EXPECT_THAT(look("--why").out,
              testing::ContainsRegex("results.part-4-of-4.h5 +- +2 plans never started"));
  // Those that are named, and no other.
  const Finished named = run_program({WALLHEAT_PROGRAM, "status", part(1), part(2)});
  EXPECT_EQ(named.status, 3);
  EXPECT_THAT(named.out, HasSubstr("plans      6\n  solved   5\n  failed   1\n  pending  0\n"));
}

TEST_F(StatusOfParts, ends_with_the_status_of_the_whole) {
  EXPECT_EQ(look().status, 1) << "there is no file";
  for (const int shard : {1, 3, 4}) finish_part(shard);
  {
    auto living = create_part(2);
    expect_look(75,
                AllOf(HasSubstr("1 being written (2), 3 closed"), HasSubstr("advice     wait\n")));
    EXPECT_EQ(word(), "running\n");
  }
  finish_part(2);
  expect_look(0, HasSubstr("wallheat merge"));
  finish_part(2, PlanStatus::failed);
  EXPECT_EQ(look().status, 3);
  std::filesystem::copy(part(1), directory_ / "results.part-1-of-2.h5");
  const Finished mixed = look();
  EXPECT_EQ(mixed.status, 1);
  EXPECT_THAT(mixed.err, HasSubstr("parts of arrays of 2 and of 4 jobs"));
}

}  // namespace
}  // namespace wallheat
