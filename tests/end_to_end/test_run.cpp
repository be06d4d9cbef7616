#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "store/field_codec.hpp"
#include "store/result_store.hpp"
#include "support/shapes.hpp"
#include "support/shell_test.hpp"
#include "wallheat/floor_plan_files.hpp"

// wallheat run as a program: command lines in, files and exit statuses out. Runs that are killed or
// stopped in the middle are tested in tests/campaign.

namespace wallheat {
namespace {

using Arguments = std::vector<std::string>;
using Strings = std::vector<std::string>;

class RunEndToEndTest : public ShellTest {
 protected:
  const std::string run = "wallheat run --data plans --out results.h5 ";

  /// Returns the command line of `run` with more arguments, for a Process.
  [[nodiscard]] Arguments run_arguments(const Arguments& more) const {
    Arguments all{WALLHEAT_PROGRAM, "run", "--data", path("plans"), "--out", path("results.h5")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// Returns the deterministic columns and the fields of a finished file.
  [[nodiscard]] Strings results(const std::string& name = "results.h5") const {
    const ResultReader reader(directory_ / name);
    EXPECT_TRUE(reader.closed_cleanly());
    Strings all{shell("wallheat list " + name +
                      " -f csv --columns id,status,mean_temp,std_temp,pct_above,pct_below,"
                      "iterations,last_delta,interior_cells,rows,cols,input_hash,solver")
                    .out};
    for (std::size_t i = 0; i < reader.count(); ++i)
      if (const auto field = reader.field(i))
        all.emplace_back(reinterpret_cast<const char*>(field->cells.data()),
                         field->cells.size() * sizeof(double));
    return all;
  }
  /// Returns how many plans the last session of results.h5 restored, solved and failed.
  [[nodiscard]] Strings last_counts() const {
    const auto session = ResultReader(directory_ / "results.h5").sessions().back();
    return {session.at("restored"), session.at("solved"), session.at("failed")};
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
    const auto expected = results("alone.h5");
    EXPECT_THAT(expected, testing::SizeIs(1 + 7));
    for (const std::string way :
         {"$mpirun 1 run", "$mpirun 4 run", "wallheat run --isa baseline",
          "wallheat run --threads 1", "wallheat run --solver-backend reference"}) {
      if (solver != "jacobi" && way.ends_with("reference")) continue;
      shell(way + " --data plans --out results.h5 --overwrite" + options);
      EXPECT_EQ(results(), expected) << way << options;
    }
    shell("wallheat verify alone.h5 --data plans --all");
    const std::string other = solver == "jacobi" ? "steady" : "jacobi";
    EXPECT_THAT(shell(run + "--save-fields --resume --solver " + other, 1).err,
                Mentions({path("results.h5"), "solver", solver, other}));
  }
}

TEST_F(RunEndToEndTest, SolverProcessLoadsNoMpiAndHdf5) {
  const auto folder = std::filesystem::path(WALLHEAT_PROGRAM).parent_path();
  // The dynamic loader lists the libraries of a program that is started with this variable.
  const std::string list = "LD_TRACE_LOADED_OBJECTS=1 ";
  const std::string loaded = shell(list + (folder / "wallheat-solver-process").string()).out;
  EXPECT_THAT(loaded, HasSubstr("libc.so"));
  for (const char* const library : {"libmpi", "libhdf5", "libboost", "libsqlite", "libspdlog"})
    EXPECT_THAT(loaded, Not(HasSubstr(library)));
}

TEST_F(RunEndToEndTest, SolvesWithoutSolverProgramOfThisBuild) {
  generate(3);
  shell("mkdir bin; cp " WALLHEAT_PROGRAM " bin");
  const std::string copy = "bin/wallheat run --data plans --out results.h5 ";
  // The copy finds no other program in its folder, and starts itself as the solver process.
  const std::string alone = shell(copy).err;
  EXPECT_THAT(alone, Not(HasSubstr("warning")));
  EXPECT_THAT(last_counts(), ElementsAre("0", "3", "0"));
  // A solver program of another build is not started.
  shell("cp /bin/false bin/wallheat-solver-process");
  const std::string foreign = shell(copy + "--overwrite").err;
  EXPECT_THAT(foreign, Mentions({"bin/wallheat-solver-process", "another build"}));
  EXPECT_THAT(last_counts(), ElementsAre("0", "3", "0"));
}

TEST_F(RunEndToEndTest, OmitsRankPrefixesAtTerminal) {
  generate(24, 200);
  const std::string ranks = "$mpirun 3 run --data plans --out results.h5 ";
  // One worker alone would need some seconds, in which the other one becomes ready.
  const std::string long_run = ranks + "--solver jacobi --tolerance 0 --max-iterations 40000";
  EXPECT_THAT(shell(long_run).err, AllOf(Mentions({"rank", "host"}), HasSubstr("[rank 0 "),
                                         Mentions({"solved 24", "failed 0"})));
  // The file has the peak memory of each rank.
  EXPECT_THAT(shell("wallheat summary results.h5 --json").out,
              testing::ContainsRegex("\"rank_memory\": \"0:[0-9]+ 1:[0-9]+ 2:[0-9]+\""));
  const Strings lines = at_terminal(120, ranks + "--overwrite --first 3");
  EXPECT_THAT(lines, Contains(Mentions({"solved 3", "failed 0"})));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("[rank"))));
}

TEST_F(RunEndToEndTest, RetriesFailedPlansUntilMaxAttempts) {
  generate(5);
  const std::string longest(140, 'x');
  shell("cd plans; for end in domain interior; do cp 00001_$end.npy " + longest +
        "_$end.npy; done; echo " + longest +
        " >> building_ids.txt; rm 00004_interior.npy; mv 00002_domain.npy ../good.npy; "
        "echo 'not an array' > 00002_domain.npy");
  EXPECT_THAT(lines_of(shell(run, 3).err),
              AllOf(Contains(Mentions({"00002", "00002_domain.npy", "NPY"})),
                    Contains(Mentions({"00004", "00004_interior.npy"})),
                    Contains(Mentions({longest, "127 bytes"}))));
  EXPECT_THAT(last_counts(), ElementsAre("0", "3", "3"));
  const Finished exported = shell("wallheat export results.h5", 3);
  EXPECT_THAT(exported.err, Mentions({"failed", "00002"}));
  EXPECT_THAT(exported.out, Not(HasSubstr("00002")));
  shell("cp good.npy plans/00002_domain.npy; " + run + "--resume", 3);
  EXPECT_THAT(last_counts(), ElementsAre("3", "1", "2"));
  EXPECT_EQ(ResultReader(directory_ / "results.h5").rows()[1].attempts, 2);
  const std::string twice = run + "--resume --max-attempts 2 ";
  EXPECT_THAT(lines_of(shell(twice, 3).err), Contains(Mentions({"2 plans", "--retry-failed"})));
  shell(twice + "--retry-failed", 3);
  EXPECT_THAT(last_counts(), ElementsAre("4", "0", "2"));
}

TEST_F(RunEndToEndTest, KeepsResultFileWhenRunIsRejected) {
  generate(3);
  shell(run);
  const auto before = bytes("results.h5");
  const std::string same_run = "run --data plans --out results.h5 --resume";
  expect_error(same_run + " --tolerance 0.5", 1,
               {path("results.h5"), "--tolerance", "0.0001", "0.5", "--out"});
  expect_error(same_run + " --rooms", 1, {"--rooms", "--door"});
  change("00002");
  expect_error(same_run, 1, {"results.h5", "00002", "--overwrite"});
  shell(run + "--overwrite --events none/events", 1);
  shell(run + "--over", 2);  // an abbreviation must not become --overwrite
  EXPECT_EQ(bytes("results.h5"), before);
  EXPECT_EQ(shell("ls results.h5*").out, "results.h5\nresults.h5.status\n");
}

TEST_F(RunEndToEndTest, EndsSoonWhenResultFileIsRemoved) {
  generate(2);
  // The program removes the file, and never solves its plan.
  shell("printf '#!/bin/sh\\nrm -f " + path("results.h5") +
        "\\nexec sleep 100000\\n' > remove.sh; chmod +x remove.sh");
  EXPECT_THAT(shell(run + "--solver-command ./remove.sh", 1).err,
              Mentions({"results.h5", "removed", "0 results", "results.h5.wal0", "--resume"}));
  shell("wallheat status --session-exit-status results.h5", 1);
  shell(run + "--resume");
}

TEST_F(RunEndToEndTest, RecordsRejectedRunInReadableStatus) {
  generate(2);
  shell("umask 027; " + run);
  shell("umask 077; " + run + "--resume --above 20", 1);
  shell("wallheat status --session-exit-status results.h5", 1);
  EXPECT_EQ(shell("stat -c %a results.h5 results.h5.status").out, "640\n640\n")
      << "a user who may read the results may also read the status";
}

TEST_F(RunEndToEndTest, KeepsResultsWhenDiskIsFull) {
  generate(30);
  shell("wallheat run --data plans --out direct.h5 --save-fields --rooms");
  // The disk has space for rows and a journal, but not for the file with all fields.
  const auto bytes_of_file = std::filesystem::file_size(directory_ / "direct.h5");
  const Finished full = shell("ulimit -f " + std::to_string(bytes_of_file / 1024 - 1) +
                                  "; trap '' XFSZ; " + run + "--save-fields --rooms",
                              1);
  EXPECT_THAT(full.err,
              AllOf(Mentions({"results.h5", "File too large", "30 results", "wallheat repair"}),
                    Not(HasSubstr("HDF5-DIAG")), Not(HasSubstr("free "))));
  shell("wallheat status results.h5", 75);
  shell("wallheat status --session-exit-status results.h5", 1);
  EXPECT_EQ(results(), results("direct.h5"));
  shell("wallheat repair results.h5");
  EXPECT_EQ(results(), results("direct.h5"));
  EXPECT_EQ(shell("ls results.h5*").out, "results.h5\n");
}

TEST_F(RunEndToEndTest, FailsWhenCompactionIsStoppedInTwoSessions) {
  generate(30);
  const std::string again = run + "--save-fields --resume ";
  shell(run + "--save-fields");
  const auto size = std::filesystem::file_size(directory_ / "results.h5");
  shell("rm results.h5; ulimit -f " + std::to_string(size / 1024 - 1) + "; trap '' XFSZ; " + again,
        1);
  for (int session = 0; session < 2; ++session) {
    EXPECT_THAT(shell(again + "--time-limit 0", 1).err,
                Mentions({"results.h5", "two", "30", "--time-limit", "wallheat repair"}));
    shell("wallheat status --session-exit-status results.h5", 1);
    shell("wallheat status results.h5", 75);
  }
  shell(again);
  shell("wallheat status --session-exit-status results.h5");
  shell("wallheat status results.h5");
}

TEST_F(RunEndToEndTest, RecordsExitStatusOfRun) {
  generate(6);
  const auto recorded = [this](int status) {
    shell("wallheat status --session-exit-status results.h5", status);
    EXPECT_EQ(nlohmann::json::parse(bytes("results.h5.status"))["exit_status"], status);
  };
  shell(run + "--first 3 --save-fields");
  recorded(0);
  const std::string again = run + "--resume --save-fields ";
  expect_error(again.substr(std::string("wallheat ").size()) + "--tolerance 0.5", 1, {"tolerance"});
  recorded(1);
  // A damaged field is found in the compaction, so its plan is pending again.
  const auto chunk = compress_field(ResultReader(directory_ / "results.h5").field(1).value());
  std::string file = bytes("results.h5");
  const auto at =
      file.find(std::string_view(reinterpret_cast<const char*>(chunk.data()), chunk.size()));
  ASSERT_NE(at, std::string::npos);
  file[at + 9] ^= 1;
  std::ofstream(path("results.h5"), std::ios::binary) << file;
  shell(again, 75);
  recorded(75);
  shell(again);
  recorded(0);
  shell("rm plans/00006_domain.npy; wallheat run --data plans --out results.h5 --overwrite", 3);
  recorded(3);
}

TEST_F(RunEndToEndTest, NotifiesCommandWhenFailureLimitIsReached) {
  // One worker solves 00001 for minutes, the other one fails the rest.
  generate(3, 1000);
  shell(
      "rm plans/0000[23]_domain.npy; $mpirun 3 run --data plans --out results.h5 --tolerance "
      "1e-300 --max-iterations 1000000000 --stop-after-failures 2 --notify 'cat > end.json'; "
      "wallheat status --session-exit-status results.h5 || echo $? > status");
  EXPECT_EQ(bytes("status"), "1\n") << "a requeued job would only fail more plans";
  auto end = nlohmann::json::parse(bytes("end.json"));
  EXPECT_EQ(end["exit_status"], 1);
  EXPECT_THAT(end["error"].get<std::string>(),
              Mentions({"2 plans", "--stop-after-failures 2", "--retry-failed"}));
  EXPECT_EQ(end["state"], "closed");
  EXPECT_EQ(end["failed"], 2);
  EXPECT_EQ(end["pending"], 1);
  auto status = nlohmann::json::parse(shell("wallheat status --json results.h5", 75).out);
  EXPECT_EQ(status["failed_plans"].size(), 2U);
  for (const char* key : {"exit_status", "error"}) end.erase(key);
  status.erase("layout");
  EXPECT_EQ(end, status);
}

TEST_F(RunEndToEndTest, KeepsExitStatusWhenNotifyCommandFails) {
  generate(2);
  EXPECT_THAT(shell(run + "--notify 'cat > end.json; exit 3'").err,
              Mentions({"warning", "--notify", "3"}));
  EXPECT_EQ(nlohmann::json::parse(bytes("end.json"))["solved"], 2);
  shell("wallheat run --data plans --out r.h5 --ids none --notify 'cat > end.json'", 1);
  EXPECT_THAT(nlohmann::json::parse(bytes("end.json"))["error"].get<std::string>(),
              Mentions({"none", "No such file"}))
      << "also if the run could not begin";
  // A background process of the command does not delay the end of the run.
  shell(
      "timeout 100 \"$program\" run --data plans --out results.h5 --resume --notify "
      "'sleep 10000 & echo $! > pid'; status=$?; kill $(< pid); exit $status");
  // The last plan may reach the failure limit.
  shell("rm plans/0000[12]_domain.npy; " + run + "--overwrite --stop-after-failures 2", 1);
}

TEST_F(RunEndToEndTest, SolvesRepeatedIdOnce) {
  generate(2);
  save_floor_plan(directory_ / "plans", "wall", random_plan(8, 8, 0, 1));
  shell("printf '00001\\r\\n\\r\\nwall\\r\\n00001\\r\\n' > ids");
  EXPECT_THAT(lines_of(shell(run + "--ids ids").err), Contains(Mentions({"warning", "00001"})));
  EXPECT_THAT(last_counts(), ElementsAre("0", "2", "0"));
  EXPECT_THAT(shell("wallheat export results.h5").out, HasSubstr("\nwall, nan, nan, nan, nan\n"));
}

TEST_F(RunEndToEndTest, GivesSameResultsForZipArchive) {
  generate(6, 48);
  shell("echo torn > plans/00004_interior.npy; python3 -m zipfile -c plans.zip plans");
  shell("wallheat run --data plans --out a.h5 --save-fields", 3);
  EXPECT_THAT(shell("$mpirun 3 run --data plans.zip --out b.h5 --save-fields", 3).err,
              Mentions({"plans.zip", "plans/00004_interior.npy", "NPY"}));
  EXPECT_THAT(results("a.h5"), testing::SizeIs(1 + 5));
  EXPECT_EQ(results("b.h5"), results("a.h5"));
  change("00002");
  shell("rm plans.zip; python3 -m zipfile -c plans.zip plans");
  expect_error("run --resume --save-fields --out b.h5 --data plans.zip", 1,
               {"b.h5", "plans.zip", "00002", "--overwrite"});
}

TEST_F(RunEndToEndTest, IgnoresHangupSignalUnderNohup) {
  generate(24, 200);
  // One thread: otherwise a machine with many cores would solve all plans at once.
  Arguments arguments = run_arguments({"--events", path("events"), "--threads", "1"});
  arguments.insert(arguments.begin(), "nohup");
  Process process(arguments);
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
              Mentions({"rank 1", "--tolerance", "0.5", "rank 0", "0.0001"}));
  // The same IDs, but other cells.
  shell("wallheat generate --out elsewhere/plans --count 6 --size 32 --seed 2");
  EXPECT_THAT(together(program + "--overwrite", "-wdir elsewhere" + program + "--overwrite", 1),
              Mentions({"rank 1", "plan 00001", "32 x 32 cells", "hash", "rank 0"}));
  // A copy with the times of the original, in which one plan that no probe reads was not updated.
  shell(
      "rm -r elsewhere; mkdir elsewhere; tar cf - plans | tar xf - -C elsewhere; "
      "touch -d '2020-01-01' plans/00002_*");
  const std::string stale =
      together(program + "--overwrite", "-wdir elsewhere" + program + "--overwrite", 1);
  EXPECT_THAT(stale, Mentions({"rank 1", "plan 00002", "rank 0", "5 plans", "rsync -t"}));
  // A copy that has none of the times: only the content can be compared.
  shell("touch -d '2021-01-01' elsewhere/plans/*");
  together(program + "--overwrite", "-wdir elsewhere" + program + "--overwrite", 0);
  shell("rm elsewhere/plans/00005_*");
  EXPECT_THAT(together(program + "--overwrite", "-wdir elsewhere" + program + "--overwrite", 1),
              Mentions({"rank 1", "elsewhere/plans", "00005"}));
  // Options that concern only the place of a rank may differ.
  together(program + "--overwrite", program + "--overwrite --threads 1 --isa baseline", 0);
}

