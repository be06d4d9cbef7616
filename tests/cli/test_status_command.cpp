#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "monitor/run_status.hpp"
#include "store/result_store.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"

// `wallheat status` on files of running, finished and killed writers.

namespace wallheat {
namespace {

class StatusCommandTest : public testing::Test {
 protected:
  static constexpr const char* started = "2030-01-02T03:04:05.678Z";

  /// A store whose session has begun.
  struct BegunStore : ResultStore {
    BegunStore(const std::string& file, const StringList& ids, const Attributes& session)
        : ResultStore({file, OpenMode::overwrite}, {ids, {{"solver", "jacobi"}}, false}, session) {
      EXPECT_TRUE(begin_unless_stopped());
    }
  };
  /// Begins a session of the plans from a to `last`.
  static BegunStore create(const std::string& file, const std::string& shard, char last) {
    StringList ids;
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
  /// Leaves a file as a run does that is killed after its first plan.
  void write_killed_run() {
    auto results = create();
    store(results, 0, PlanStatus::converged);
  }
  /// Writes the status file of a run that has ended with this exit status.
  void record_exit_status(int exit_status, const std::string& session = started) {
    RunStatus status;
    status.started_utc = session;
    status.state = "ended";
    status.exit_status = exit_status;
    write_run_status(status_file(file_), status);
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
    status.worker_states = {{"working", 1}, {"lost", 1}, {"idle", 1}};
    status.workers = {{1, "node7", "cpu avx2", 8, 15, 0.25, "working", {{"c", 512, 0.125, 3.5}}},
                      {3, "node9", "cpu avx2", 8, 15, 31, "lost", {{"d", 7, 0.5, 30}}},
                      {2, "node8", "gpu", 1, 90, 0.25, "idle", {}, GpuSample{.power_w = 512}}};
    status.workers.front().peak_memory = 27'000'832;
    write_run_status(status_file(file_), status);
  }
  /// Writes the lock file of a process on another host, which this host cannot check.
  void write_lock_of_other_host() {
    std::ofstream(file_ + ".lock") << "host elsewhere\npid 4711\nsince 2030-01-02 03:04:05 UTC\n";
  }
  /// Makes all files two hours older.
  void age_files() {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      std::filesystem::last_write_time(
          entry, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  }
  [[nodiscard]] Finished run_status(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words{WALLHEAT_PROGRAM, "status", file_};
    words.insert(words.end(), options.begin(), options.end());
    return run_program(words);
  }
  /// Expects this exit status and an output that matches.
  void expect_output(int status, const testing::Matcher<const std::string&>& expected,
                     const std::vector<std::string>& options = {}) const {
    const Finished finished = run_status(options);
    EXPECT_EQ(finished.status, status);
    EXPECT_THAT(finished.out, expected);
  }
  [[nodiscard]] std::string word() const { return run_status({"--print-state"}).out; }
  [[nodiscard]] nlohmann::json json(std::vector<std::string> options = {}) const {
    options.emplace_back("--json");
    return nlohmann::json::parse(run_status(options).out);
  }
  [[nodiscard]] std::string advice() const { return json()["advice"]; }
  /// Returns the numbers of solved, failed, pending and running plans.
  [[nodiscard]] std::vector<int> plans() const {
    const auto status = json();
    return {status["solved"], status["failed"], status["pending"], status["running"]};
  }
  /// Returns the reasons that --why gives, by plan ID; the reason of plans without ID has the key
  /// "".
  [[nodiscard]] std::map<std::string, std::string> reasons() const {
    std::map<std::string, std::string> reasons;
    const auto status = json({"--why"});
    for (const auto& row : status["why"])
      reasons[row["id"].is_null() ? "" : row["id"].get<std::string>()] = row["reason"];
    return reasons;
  }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(directory_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryDirectory directory_;
  std::string file_ = directory_ / "results.h5";
};

TEST_F(StatusCommandTest, SuggestsNextStepForClosedFile) {
  using testing::ContainsRegex;
  finish(PlanStatus::converged);
  // The rate does not count failed plans.
  expect_output(0, AllOf(Mentions({"2030-01-02T03:05:05.678Z", "1.50 plans/s"}),
                         ContainsRegex("solved +4\n"), ContainsRegex("pending +0\n"),
                         Not(Mentions("--resume")), Not(Mentions("wallheat repair"))));
  EXPECT_EQ(word(), "done\n");
  finish(PlanStatus::failed);
  expect_output(3, AllOf(ContainsRegex("failed +1\n"), Mentions({"input", "--retry-failed"}),
                         ContainsRegex("d +2 +plan d: a wall is missing")));
  EXPECT_EQ(word(), "failed\n");
  {
    auto results = create();
    store(results, 0, PlanStatus::converged);
    close(results);
  }
  expect_output(75, AllOf(ContainsRegex("pending +3\n"), Mentions("--resume")));
  EXPECT_EQ(word(), "left\n");
}

TEST_F(StatusCommandTest, PrintsLinePerPollUntilFileIsClosed) {
  auto results = create();
  Process watching({WALLHEAT_PROGRAM, "status", file_, "--watch", "--interval", "0.01"});
  wait_until("a poll of the running run", [&] {
    const std::string out = watching.out();
    return out.ends_with('\n') && contains_fact(out, "being written") &&
           contains_fact(out, "0 solved") && contains_fact(out, "4 pending");
  });
  store_all(results, PlanStatus::failed);
  close(results);
  EXPECT_EQ(watching.wait(), 3);
  const std::string out = watching.out();
  const std::string last_line = out.substr(out.rfind('\n', out.size() - 2) + 1);
  EXPECT_THAT(last_line, Mentions({"closed", "3 solved", "1 failed", "0 pending", "1.50 plans/s"}));
}

TEST_F(StatusCommandTest, RewritesPageUntilFileIsClosed) {
  auto results = create();
  write_status();
  Process watching({WALLHEAT_PROGRAM, "status", file_, "--watch", "--interval", "0.01", "--page",
                    directory_ / "live.html", "--metrics", directory_ / "live.prom"});
  const auto wait_for = [&](const std::string& name, const std::string& fact) {
    wait_until(fact + " in " + name, [&] { return contains_fact(read(name), fact); });
  };
  wait_for("live.html", "0 % of results.h5");
  EXPECT_THAT(read("live.html"), Mentions({"<meta http-equiv=refresh", "node7", "node9", "lost",
                                           "12.5 plans/s", "3 min 20 s"}));
  wait_for("live.prom", "wallheat_plans_solved_total");
  store(results, 0, PlanStatus::failed);
  wait_for("live.html", "plan a: a wall is missing");
  for (std::uint32_t index = 1; index < 4; ++index) store(results, index, PlanStatus::converged);
  // Whenever a page is read, it is complete.
  wait_until("the page of the last plan; the run retries the failed one", [&] {
    const std::string page = read("live.html");
    EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), EndsWith("</html>\n")));
    EXPECT_THAT(read("live.prom"), AllOf(StartsWith("# HELP "), EndsWith("\n")));
    return contains_fact(page, "75 % of results.h5");
  });
  EXPECT_THAT(read("live.html"), Mentions("<meta http-equiv=refresh"));
  close(results);
  EXPECT_EQ(watching.wait(), 3);
  EXPECT_THAT(read("live.html"),
              AllOf(Not(HasSubstr("<meta http-equiv=refresh")), Mentions("closed")));
  EXPECT_THAT(read("live.prom"), HasSubstr("state=\"closed\"} 1\n"));
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".new-")));
}

