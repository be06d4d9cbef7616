#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "store/result_store.hpp"
#include "support/shapes.hpp"
#include "support/shell_test.hpp"
#include "wallheat/floor_plan_files.hpp"

// The program as its users meet it: command lines in, files and exit statuses out. What is killed
// or stopped in the middle of its work is for tests/campaign.

namespace wallheat {
namespace {

using Words = std::vector<std::string>;

class RunEndToEndTest : public ShellTest {
 protected:
  const std::string run = "wallheat run --data plans --out results.h5 ";

  /// `run` with more words, for what must be watched while it runs.
  [[nodiscard]] Words watched_run(const Words& more) const {
    Words words{WALLHEAT_PROGRAM, "run", "--data", path("plans"), "--out", path("results.h5")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// Everything of a finished file that must not depend on how it was computed.
  [[nodiscard]] Words answers(const std::string& name = "results.h5") const {
    const ResultReader reader(directory_ / name);
    EXPECT_TRUE(reader.closed_well());
    Words all{shell("wallheat list " + name +
                    " -f csv --columns id,status,mean_temp,std_temp,pct_above_18,pct_below_15,"
                    "iterations,last_delta,interior_cells,rows,cols,input_hash,solver")
                  .out};
    for (std::size_t i = 0; i < reader.count(); ++i)
      if (const auto field = reader.field(i))
        all.emplace_back(reinterpret_cast<const char*>(field->cells.data()),
                         field->cells.size() * sizeof(double));
    return all;
  }
  /// Changes a cell of a plan.
  void change(const std::string& id) const {
    FloorPlan plan = load_floor_plan(directory_ / "plans", id);
    plan.domain(0, 0) += 1;
    save_floor_plan(directory_ / "plans", id, plan);
  }
  [[nodiscard]] bool event_seen(const std::string& event) const {
    return bytes("events").find("\"event\":\"" + event + "\"") != std::string::npos;
  }
};

TEST_F(RunEndToEndTest, GivesSameResultsForAnyRanksOrIsa) {
  generate(7, 80);
  for (const std::string solver : {"jacobi", "steady", "fastforward"}) {
    const std::string options = " --save-fields --solver " + solver;
    shell("wallheat run --data plans --out alone.h5 --overwrite" + options);
    const auto expected = answers("alone.h5");
    EXPECT_THAT(expected, testing::SizeIs(1 + 7));
    for (const std::string way :
         {"$mpirun 1 run", "$mpirun 4 run", "wallheat run --isa baseline",
          "wallheat run --threads 1", "wallheat run --solver-backend reference"}) {
      if (solver != "jacobi" && way.ends_with("reference")) continue;
      shell(way + " --data plans --out results.h5 --overwrite" + options);
      EXPECT_EQ(answers(), expected) << way << options;
    }
    shell("wallheat verify alone.h5 --data plans --all");
    const std::string other = solver == "jacobi" ? "steady" : "jacobi";
    EXPECT_THAT(shell(run + "--save-fields --resume --solver " + other, 1).err,
                AllOf(HasSubstr("solver: the file has"), HasSubstr(solver)));
  }
}

TEST_F(RunEndToEndTest, OmitsRankPrefixesAtTerminal) {
  generate(24, 200);  // long enough for both workers to get ready
  const std::string ranks = "$mpirun 3 run --data plans --out results.h5 ";
  EXPECT_THAT(shell(ranks).err, AllOf(HasSubstr("rank  host"), HasSubstr("[rank 0 "),
                                      HasSubstr("restored 0, solved 24, failed 0")));
  // Of each rank the memory that it held is known.
  EXPECT_THAT(shell("wallheat summary results.h5 --json").out,
              testing::ContainsRegex("\"rank_memory\": \"0:[0-9]+ 1:[0-9]+ 2:[0-9]+\""));
  const Words lines = at_terminal(120, ranks + "--overwrite --first 3");
  EXPECT_THAT(lines, Contains(HasSubstr("restored 0, solved 3, failed 0")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("[rank"))));
}

TEST_F(RunEndToEndTest, RetriesFailedPlansUntilMaxAttempts) {
  generate(5);
  const std::string longest(140, 'x');
  shell("cd plans; for end in domain interior; do cp 00001_$end.npy " + longest +
        "_$end.npy; done; echo " + longest +
        " >> building_ids.txt; rm 00004_interior.npy; mv 00002_domain.npy ../good.npy; "
        "echo 'not an array' > 00002_domain.npy");
  EXPECT_THAT(shell(run, 3).err,
              AllOf(HasSubstr("00002_domain.npy: is not an NPY file"),
                    HasSubstr("00004_interior.npy: no such file"),
                    HasSubstr("has more than the 127 bytes"), HasSubstr("solved 3, failed 3")));
  const Finished exported = shell("wallheat export results.h5", 3);
  EXPECT_THAT(exported.err, HasSubstr("failed: 00002"));
  EXPECT_THAT(exported.out, Not(HasSubstr("00002")));
  EXPECT_THAT(shell("cp good.npy plans/00002_domain.npy; " + run + "--resume", 3).err,
              HasSubstr("restored 3, solved 1, failed 2"));
  EXPECT_EQ(ResultReader(directory_ / "results.h5").rows()[1].attempts, 2);
  const std::string twice = run + "--resume --max-attempts 2 ";
  EXPECT_THAT(shell(twice, 3).err,
              AllOf(HasSubstr("given up earlier 2"), HasSubstr("--retry-failed")));
  EXPECT_THAT(shell(twice + "--retry-failed", 3).err, HasSubstr("solved 0, failed 2"));
}

TEST_F(RunEndToEndTest, KeepsResultFileWhenRunIsRejected) {
  generate(3);
  shell(run);
  const auto before = bytes("results.h5");
  EXPECT_THAT(shell(run + "--resume --tolerance 0.5", 1).err,
              AllOf(HasSubstr("tolerance: the file has 0.0001, this run 0.5"),
                    HasSubstr("give those of the file, or name another file with --out")));
  change("00002");
  EXPECT_THAT(shell(run + "--resume", 1).err, AllOf(HasSubstr("00002"), HasSubstr("--overwrite")));
  shell(run + "--overwrite --events none/events", 1);
  shell(run + "--over", 2);  // no guessing of what may destroy a file
  EXPECT_EQ(bytes("results.h5"), before);
  EXPECT_EQ(shell("ls results.h5*").out, "results.h5\n");
}

TEST_F(RunEndToEndTest, KeepsResultsWhenDiskIsFull) {
  generate(30);
  shell("wallheat run --data plans --out direct.h5 --save-fields --rooms");
  // Rows, and then a journal, find room; not the file with all fields.
  const auto bytes_of_file = std::filesystem::file_size(directory_ / "direct.h5");
  const Finished full = shell("ulimit -f " + std::to_string(bytes_of_file / 1024 - 1) +
                                  "; trap '' XFSZ; " + run + "--save-fields --rooms",
                              1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("results.h5 cannot be made whole"),
                              HasSubstr("File too large; all 30 results are safe in "),
                              HasSubstr("then 'wallheat repair "), Not(HasSubstr("HDF5-DIAG"))));
  EXPECT_EQ(shell("wallheat status results.h5", 75).status, 75);
  EXPECT_EQ(answers(), answers("direct.h5"));
  shell("wallheat repair results.h5");
  EXPECT_EQ(answers(), answers("direct.h5"));
  EXPECT_EQ(shell("ls results.h5*").out, "results.h5\n");
}

TEST_F(RunEndToEndTest, NotifiesCommandWhenFailureLimitIsReached) {
  // One worker is at 00001 for minutes, the other fails the rest.
  generate(3, 1000);
  shell(
      "rm plans/0000[23]_domain.npy; $mpirun 3 run --data plans --out results.h5 --tolerance "
      "1e-300 --max-iterations 1000000000 --stop-after-failures 2 --notify 'cat > end.json'; "
      "wallheat status --session results.h5 || echo $? > status");
  EXPECT_EQ(bytes("status"), "1\n") << "a job must not come back by itself to fail more plans";
  const auto end = nlohmann::json::parse(bytes("end.json"));
  EXPECT_EQ(end["exit_status"], 1);
  EXPECT_THAT(end["error"].get<std::string>(),
              AllOf(HasSubstr("2 plans have failed"), HasSubstr("--retry-failed")));
  EXPECT_EQ(end["state"], "closed");
  EXPECT_EQ(end["failed"], 2);
  EXPECT_EQ(end["pending"], 1);
}

TEST_F(RunEndToEndTest, KeepsExitStatusWhenNotifyCommandFails) {
  generate(2);
  EXPECT_THAT(shell(run + "--notify 'cat > end.json; exit 3'").err,
              HasSubstr("warning: the command of --notify ended with exit status 3"));
  EXPECT_EQ(nlohmann::json::parse(bytes("end.json"))["solved"], 2);
  shell("wallheat run --data plans --out r.h5 --ids none --notify 'cat > end.json'", 1);
  EXPECT_THAT(nlohmann::json::parse(bytes("end.json"))["error"].get<std::string>(),
              HasSubstr("none"))
      << "also where the run could not begin";
  // What the command leaves running is not waited for.
  shell(
      "timeout 100 \"$program\" run --data plans --out results.h5 --resume --notify "
      "'sleep 10000 & echo $! > pid'; status=$?; kill $(< pid); exit $status");
  // The last plan may be one failure too many.
  shell("rm plans/0000[12]_domain.npy; " + run + "--overwrite --stop-after-failures 2", 1);
}

TEST_F(RunEndToEndTest, SolvesRepeatedIdOnce) {
  generate(2);
  save_floor_plan(directory_ / "plans", "wall", random_plan(8, 8, 0, 1));
  EXPECT_THAT(
      shell("printf '00001\\r\\n\\r\\nwall\\r\\n00001\\r\\n' > ids; " + run + "--ids ids").err,
      AllOf(HasSubstr("1 plan is named more than once and solved once: 00001"),
            HasSubstr("solved 2,")));
  EXPECT_THAT(shell("wallheat export results.h5").out, HasSubstr("\nwall, nan, nan, nan, nan\n"));
}

TEST_F(RunEndToEndTest, GivesSameResultsForZipArchive) {
  generate(6, 48);
  shell("echo torn > plans/00004_interior.npy; python3 -m zipfile -c plans.zip plans");
  shell("wallheat run --data plans --out a.h5 --save-fields", 3);
  EXPECT_THAT(shell("$mpirun 3 run --data plans.zip --out b.h5 --save-fields", 3).err,
              HasSubstr("plans.zip: plans/00004_interior.npy: is not an NPY file"));
  EXPECT_THAT(answers("a.h5"), testing::SizeIs(1 + 5));
  EXPECT_EQ(answers("b.h5"), answers("a.h5"));
  change("00002");
  shell("rm plans.zip; python3 -m zipfile -c plans.zip plans");
  EXPECT_THAT(shell("wallheat run --resume --save-fields --out b.h5 --data plans.zip", 1).err,
              AllOf(HasSubstr("00002 (other content)"), HasSubstr("--overwrite")));
}

TEST_F(RunEndToEndTest, IgnoresHangupSignalUnderNohup) {
  generate(24, 200);
  // With one thread: on a machine with many cores all plans would else be solved at once.
  Words words = watched_run({"--events", path("events"), "--threads", "1"});
  words.insert(words.begin(), "nohup");
  Process process(words);
  wait_until("a result", [&] { return event_seen("result"); });
  process.signal(SIGHUP);
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(RunEndToEndTest, RejectsRanksWithOtherSettingsOrPlans) {
  generate(6);
  const auto together = [&](const std::string& first, const std::string& second, int status) {
    return shell("mpirun --oversubscribe --bind-to none -n 1 " + first + " : -n 1 " + second,
                 status)
        .err;
  };
  const std::string program = " \"$program\" run --data plans --out results.h5 ";
  EXPECT_THAT(together(program, program + "--tolerance 0.5", 1),
              HasSubstr("is refused: its --tolerance is 0.5, and rank 0's is 0.0001"));
  // The same ids, but other cells.
  shell("wallheat generate --out elsewhere/plans --count 6 --size 32 --seed 2");
  EXPECT_THAT(together(program + "--overwrite", "-wdir elsewhere" + program + "--overwrite", 1),
              HasSubstr("is refused: its plan 00001 is 32 x 32 cells (hash "));
  // What concerns a rank's own place may differ.
  together(program + "--overwrite", program + "--overwrite --threads 1 --isa baseline", 0);
}

TEST_F(RunEndToEndTest, StopsBeforeTimeLimit) {
  // The rooms of 00001 take minutes, a plan without rooms no time.
  generate(1, 1000);
  save_floor_plan(directory_ / "plans", "wall", random_plan(8, 8, 0, 1));
  const std::string endless =
      run + "wall 00001 --tolerance 1e-300 --max-iterations 1000000000 --time-limit $limit ";
  // A busy machine takes longer to begin, and gets longer.
  const Finished first =
      shell("limit=3; until " + endless +
            "--overwrite; [ $? = 75 ] || [ $limit -gt 100 ]; "
            "do limit=$((2 * limit)); done; wallheat status --session results.h5; "
            "[ $? = 75 ]");
  EXPECT_THAT(first.err, HasSubstr("the time limit"));
  // A job that submits itself again while there is work left would do so for ever.
  EXPECT_THAT(shell("limit=3; " + endless + "--resume", 1).err, HasSubstr("--time-limit"));
  shell("wallheat status --session results.h5", 1);
  shell("wallheat status results.h5", 75);
}

TEST_F(RunEndToEndTest, IgnoresWallClockJumpsForTimeLimit) {
  generate(3);
  // In the program, the clock on the wall jumps a day ahead each time that it is looked at.
  // LD_PRELOAD ends at a blank; the sanitizer wants to come first.
  shell("cp '" WALLHEAT_JUMPING_CLOCK
        "' clock.so; export LD_PRELOAD=$PWD/clock.so "
        "ASAN_OPTIONS=verify_asan_link_order=0; " +
        run + "--time-limit 1h");
  const auto attributes = ResultReader(directory_ / "results.h5").sessions().at(0);
  EXPECT_NE(attributes.at("started_utc").substr(0, 10), attributes.at("ended_utc").substr(0, 10))
      << "the clock did jump";
}

// An event log that is a pipe is waited for: a start that takes as long as a test wants.

TEST_F(RunEndToEndTest, FailsWhenStoppedBeforeFirstPlan) {
  generate(2);
  ASSERT_EQ(::mkfifo(path("events").c_str(), 0600), 0);
  Process process(watched_run({"--events", path("events")}));
  wait_until("a sign of life", [&] { return exists("results.h5.status"); });
  EXPECT_THAT(shell("wallheat status results.h5", 75).out,
              AllOf(HasSubstr("being written"), HasSubstr("starting")));
  EXPECT_THAT(shell(run, 1).err, HasSubstr("is being written by process"));
  process.signal(SIGUSR1);
  wait_until("a thread that takes the signal", [&] {
    const std::string state = file_text("/proc/" + std::to_string(process.pid()) + "/status");
    return state.find("ShdPnd:\t0000000000000000\n") != std::string::npos;
  });
  const std::ifstream reader(path("events"));
  EXPECT_EQ(process.wait(), 1) << "a job script would start the same again for ever";
  EXPECT_THAT(process.err(), AllOf(HasSubstr("stop before any plan could start"),
                                   HasSubstr("--time-limit"), HasSubstr("--resume")));
  EXPECT_FALSE(exists("results.h5.status"));
  shell(run + "--resume");
}

TEST_F(RunEndToEndTest, RaisesSoftLimitOfOpenFiles) {
  generate(2);
  shell("ulimit -Sn 8; " + run);
}

TEST_F(RunEndToEndTest, GivesUpPlanAfterThreeStoppedSessions) {
  generate(1, 200);
  for (int session = 1; session <= 3; ++session) {
    Process process(watched_run({"--tolerance", "0", "--max-iterations", "1000000000", "--resume",
                                 "--events", path("events")}));
    wait_until("a start", [&] { return event_seen("start"); });
    std::filesystem::remove(directory_ / "events");
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), session < 3 ? 75 : 1) << process.err();
  }
}

}  // namespace
}  // namespace wallheat