TEST_F(RunEndToEndTest, RejectsProcessesThatMpiDoesNotConnect) {
  generate(6);
  const auto start_four = [&](const std::string& variables) {
    return shell("unset SLURM_PTY_PORT; for r in 0 1 2 3; do env " + variables +
                     " wallheat run --data plans --out r.h5 || exit; done",
                 2)
        .err;
  };
  // `env` starts programs only, not functions of the shell.
  shell("mkdir bin; ln -s \"$program\" bin/wallheat");
  const std::string srun = "PATH=$PWD/bin:$PATH SLURM_JOB_ID=7 SLURM_STEP_NUM_TASKS=4 ";
  const std::string mpich = "PATH=$PWD/bin:$PATH PMI_SIZE=4 PMI_FD=99 ";
  EXPECT_THAT(start_four(srun + "SLURM_PROCID=$r"), Mentions({"4", "srun --mpi=pmix", "mpirun"}));
  EXPECT_THAT(start_four(mpich + "PMI_RANK=$r"), Mentions({"4", "PMI_SIZE", "mpirun"}));
  EXPECT_FALSE(exists("r.h5"));
  // The others do not repeat the message, and solve nothing.
  for (const std::string& one : {srun + "SLURM_PROCID=2", mpich + "PMI_RANK=2"})
    EXPECT_EQ(shell("env " + one + " wallheat run --data plans --out r.h5").err, "");
  EXPECT_FALSE(exists("r.h5"));
  // A batch script that a task of such a step has submitted: Slurm's daemon is its parent.
  shell("export " + srun +
        "SLURM_PROCID=0 SLURM_JOB_END_TIME=9999999999; "
        "exec -a 'slurmstepd: [7.batch]' bash -c 'bash -c \"SLURM_TASK_PID=\\$\\$ "
        "wallheat run --data plans --out r.h5\"; exit $?'");
}