TEST_F(StatusCommandTest, StatesHowManyFailedPlansResumeRetries) {
  for (const bool is_finished : {false, true}) {
    BegunStore results(file_, {"a", "b", "c"},
                       {{"started_utc", started}, {"max_attempts", "3"}, {"shard", ""}});
    std::vector<PlanResult> rows(2);
    for (std::uint32_t index = 0; index < rows.size(); ++index) {
      rows[index].index = index;
      rows[index].id = std::string(1, static_cast<char>('a' + index));
      rows[index].status = PlanStatus::failed;
      rows[index].attempts = 3;
      rows[index].failures = index == 0 ? 1 : 3;
    }
    results.store(rows);
    results.close({{"end", is_finished ? "finished" : "stopped early"}}, is_finished);
    EXPECT_EQ(plans(), (std::vector{0, 2, 1, 0}));
    const testing::Matcher<const std::string&> mentions = Mentions("1 of which --resume retries");
    expect_output(75, is_finished ? testing::Matcher<const std::string&>(Not(mentions)) : mentions);
  }
}

/// A strict parser of Prometheus' text exposition format. Returns the value of each series.
std::map<std::string, double> parse_metrics(const std::string& text) {
  const std::regex help("# HELP ([a-z_]+) [^\\\\]+");
  const std::regex type("# TYPE ([a-z_]+) (counter|gauge)");
  const std::regex sample(
      R"re((([a-z_]+)\{[a-z]+="(?:[^"\\]|\\["\\])*"(?:,[a-z]+="(?:[^"\\]|\\["\\])*")*\}) ([-+.e0-9]+))re");
  std::map<std::string, double> series;
  std::set<std::string> names;
  std::string name;
  std::istringstream lines(text);
  std::smatch match;
  EXPECT_THAT(text, EndsWith("\n"));
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, help)) {
      name = match[1];
      EXPECT_TRUE(names.insert(name).second) << name << " is not one group of lines";
      EXPECT_TRUE(std::getline(lines, line) && std::regex_match(line, match, type)) << line;
      EXPECT_EQ(match[1], name);
      EXPECT_EQ(match[2] == "counter", name.ends_with("_total")) << line;
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_EQ(match[2], name) << line;
      EXPECT_TRUE(series.emplace(match[1], std::stod(match[3])).second) << line;
    } else {
      ADD_FAILURE() << "not a line of the format: " << line;
    }
  }
  return series;
}

TEST_F(StatusCommandTest, WritesMetricsForPrometheus) {
  file_ = directory_ / "odd \"\\ name.h5";
  auto results = create();
  store(results, 0, PlanStatus::converged);
  store(results, 1, PlanStatus::failed);
  write_status();
  expect_output(75, testing::_, {"--metrics", directory_ / "m.prom"});
  const auto series = parse_metrics(read("m.prom"));
  const std::string file = "file=\"" + (directory_.path() / R"(odd \"\\ name.h5)").string() + "\"";
  const auto value = [&](const std::string& name, const std::string& labels = "") {
    const auto found = series.find("wallheat_" + name + "{" + file + labels + "}");
    return found == series.end() ? -1 : found->second;
  };
  EXPECT_EQ(value("plans"), 4);
  EXPECT_EQ(value("plans_solved_total"), 1);
  EXPECT_EQ(value("plans_pending"), 3) << "the run retries the failed plan";
  EXPECT_EQ(value("plans_running"), 1);
  EXPECT_EQ(value("remaining_seconds"), 200);
  EXPECT_EQ(value("run_state", ",state=\"being written\""), 1);
  EXPECT_EQ(value("run_state", ",state=\"killed\""), 0);
  EXPECT_EQ(value("workers", ",state=\"lost\""), 1);
  const std::string worker = R"(,rank="1",host="node7",device="cpu avx2")";
  EXPECT_EQ(value("worker_plans_total", worker), 15);
  EXPECT_EQ(value("worker_peak_memory_bytes", worker), 27'000'832);
  EXPECT_GE(value("heartbeat_age_seconds"), 0);
  if (std::system("command -v promtool > /dev/null") == 0) {
    const std::string check = "promtool check metrics < '" + (directory_ / "m.prom").string() + "'";
    EXPECT_EQ(std::system(check.c_str()), 0);
  }
  // Cron may replace its own file, but no other.
  expect_output(1, testing::_, {"--metrics", directory_ / "m.prom"});
  expect_output(75, testing::_, {"--metrics", directory_ / "m.prom", "--overwrite"});
  std::ofstream(directory_ / "other.prom") << "# HELP node_load1 1m load average.\n";
  expect_output(1, testing::_, {"--metrics", directory_ / "other.prom", "--overwrite"});
}

TEST_F(StatusCommandTest, ReportsOnlyLastSessionWithSessionOption) {
  { auto results = create(); }
  // Status 1, so that a job that restarts itself does not do so indefinitely.
  expect_output(1, Mentions({started, "0 plans", "4"}), {"--session-exit-status"});
  write_killed_run();
  write_status();
  write_lock_of_other_host();
  EXPECT_EQ(word(), "running\n");
  expect_output(75, Mentions({started, "1 plan", "3", "--resume"}), {"--session-exit-status"});
}