TEST_F(RunEndToEndTest, StopsBeforeTimeLimit) {
  // 00001 takes minutes; a plan without interior cells takes no time.
  generate(1, 1000);
  save_floor_plan(directory_ / "plans", "wall", random_plan(8, 8, 0, 1));
  const std::string endless =
      run + "wall 00001 --tolerance 1e-300 --max-iterations 1000000000 --time-limit $limit ";
  // A busy machine takes longer to begin, and gets a longer time limit.
  const Finished first =
      shell("limit=3; until " + endless +
            "--overwrite; [ $? = 75 ] || [ $limit -gt 100 ]; "
            "do limit=$((2 * limit)); done; wallheat status --session-exit-status results.h5; "
            "[ $? = 75 ]");
  EXPECT_THAT(first.err, Mentions("time limit"));
  // A job that submits itself again while plans are pending would do so indefinitely.
  EXPECT_THAT(shell("limit=3; " + endless + "--resume", 1).err, Mentions("--time-limit"));
  shell("wallheat status --session-exit-status results.h5", 1);
  shell("wallheat status results.h5", 75);
}

TEST_F(RunEndToEndTest, RecordsBuildAndProcessorInSession) {
  generate(1);
  shell(run);
  const Attributes session = ResultReader(directory_ / "results.h5").sessions().at(0);
  const nlohmann::json build = nlohmann::json::parse(shell("wallheat version --json").out);
  const nlohmann::json machine = nlohmann::json::parse(shell("wallheat devices --json").out);
  for (const auto& [name, value] : {std::pair("commit", build.at("commit")),
                                    {"compiler", build.at("compiler")},
                                    {"cpu_model", machine.at("processor")}}) {
    const auto found = session.find(name);
    EXPECT_EQ(found == session.end() ? nlohmann::json() : nlohmann::json(found->second), value)
        << name;
  }
  EXPECT_THAT(build.at("compiler").get<std::string>(),
              testing::AnyOf(HasSubstr("GCC"), HasSubstr("lang")));
}

TEST_F(RunEndToEndTest, IgnoresWallClockJumpsForTimeLimit) {
  generate(3);
  // In the program, the wall clock jumps one day ahead at each reading. LD_PRELOAD ends at a
  // blank; the sanitizer requires to be loaded first.
  shell("cp '" WALLHEAT_JUMPING_CLOCK
        "' clock.so; export LD_PRELOAD=$PWD/clock.so "
        "ASAN_OPTIONS=verify_asan_link_order=0; " +
        run + "--time-limit 1h");
  const auto attributes = ResultReader(directory_ / "results.h5").sessions().at(0);
  EXPECT_NE(attributes.at("started_utc").substr(0, 10), attributes.at("ended_utc").substr(0, 10))
      << "the clock has jumped";
}

class BadHostTest : public RunEndToEndTest {
 protected:
  /// Makes a host bad: see bad_host.cpp.
  const std::string bad_host = "cp '" WALLHEAT_BAD_HOST
                               "' bad.so; export LD_PRELOAD=$PWD/bad.so "
                               "ASAN_OPTIONS=verify_asan_link_order=0; ";
};

TEST_F(BadHostTest, SolvesAllPlansWhenOneHostIsBad) {
  generate(60);
  shell(bad_host +
        "export BAD_HOST_RANK=1; $mpirun 3 run --data plans --out results.h5 "
        "--threads 1 --events events");
  EXPECT_THAT(last_counts(), ElementsAre("0", "60", "0"));
}