TEST_F(StatusCommandTest, IsClosedAfterRunThatFollowsKilledRunHasStoppedEarly) {
  write_killed_run();
  EXPECT_EQ(json()["state"], "killed");
  const Attributes session{{"started_utc", "2030-01-02T03:09:00.000Z"}, {"shard", ""}};
  {
    ResultStore later({file_, OpenMode::resume},
                      {{"a", "b", "c", "d"}, {{"solver", "jacobi"}}, false}, session);
    ASSERT_TRUE(later.begin_unless_stopped());
    store(later, 1, PlanStatus::converged);
    later.close({{"ended_utc", "2030-01-02T03:10:00.000Z"}}, false);
  }
  record_exit_status(75, session.at("started_utc"));
  EXPECT_EQ(json()["state"], "closed");
}

TEST_F(StatusCommandTest, ReturnsRecordedExitStatusWithSessionOption) {
  finish(PlanStatus::converged);
  for (const int status : {0, 1, 2, 3, 75}) {
    record_exit_status(status);
    EXPECT_EQ(run_status({"--session-exit-status"}).status, status);
  }
  record_exit_status(0, "2030-01-02T03:09:00.000Z");
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 0)
      << "of a later run without pending plans";
  {
    auto results = create();
    store_all(results, PlanStatus::failed);
    results.close({}, false);
  }
  record_exit_status(1);
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 1);
  EXPECT_EQ(run_status().status, 75);
  record_exit_status(0);
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 75) << "journals remain";
  write_killed_run();
  record_exit_status(3);
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 75) << "plans remain";
}

TEST_F(StatusCommandTest, NeverReturnsZeroWithoutRecordedExitStatus) {
  finish(PlanStatus::converged);
  EXPECT_EQ(run_status().status, 0);
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 75) << "no status file";
  record_exit_status(0, "2029-01-01T00:00:00.000Z");
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 75) << "the status of an earlier session";
  record_exit_status(-1);
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 75)
      << "the run was killed before it recorded one";
  record_exit_status(-1, "2030-01-02T03:09:00.000Z");
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 1)
      << "a later run that has solved nothing";
  std::ofstream(status_file(file_)) << "{\"exit_status\": 0}";
  EXPECT_EQ(run_status({"--session-exit-status"}).status, 75) << "damaged";
}

TEST_F(StatusCommandTest, TakesEndedRunOfOtherHostAsEnded) {
  write_killed_run();
  write_lock_of_other_host();
  record_exit_status(75);
  EXPECT_EQ(json()["state"], "unknown");
}

TEST_F(StatusCommandTest, ReportsProgressOfRunningRun) {
  auto results = create();
  store(results, 0, PlanStatus::converged);
  write_status();
  EXPECT_EQ(word(), "running\n");
  expect_output(
      75,
      AllOf(Mentions({std::to_string(::getpid()), "12.5 plans/s", "3 min 20 s", "node7", "512 W"}),
            testing::ContainsRegex("1 +working +c +[0-9]+[.]. s +512 +0[.]12")));
  EXPECT_THAT(plans(), ElementsAre(1, 0, 3, 1));
  EXPECT_THAT(advice(), AllOf(Mentions("wait"), Not(Mentions("--resume"))));
  const auto status = json();
  EXPECT_EQ(status["state"], "being written");
  EXPECT_EQ(status["seconds_left"], 200);
  EXPECT_EQ(status["running_plans"][0]["id"], "c");
  EXPECT_GE(status["running_plans"][0]["seconds"], 3.5) << "plus the age of the status file";
  EXPECT_EQ(status["workers"][2]["power_w"], 512);
  store(results, 1, PlanStatus::failed);
  EXPECT_EQ(json()["pending"], 3) << "the run retries it, as its status file counts no failure";
  age_files();
  EXPECT_THAT(advice(), Mentions("2 h 00 min"));
}

TEST_F(StatusCommandTest, ReportsRunningRunWithoutStatusFile) {
  auto results = create();
  store(results, 0, PlanStatus::converged);
  expect_output(75, Not(HasSubstr("plans/s")));
  EXPECT_EQ(json()["state"], "being written");
  EXPECT_THAT(plans(), ElementsAre(1, 0, 3, 0));
  std::ofstream(status_file(file_)) << "{\"file\": \"resul";
  expect_output(75, Mentions({"results.h5.status", "damaged"}));
  EXPECT_EQ(json()["state"], "being written");
  std::filesystem::remove(status_file(file_));
  write_status("2029-01-01T00:00:00.000Z");
  EXPECT_THAT(run_status().out, Not(HasSubstr("node7"))) << "the status of an earlier session";
}