TEST_F(BadHostTest, ResumesOnGoodHostAfterHostBecomesBad) {
  generate(8);
  const Finished stopped = shell(bad_host + "export BAD_HOST_AFTER=2; " + run + "--threads 1", 75);
  EXPECT_THAT(stopped.err,
              Mentions({"worker 1", "excluded", "_domain.npy", "Too many open files"}));
  EXPECT_THAT(last_counts(), ElementsAre("0", "2", "0"));
  shell(run + "--resume");
  EXPECT_THAT(last_counts(), ElementsAre("2", "6", "0"));
}

TEST_F(BadHostTest, FailsAndLeavesPlansPendingWhenNoHostIsGood) {
  generate(4);
  const Finished failed = shell(bad_host + run + "--threads 1", 1);
  EXPECT_THAT(failed.err,
              Mentions({"excluded", "Too many open files", "system errors", "--resume"}));
  EXPECT_THAT(last_counts(), ElementsAre("0", "0", "0"));
  shell(run + "--resume");
}

// A run waits for the reader of an event log that is a pipe: the test decides how long the start
// takes.

TEST_F(RunEndToEndTest, FailsWhenStoppedBeforeFirstPlan) {
  generate(2);
  ASSERT_EQ(::mkfifo(path("events").c_str(), 0600), 0);
  Process process(run_arguments({"--events", path("events")}));
  wait_until("the status file", [&] { return exists("results.h5.status"); });
  EXPECT_EQ(shell("wallheat status --print-state results.h5", 75).out, "running\n");
  const auto status = nlohmann::json::parse(shell("wallheat status --json results.h5", 75).out);
  EXPECT_EQ(status["parts"][0]["run_state"], "starting");
  expect_error("run --data plans --out results.h5", 1,
               {"results.h5", std::to_string(process.pid())});
  process.signal(SIGUSR1);
  wait_until("a thread that takes the signal", [&] {
    const std::string state = file_text("/proc/" + std::to_string(process.pid()) + "/status");
    return state.find("ShdPnd:\t0000000000000000\n") != std::string::npos;
  });
  const std::ifstream reader(path("events"));
  EXPECT_EQ(process.wait(), 1) << "a job script would resubmit itself indefinitely";
  EXPECT_THAT(process.err(), Mentions({"plan", "--time-limit", "--resume"}));
  EXPECT_EQ(nlohmann::json::parse(bytes("results.h5.status"))["exit_status"], 1);
  shell(run + "--resume");
}

TEST_F(RunEndToEndTest, IgnoresSignalsThatWereIgnoredAtStart) {
  generate(2);
  ASSERT_EQ(::mkfifo(path("events").c_str(), 0600), 0);
  std::vector<std::string> words{"bash", "-c", "trap '' HUP INT TERM; exec \"$@\"", "bash"};
  for (const std::string& word : run_arguments({"--events", path("events")})) words.push_back(word);
  Process process(words);
  wait_until("the status file", [&] { return exists("results.h5.status"); });
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) process.signal(number);
  const std::ifstream reader(path("events"));
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(RunEndToEndTest, RepeatsInterruptedSystemCalls) {
  generate(2);
  const std::string interrupted = "cp '" WALLHEAT_INTERRUPTED_CALLS
                                  "' interrupted.so; export LD_PRELOAD=$PWD/interrupted.so "
                                  "INTERRUPTED_LOG=$PWD/interrupted; ";
  shell(interrupted + run + "--first 1 --events log; " + run + "--resume; " + run +
        "--overwrite; wallheat repair results.h5; wallheat list results.h5");
  for (const char* call : {"open", "fsync", "fdatasync", "write", "pwrite", "pread", "fcntl"})
    EXPECT_THAT(file_text(path("interrupted")), HasSubstr(std::string(call) + "\n"));
}

TEST_F(RunEndToEndTest, RaisesSoftLimitOfOpenFiles) {
  generate(2);
  shell("ulimit -Sn 8; " + run);
}

TEST_F(RunEndToEndTest, GivesUpPlanAfterThreeStoppedSessions) {
  generate(1, 200);
  for (int session = 1; session <= 3; ++session) {
    Process process(run_arguments({"--tolerance", "0", "--max-iterations", "1000000000", "--resume",
                                   "--events", path("events")}));
    wait_until("a start", [&] { return event_seen("start"); });
    std::filesystem::remove(directory_ / "events");
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), session < 3 ? 75 : 1) << process.err();
  }
}

}  // namespace
}  // namespace wallheat