TEST_F(StatusCommandTest, ExplainsUnsolvedPlansWithWhy) {
  {
    auto results = create();
    store(results, 0, PlanStatus::converged);
    write_status();
    const auto why = reasons();
    EXPECT_THAT(why.at("a"), Mentions("2"));
    EXPECT_THAT(why.at("c"), Mentions({"rank 1", "node7"}));
    EXPECT_THAT(why.at("d"), Mentions({"rank 3", "node9", "lost"}));
    EXPECT_THAT(why.at(""), AllOf(Mentions("1 plan"), Mentions("worker")));
  }
  const auto why = reasons();
  EXPECT_THAT(why.at("c"), Mentions({"3.5 s", "rank 1", "node7"}));
  EXPECT_THAT(why.at(""), AllOf(Mentions("1 plan"), Not(Mentions("worker"))));
  EXPECT_THAT(run_status({"--why"}).out, testing::ContainsRegex("c +.*3[.]5 s.*rank 1 .*node7"));
}

TEST_F(StatusCommandTest, SuggestsResumeOrRepairAfterKill) {
  write_killed_run();
  write_status();
  age_files();
  std::filesystem::create_symlink("results.h5", directory_ / "link.h5");
  for (const char* name : {"results.h5", "link.h5"}) {
    file_ = directory_ / name;
    EXPECT_EQ(word(), "killed\n");
    expect_output(75, Mentions({"killed", "--resume", "wallheat repair", "node7", "2 h 00 min"}));
    EXPECT_THAT(plans(), ElementsAre(1, 0, 3, 0)) << "the running plan is of the past";
    EXPECT_TRUE(json()["seconds_left"].is_null());
  }
}

TEST_F(StatusCommandTest, ReportsFailureInsteadOfKillWhenRunRecordedItsExitStatus) {
  write_killed_run();  // a run that could not close the file, for example on a full disk
  record_exit_status(1);
  expect_output(75, AllOf(Mentions({"not closed", "exit status 1", "--resume", "wallheat repair"}),
                          Not(Mentions("killed"))));
  EXPECT_EQ(word(), "left\n");
  EXPECT_EQ(json()["state"], "failed");
  record_exit_status(1, "2029-01-01T00:00:00.000Z");  // of an earlier session
  expect_output(75, Mentions("killed"));
}

TEST_F(StatusCommandTest, SuggestsMoreMemoryOrTimeForPlansThatLackedThem) {
  struct Case {
    const char* error;
    testing::Matcher<const std::string&> advice;
  };
  const std::vector<Case> cases{
      {"its solver process was killed by SIGKILL by the kernel's out-of-memory killer",
       AllOf(Mentions({"memory", "--threads", "--retry-failed"}), Not(Mentions("input")))},
      {"its solver process was killed by SIGKILL at the limit of processor time: 60 s",
       AllOf(Mentions({"ulimit -t", "--retry-failed"}), Not(Mentions("input")))}};
  for (const auto& [error, expected] : cases) {
    auto results = create();
    PlanResult failed;
    failed.id = "a";
    failed.status = PlanStatus::failed;
    failed.error = error;
    results.store({&failed, 1});
    for (std::uint32_t index = 1; index < 4; ++index) store(results, index, PlanStatus::converged);
    close(results);
    EXPECT_THAT(advice(), expected);
  }
}

TEST_F(StatusCommandTest, SuggestsRepairWhenFileIsNotCompacted) {
  {
    auto results = create();
    store_all(results, PlanStatus::converged);
  }
  EXPECT_EQ(run_status().status, 75);
  EXPECT_EQ(json()["state"], "killed");
  auto results = create();
  store_all(results, PlanStatus::converged);
  results.close({{"ended_utc", "2030-01-02T03:05:05.678Z"}}, false);
  expect_output(75, Mentions({"2030-01-02T03:05:05.678Z", "wallheat repair"}));
  EXPECT_EQ(json()["state"], "closed");
  EXPECT_THAT(plans(), ElementsAre(4, 0, 0, 0));
}

TEST_F(StatusCommandTest, TrustsFreshStatusFileOfOtherHost) {
  write_killed_run();
  write_lock_of_other_host();
  EXPECT_THAT(advice(), Mentions({"4711", "elsewhere"}));
  write_status();
  EXPECT_EQ(json()["state"], "being written");
  age_files();
  EXPECT_EQ(json()["state"], "unknown");
}

/// Shard files of four shards of ten plans, next to a results.h5 that does not exist yet.
class StatusOfShardsTest : public StatusCommandTest {
 protected:
  BegunStore create_shard(int shard) {
    return create(shard_file(shard), std::to_string(shard) + "/4", 'j');
  }
  [[nodiscard]] std::string shard_file(int shard) const {
    return directory_ / ("results.part-" + std::to_string(shard) + "-of-4.h5");
  }
  void finish_shard(int shard, PlanStatus last = PlanStatus::converged) {
    auto results = create_shard(shard);
    for (auto index = static_cast<std::uint32_t>(shard - 1); index < 10; index += 4)
      store(results, index, index + 4 < 10 ? PlanStatus::converged : last);
    close(results);
  }
};

TEST_F(StatusOfShardsTest, ListsShardsThatNeedAttentionFirst) {
  finish_shard(1);
  finish_shard(2, PlanStatus::failed);
  { auto killed = create_shard(3); }
  expect_output(75,
                Mentions({"killed (3)", "not begun (4)", "2 closed", "plan j: a wall is missing"}));
  EXPECT_THAT(plans(), ElementsAre(5, 1, 4, 0));
  EXPECT_THAT(advice(), AllOf(Mentions("array"), Not(Mentions("wallheat repair"))));
  const auto status = json();
  EXPECT_EQ(status["total"], 10);
  const auto& shards = status["parts"];
  ASSERT_EQ(shards.size(), 4U);
  EXPECT_EQ(shards[0]["shard"], "2/4") << "shards that need attention are first";
  EXPECT_EQ(shards[1]["shard"], "3/4");
  EXPECT_EQ(shards[1]["state"], "killed");
  EXPECT_NE(shards[1]["why"], "");
  EXPECT_EQ(shards[3]["state"], "not begun");
  EXPECT_EQ(status["failed_plans"][0]["part"], "results.part-2-of-4.h5");
  const auto reasons = json({"--why"})["why"];
  EXPECT_TRUE(std::ranges::any_of(reasons, [](const auto& row) {
    return row["part"] == "results.part-4-of-4.h5" && row["id"].is_null() &&
           contains_fact(row["reason"], "2 plans");
  })) << reasons;
  // Files that are named, without the other shards.
  const Finished named =
      run_program({WALLHEAT_PROGRAM, "status", shard_file(1), shard_file(2), "--json"});
  EXPECT_EQ(named.status, 3);
  const auto of_named = nlohmann::json::parse(named.out);
  EXPECT_EQ(of_named["total"], 6);
  EXPECT_EQ(of_named["solved"], 5);
  EXPECT_EQ(of_named["failed"], 1);
  EXPECT_EQ(of_named["pending"], 0);
}

TEST_F(StatusOfShardsTest, CombinesExitStatusOfShards) {
  EXPECT_EQ(run_status().status, 1) << "the file does not exist";
  for (const char* removed : {"results.part-1-of-3.h5.status", "results.part-1-of-5.h5.status"})
    std::ofstream(directory_ / removed) << "{}";
  for (const int shard : {1, 3, 4}) finish_shard(shard);
  {
    auto running = create_shard(2);
    expect_output(75, Mentions({"1 being written (2)", "3 closed"}));
    EXPECT_THAT(advice(), AllOf(Mentions("wait"), Not(Mentions("array"))));
    EXPECT_EQ(word(), "running\n");
  }
  finish_shard(2);
  expect_output(0, Mentions("wallheat merge"));
  finish_shard(2, PlanStatus::failed);
  EXPECT_EQ(run_status().status, 3);
  std::filesystem::copy(shard_file(1), directory_ / "results.part-1-of-2.h5");
  const Finished mixed = run_status();
  EXPECT_EQ(mixed.status, 1);
  EXPECT_THAT(mixed.err, Mentions({"results.h5", "2", "4"}));
  EXPECT_EQ(std::ranges::count(mixed.err, '\n'), 1) << mixed.err;
}

}  // namespace
}  // namespace wallheat
