#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "store/result_store.hpp"
#include "support/shapes.hpp"
#include "support/shell_test.hpp"
#include "support/terminal.hpp"
#include "wallheat/floor_plan_files.hpp"

// The program as its users meet it: command lines in, files and exit statuses out. What is killed
// or stopped in the middle of its work is for tests/campaign.

namespace wallheat {
namespace {

using Words = std::vector<std::string>;

class Wallheat : public ShellTest {
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
    Words rows;
    for (const PlanResult& row : reader.rows()) {
      std::ostringstream text;
      text << std::hexfloat << row.index << ' ' << row.id << ' ' << to_string(row.status) << ' '
           << row.statistics.mean_temp << ' ' << row.statistics.std_temp << ' '
           << row.statistics.pct_above_18 << ' ' << row.statistics.pct_below_15 << ' '
           << row.iterations << ' ' << row.last_delta << ' ' << row.interior_cells << ' '
           << row.rows << 'x' << row.cols << ' ' << row.input_hash << ' ' << row.solver << ' '
           << row.error;
      if (const auto field = reader.field(row.index)) {
        text << ' '
             << std::string(reinterpret_cast<const char*>(field->cells.data()),
                            field->cells.size() * 8);
      }
      rows.push_back(text.str());
    }
    return rows;
  }
  /// Changes a cell of a plan.
  void change(const std::string& id, Grid<double> FloorPlan::*grid = &FloorPlan::domain) const {
    FloorPlan plan = load_floor_plan(directory_ / "plans", id);
    (plan.*grid)(0, 0) += 1;
    save_floor_plan(directory_ / "plans", id, plan);
  }
  [[nodiscard]] bool event_seen(const std::string& event) const {
    return bytes("events").find("\"event\":\"" + event + "\"") != std::string::npos;
  }
};

TEST_F(Wallheat, gives_the_same_answers_with_any_number_of_ranks_any_solver_and_any_isa) {
  generate(7, 80);
  for (const std::string solver : {"jacobi", "steady", "fastforward"}) {
    const std::string options = " --save-fields --solver " + solver;
    shell("wallheat run --data plans --out alone.h5 --overwrite" + options);
    const auto expected = answers("alone.h5");
    EXPECT_THAT(expected, testing::SizeIs(7));
    for (const std::string way :
         {"$mpirun 1 run", "$mpirun 4 run", "wallheat run --isa baseline",
          "wallheat run --threads 1", "wallheat run --solver-backend reference"}) {
      if (solver != "jacobi" && way.ends_with("reference")) continue;
      shell(way + " --data plans --out results.h5 --overwrite" + options);
      EXPECT_EQ(answers(), expected) << way << options;
    }
    shell("wallheat verify alone.h5 --data plans --all");
    for (const std::string look : {"summary", "status"})
      EXPECT_THAT(shell("wallheat " + look + " results.h5").out, HasSubstr(solver));
    const std::string other = solver == "jacobi" ? "steady" : "jacobi";
    EXPECT_THAT(shell(run + "--save-fields --resume --solver " + other, 1).err,
                AllOf(HasSubstr("solver: the file has"), HasSubstr(solver)));
  }
  EXPECT_THAT(shell("wallheat run --data plans --out gpu.h5 --solver steady --device gpu", 2).err,
              HasSubstr("leave out --device gpu"));
}

TEST_F(Wallheat, prints_the_binding_table_and_says_how_many_plans_it_solved) {
  generate(24, 200);  // long enough for both workers to get ready
  EXPECT_THAT(shell("$mpirun 3 run --data plans --out results.h5").err,
              AllOf(HasSubstr("rank  host"), HasSubstr("CPU time  busy"), HasSubstr("cpu "),
                    HasSubstr("restored 0, solved 24, failed 0"), HasSubstr("[rank 0 ")));
  // Of each rank the memory that it held is known.
  EXPECT_THAT(shell("wallheat summary results.h5 --json").out,
              testing::ContainsRegex("\"rank_memory\": \"0:[0-9]+ 1:[0-9]+ 2:[0-9]+\""));
}

TEST_F(Wallheat, says_no_rank_at_a_terminal_alone_or_under_mpirun) {
  generate(3);
  EXPECT_THAT(shell(run + "--overwrite").err, Not(HasSubstr("rank"))) << "in one process";
  const Words alone = watched_run({"--overwrite"});
  Words under_mpirun{"/usr/bin/env",
                     "OMPI_ALLOW_RUN_AS_ROOT=1",
                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                     "mpirun",
                     "-n",
                     "3",
                     "--oversubscribe",
                     "--bind-to",
                     "none"};
  under_mpirun.insert(under_mpirun.end(), alone.begin(), alone.end());
  for (const Words& words : {alone, under_mpirun}) {
    const Words lines = lines_at_terminal(120, words);
    EXPECT_THAT(lines, Contains(HasSubstr("restored 0, solved 3, failed 0"))) << words[1];
    EXPECT_THAT(lines, Not(Contains(HasSubstr("[rank")))) << words[1];
  }
}

TEST_F(Wallheat, names_the_plan_and_the_format_that_were_meant) {
  generate(1);
  expect_refusal("solve 1 --data plans", 1, "did you mean '00001'?");
  EXPECT_THAT(shell("wallheat run --data plans --out r.csv", 2).err,
              AllOf(HasSubstr("HDF5"), HasSubstr("wallheat export")));
}

TEST_F(Wallheat, goes_on_past_bad_plans_and_retries_them_on_resume) {
  generate(5);
  shell(
      "mv plans/00002_domain.npy good.npy; echo 'not an array' > plans/00002_domain.npy; "
      "rm plans/00004_interior.npy");
  EXPECT_THAT(shell(run, 3).err, AllOf(HasSubstr("00002_domain.npy: is not an NPY file"),
                                       HasSubstr("00004_interior.npy: no such file"),
                                       HasSubstr("solved 3, failed 2")));
  const Finished exported = shell("wallheat export results.h5", 3);
  EXPECT_THAT(exported.err, HasSubstr("failed: 00002"));
  EXPECT_THAT(exported.out, Not(HasSubstr("00002")));
  EXPECT_THAT(shell("cp good.npy plans/00002_domain.npy; " + run + "--resume", 3).err,
              HasSubstr("restored 3, solved 1, failed 1"));
  const ResultReader reader(directory_ / "results.h5");
  EXPECT_EQ(reader.rows()[1].attempts, 2);
  EXPECT_EQ(reader.rows()[0].attempts, 1);
}

TEST_F(Wallheat, fails_a_plan_whose_id_is_too_long_and_no_other) {
  generate(3);
  const std::string longest(140, 'x');
  shell("cd plans; for end in domain interior; do cp 00002_$end.npy " + longest +
        "_$end.npy; done; echo " + longest + " >> building_ids.txt");
  EXPECT_THAT(shell(run, 3).err,
              AllOf(HasSubstr("has more than the 127 bytes"), HasSubstr("solved 3, failed 1")));
  EXPECT_THAT(shell(run + "--resume", 3).err, HasSubstr("restored 3, solved 0, failed 1"));
  EXPECT_THAT(shell("wallheat summary results.h5").out, testing::ContainsRegex("failed +1\n"));
}

TEST_F(Wallheat, leaves_nothing_behind_if_it_is_refused_before_the_first_plan) {
  generate(3);
  shell(run);
  const std::string before = bytes("results.h5");
  change("00002");
  shell(run + "--resume", 1);
  shell(run + "--resume --tolerance 0.5", 1);
  shell("wallheat run --data plans --out new.h5 --events plans/nowhere/e", 1);
  EXPECT_EQ(bytes("results.h5"), before);
  EXPECT_EQ(shell("ls results.h5* new.h5* 2>/dev/null", 2).out, "results.h5\n");
}

TEST_F(Wallheat, tells_what_a_full_disk_left_and_makes_the_file_whole_later) {
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

TEST_F(Wallheat, gives_up_a_plan_that_failed_too_often_until_it_is_told_otherwise) {
  generate(3);
  shell("mv plans/00002_domain.npy away");
  const std::string twice = run + "--max-attempts 2 --resume ";
  shell(twice, 3);
  EXPECT_THAT(shell(twice, 3).err, HasSubstr("solved 0, failed 1"));
  EXPECT_THAT(shell(twice, 3).err,
              AllOf(HasSubstr("given up earlier 1"), HasSubstr("--retry-failed")));
  shell("mv away plans/00002_domain.npy; " + twice + "--retry-failed");
}

TEST_F(Wallheat, stops_after_so_many_failures_and_tells_a_command_how_it_ended) {
  // One worker is at 00001 for minutes, the other fails the rest.
  generate(3, 1000);
  shell(
      "rm plans/0000[23]_domain.npy; $mpirun 3 run --data plans --out results.h5 --tolerance "
      "1e-300 "
      "--max-iterations 1000000000 --stop-after-failures 2 --notify 'cat > end.json'; "
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

TEST_F(Wallheat, ends_with_one_also_if_the_last_plan_is_one_failure_too_many) {
  generate(2);
  const Finished finished =
      shell("rm plans/0000[12]_domain.npy; " + run + "--stop-after-failures 2", 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("2 plans have failed"), HasSubstr("--retry-failed")));
}

TEST_F(Wallheat, does_not_wait_for_what_the_command_that_it_tells_leaves_running) {
  generate(2);
  // Once more, as mpirun itself now and then never ends.
  const std::string ranks =
      "timeout --kill-after=5 100 mpirun -n 3 --oversubscribe --bind-to none \"$program\" run "
      "--data plans --out results.h5 --resume --notify 'sleep 10000 & echo $! >> pids'";
  shell(ranks + " || " + ranks + "; status=$?; kill $(< pids); exit $status");
}

TEST_F(Wallheat, warns_where_the_command_that_it_tells_fails) {
  generate(2);
  EXPECT_THAT(shell(run + "--notify 'cat > end.json; exit 3'").err,
              HasSubstr("warning: the command of --notify ended with exit status 3"));
  const auto end = nlohmann::json::parse(bytes("end.json"));
  EXPECT_EQ(end["exit_status"], 0);
  EXPECT_EQ(end["error"], "");
  EXPECT_EQ(end["solved"], 2);
  shell("wallheat run --data plans --out r.h5 --ids none --notify 'cat > end.json'", 1);
  EXPECT_THAT(nlohmann::json::parse(bytes("end.json"))["error"].get<std::string>(),
              HasSubstr("none"))
      << "also where the run could not begin";
}

TEST_F(Wallheat, records_a_plan_without_rooms_as_empty) {
  generate(1);
  save_floor_plan(directory_ / "plans", "wall", random_plan(8, 8, 0, 1));
  shell(run + "00001 wall");
  EXPECT_THAT(shell("wallheat export results.h5").out, HasSubstr("\nwall, nan, nan, nan, nan\n"));
  EXPECT_THAT(shell("wallheat summary results.h5").out, HasSubstr("empty"));
}

TEST_F(Wallheat, solves_a_repeated_id_once_and_says_so) {
  generate(2);
  EXPECT_THAT(
      shell("printf '00001\\r\\n\\r\\n00002\\r\\n00001\\r\\n' > ids; " + run + "--ids ids").err,
      AllOf(HasSubstr("1 plan is named more than once and solved once: 00001"),
            HasSubstr("solved 2,")));
}

TEST_F(Wallheat, takes_up_a_run_over_some_plans_for_all_of_them) {
  generate(6);
  shell(run + "--first 2");
  EXPECT_THAT(shell(run + "--resume").err, HasSubstr("restored 2, solved 4, failed 0"));
  EXPECT_THAT(shell(run + "--resume").err, HasSubstr("restored 6, solved 0, failed 0"));
  shell("wallheat run --data plans --out direct.h5");
  EXPECT_EQ(answers(), answers("direct.h5"));
}

TEST_F(Wallheat, refuses_to_mix_settings_or_changed_input_in_one_file) {
  generate(3);
  shell(run);
  EXPECT_THAT(shell(run + "--resume --tolerance 0.5", 1).err,
              AllOf(HasSubstr("tolerance: the file has 0.0001, this run 0.5"),
                    HasSubstr("give those of the file, or name another file with --out")));
  change("00002");
  EXPECT_THAT(shell(run + "--resume", 1).err, AllOf(HasSubstr("00002"), HasSubstr("--overwrite")));
}

TEST_F(Wallheat, answers_from_a_zip_archive_as_from_the_directory) {
  generate(6, 48);
  shell("echo torn > plans/00004_interior.npy; python3 -m zipfile -c plans.zip plans");
  shell("wallheat run --data plans --out a.h5 --save-fields", 3);
  shell("$mpirun 3 run --data plans.zip --out b.h5 --save-fields", 3);
  auto from_directory = answers("a.h5");
  auto from_archive = answers("b.h5");
  ASSERT_EQ(from_directory.size(), 6U);
  EXPECT_THAT(from_archive.at(3),
              HasSubstr("plans.zip: plans/00004_interior.npy: is not an NPY file"));
  from_directory.erase(from_directory.begin() + 3);
  from_archive.erase(from_archive.begin() + 3);
  EXPECT_EQ(from_archive, from_directory);
  for (const auto& [file, data] : {std::pair("a.h5", "plans.zip"), std::pair("b.h5", "plans")}) {
    const std::string words = std::string(file) + " --data " + data;
    EXPECT_THAT(shell("wallheat verify --all " + words, 3).out,
                HasSubstr("ok: 5 plans, unchanged"));
    EXPECT_THAT(shell("wallheat run --resume --save-fields --out " + words, 3).err,
                HasSubstr("restored 5"));
  }
}

TEST_F(Wallheat, finds_a_plan_that_changed_from_one_archive_to_the_next) {
  generate(3);
  const std::string take =
      "rm -f plans.zip; python3 -m zipfile -c plans.zip plans; "
      "wallheat run --data plans.zip --out results.h5 --resume";
  shell(take);
  EXPECT_THAT(shell(take).err, HasSubstr("restored 3")) << "new times, the same content";
  change("00002");
  EXPECT_THAT(shell(take, 1).err,
              AllOf(HasSubstr("00002 (other content)"), HasSubstr("--overwrite")));
}

TEST_F(Wallheat, reads_archives_in_every_command_that_takes_plans) {
  generate(3, 48);
  shell("cd plans; python3 -m zipfile -c ../p 0000[23]*");
  EXPECT_THAT(shell("wallheat solve 00002 --data p").out, HasSubstr("00002 (48 x 48 cells"));
  expect_refusal("solve 00001 --data p", 1, "p has no plan '00001'");
  EXPECT_THAT(shell("wallheat bench --data p --repeat 1 --scaling false --json").out,
              AllOf(HasSubstr("00002"), HasSubstr("00003")));
  shell(run);
  expect_refusal("run --data results.h5 --out o.h5", 1, "nor a zip archive of one");
}

TEST_F(Wallheat, stops_before_any_work_with_one_sentence) {
  generate(2);
  shell("echo > empty; echo 'something precious' > existing.h5");
  struct Case {
    const char* words;
    int status;
    const char* sentence;
  };
  const std::vector<Case> cases = {
      {"run --data none --out x.h5", 1, "there is no directory"},
      {"run --data plans --ids none --out x.h5", 1, "cannot be read"},
      {"run --data plans --ids empty --out x.h5", 1, "names no plan"},
      {"run --data plans --out none/x.h5", 1, "none"},
      {"run --data plans --out existing.h5", 1, "--overwrite"},
      {"run --data plans --out existing.h5 --resume", 1, "existing.h5"},
      {"run --data plans --out x.h5 --device gpu", 1, "--device gpu"},
      {"run --data plans --out x.h5 --events none/e", 1, "event log"},
      {"run --out x.h5", 2, "--data is missing"},
      {"run --data plans --out x.h5 --log-level loud", 2, "--log-level"},
      {"export none.h5", 1, "none.h5"},
      {"export existing.h5", 1, "existing.h5"},
      {"summary plans", 1, "plans"},
      {"solve nothing --data plans", 1, "plans has no plan 'nothing'"},
      {"generate --out plans", 1, "exists"},
      {"run --data existing.h5 --out x.h5", 1, "nor a zip archive"},
      {"run --data none --out x.h5", 1, "there is no directory or zip archive"},
      {"generate --out x --size 3", 2, "16 to 16384"},
      {"bench --solver steady", 2, "--solvers shows all"},
      {"bench --reference 00001", 2, "--reference is for a plan of --data"},
      {"bench --reference 00001 --data plans --solvers", 2, "leave out --device, --solvers"},
      {"bench --reference nothing --data plans", 1, "plans has no plan 'nothing'"},
      {"bench --device gpu --quick --plot x.png", 2, "--quick leaves out the sizes"},
      {"conquer", 2, "there is no command 'conquer'"},
  };
  for (const Case& wrong : cases) {
    const Finished finished = shell(std::string("wallheat ") + wrong.words, wrong.status);
    EXPECT_THAT(finished.err, AllOf(HasSubstr(wrong.sentence), HasSubstr("wallheat: ")));
    EXPECT_THAT(finished.out, IsEmpty());
  }
  EXPECT_EQ(bytes("existing.h5"), "something precious\n");
}

TEST_F(Wallheat, does_not_harm_a_result_file_by_a_slip_of_the_hand) {
  generate(2);
  shell(run);
  const std::string before = bytes("results.h5");
  shell(run + "--overwrite --events none/events", 1);
  shell(run + "--over", 2);  // no guessing of what may destroy a file
  EXPECT_EQ(bytes("results.h5"), before);
}

TEST_F(Wallheat, says_what_is_wrong_once_and_with_its_status_under_mpirun) {
  generate(2);
  const std::string ranks = "$mpirun 3 run --data plans --out results.h5 ";
  const std::string usage = shell(ranks + "--threads -1", 2).err;
  EXPECT_THAT(usage, HasSubstr("wallheat: --threads"));
  EXPECT_EQ(usage.find("wallheat: --threads"), usage.rfind("wallheat: --threads")) << usage;
  shell(ranks + "--ids none", 1);
}

TEST_F(Wallheat, outlives_its_terminal_where_nohup_started_it) {
  generate(24, 200);
  // With one thread: on a machine with many cores all plans would else be solved at once.
  Words words = watched_run({"--events", path("events"), "--threads", "1"});
  words.insert(words.begin(), "nohup");
  Process process(words);
  wait_until("a result", [&] { return event_seen("result"); });
  process.signal(SIGHUP);
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(Wallheat, goes_on_without_ranks_that_were_started_for_something_else) {
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

TEST_F(Wallheat, tells_every_start_and_result_as_json_lines) {
  generate(4);
  shell("rm plans/00003_domain.npy; $mpirun 3 run --data plans --out results.h5 --events events",
        3);
  std::istringstream lines(bytes("events"));
  std::map<std::string, int> counts;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, StartsWith("{\"time\":\""));
    ++counts[nlohmann::json::parse(line)["event"]];
  }
  EXPECT_GE(counts["start"], 4);  // a plan may be started a second time, as a copy
  EXPECT_EQ(counts["result"], 3);
  EXPECT_EQ(counts["failure"], 1);
  EXPECT_GE(counts["worker_ready"], 1);  // the other may not be needed any more
}

TEST_F(Wallheat, takes_the_distance_of_cells_from_beside_the_plans) {
  for (const std::string out : {"plates", "plates.zip"})
    shell("wallheat generate --kind poisson --size 48 --count 2 --out " + out);
  const auto mean = [&](const std::string& plans) {
    const Finished solved = shell("wallheat solve 00002 --json --solver steady --data " + plans);
    EXPECT_EQ(solved.err.find("--spacing") != std::string::npos, plans == "bare");
    return nlohmann::json::parse(solved.out)["mean_temp"].get<double>();
  };
  const double expected = mean("plates --spacing 0.020833333333333332");
  for (const char* plans : {"plates", "plates.zip"}) EXPECT_EQ(mean(plans), expected);
  shell("cp -r plates bare; rm bare/spacing.txt");
  EXPECT_GT(mean("bare"), 1000 * expected) << "their cells are 1 apart, and this is said";
  EXPECT_THAT(shell("wallheat run --data bare --out bare.h5").err,
              HasSubstr("write it into spacing.txt"));
  EXPECT_THAT(shell("echo 1/48 > bare/spacing.txt; wallheat run --data bare --out new.h5", 1).err,
              HasSubstr("spacing.txt must hold one number above 0"));
}

TEST_F(Wallheat, solves_plans_with_sources_and_knows_them_by_their_content) {
  shell("wallheat generate --kind poisson --out plans --size 48 --count 5");
  const std::string of_plates = " --norm l2 --spacing 0.0208 --save-fields ";
  for (const std::string solver : {"jacobi", "fastforward", "steady"}) {
    const std::string out = "wallheat run --data plans --out " + solver + ".h5 --solver " + solver;
    shell(out + of_plates);
    shell("wallheat verify " + solver + ".h5 --data plans --sample 5");
    shell(out + of_plates + "--resume --spacing 0.03", 2);  // an option given twice
    // Another distance of the cells is another problem.
    EXPECT_THAT(shell(out + " --resume --norm l2 --save-fields", 1).err, HasSubstr("spacing"));
  }
  // A source that changed, and one that is gone.
  change("00003", &FloorPlan::source);
  shell("rm plans/00004_source.npy");
  EXPECT_THAT(shell("wallheat run --data plans --out jacobi.h5 --resume" + of_plates, 1).err,
              AllOf(HasSubstr("00003"), HasSubstr("00004")));
  const Finished verified = shell("! wallheat verify jacobi.h5 --data plans");
  EXPECT_THAT(verified.out + verified.err, HasSubstr("has changed since it was solved"));
}

TEST_F(Wallheat, fails_plans_whose_source_is_wrong_and_no_other) {
  shell("wallheat generate --kind poisson --out plans --size 20 --count 4");
  std::filesystem::create_directory(directory_ / "other");
  FloorPlan wide = room(20, 21);
  wide.source = Grid<double>(20, 21, 1.0);
  save_floor_plan(directory_ / "other", "00001", wide);
  FloorPlan undefined = room(20, 20);
  undefined.source = Grid<double>(20, 20, 1.0);
  undefined.source(3, 4) = std::nan("");
  save_floor_plan(directory_ / "other", "00002", undefined);
  shell("cp other/*_source.npy plans; ln -sf nowhere plans/00003_source.npy; " + run +
            "--max-attempts 1",
        3);
  const auto rows = ResultReader(directory_ / "results.h5").rows();
  EXPECT_THAT(rows[0].error,
              AllOf(HasSubstr("00001_source.npy"), HasSubstr("its shape 20 x 21 differs")));
  EXPECT_THAT(rows[1].error,
              AllOf(HasSubstr("00002_source.npy"), HasSubstr("row 3, column 4 is NaN")));
  EXPECT_THAT(rows[2].error, HasSubstr("00003_source.npy: no such file"));
  EXPECT_EQ(rows[3].status, PlanStatus::converged);
}

TEST_F(Wallheat, generates_an_archive_of_what_it_generates) {
  for (const std::string kind : {"floorplan", "poisson"}) {
    const std::string words = "generate --count 140 --size 16 --seed 3 --kind " + kind + " --out ";
    shell("wallheat " + words + kind + " && wallheat " + words + kind + ".npz");
    shell("mkdir u-" + kind + " && cd u-" + kind + " && python3 -m zipfile -e ../" + kind +
          ".npz . && diff -r . ../" + kind);
  }
  const std::string again = "generate --out poisson.npz --kind poisson --size 16 --seed 3 ";
  expect_refusal(again, 1, "--overwrite");
  const std::string before = bytes("poisson.npz");
  shell("wallheat " + again + "--count 140 --overwrite");
  EXPECT_TRUE(bytes("poisson.npz") == before) << "the same plans are the same bytes";
  shell("echo text > x.zip");
  expect_refusal("generate --out x.zip --overwrite", 1, "is not what this command writes");
}

TEST_F(Wallheat, tells_before_the_start_all_that_would_stop_a_run) {
  generate(5, 24);
  EXPECT_THAT(shell(run + "--check --save-fields").out,
              AllOf(HasSubstr("5 plans"), HasSubstr("24 x 24 cells"), HasSubstr("are free in"),
                    HasSubstr("ready")));
  EXPECT_FALSE(exists("results.h5") || exists("results.h5.lock")) << "nothing is started";
  shell(run + "--first 2");
  const std::string before = bytes("results.h5");
  EXPECT_THAT(shell(run + "--check --resume").out, HasSubstr("has answers to 2 of 5 plans"));
  // All at once: another tolerance, no GPU, no place for the events.
  const std::string many =
      shell(run + "--check --resume --tolerance 0.01 --device gpu --events nowhere/events", 1).out;
  EXPECT_THAT(many, AllOf(HasSubstr("problem   " + path("results.h5")),
                          HasSubstr("tolerance: the file has 0.0001, this run 0.01"),
                          HasSubstr("problem   there is no directory " + path("nowhere"))));
  if (shell("wallheat devices").out.find("no GPU") != std::string::npos) {
    EXPECT_THAT(many, HasSubstr("problem   --device gpu is not possible here"));
  }
  shell(run + "--check=job --resume --device gpu");  // GPUs are where the job will be
  EXPECT_THAT(shell(run + "--check", 1).out, HasSubstr("exists; go on with it by --resume"));

  shell("rm plans/00001_domain.npy plans/00004_interior.npy");  // the first one is solved
  EXPECT_THAT(shell(run + "--check --resume", 1).out,
              AllOf(HasSubstr("warning   1 plan cannot be read and will fail"),
                    HasSubstr("already solved has changed in plans"), HasSubstr("since: 00001")));
  const auto found = nlohmann::json::parse(shell(run + "--check --resume --json", 1).out);
  EXPECT_FALSE(found["ready"]);
  EXPECT_EQ(found["problems"].size(), 1U);
  EXPECT_THAT(std::string(found["problems"][0]), HasSubstr("since: 00001"));
  EXPECT_EQ(found["warnings"].size(), 1U);
  EXPECT_TRUE(found["facts"].contains("plans"));
  shell(run + "--resume --json", 2);  // without --check
  EXPECT_EQ(bytes("results.h5"), before);
}

TEST_F(Wallheat, tells_before_the_start_that_nothing_is_left) {
  generate(3);
  const std::string check = run + "--check --resume ";
  EXPECT_THAT(shell(check).out, Not(HasSubstr("done ")));
  shell(run + "--first 2");
  EXPECT_THAT(shell(check).out, AllOf(HasSubstr("ready "), Not(HasSubstr("done "))));
  EXPECT_THAT(shell(check + "--first 2").out,
              AllOf(HasSubstr("done      all 2 plans are solved\n"), Not(HasSubstr("ready "))));
  EXPECT_TRUE(nlohmann::json::parse(shell(check + "--first 2 --json").out)["done"]);
  shell("rm plans/00003_domain.npy; " + run + "--resume --max-attempts 1", 3);
  EXPECT_THAT(shell(check).out, HasSubstr("ready ")) << "two more tries";
  EXPECT_THAT(shell(check + "--max-attempts 1").out,
              HasSubstr("done      of 3 plans 2 are solved, and 1 failed too often: only "
                        "--retry-failed tries them again\n"));
  EXPECT_THAT(shell(check + "--max-attempts 1 --retry-failed").out, HasSubstr("ready "));
  shell("wallheat run --data plans --out p.h5 --shard 2/3");
  EXPECT_THAT(shell("wallheat run --data plans --out p.h5 --shard 2/3 --resume --check").out,
              HasSubstr("done      the only plan of shard 2/3 is solved\n"));
}

TEST_F(Wallheat, warns_of_plans_that_may_not_fit_into_memory) {
  generate(3);
  shell(
      "wallheat generate --out wide --count 1 --size 256 && cp wide/00001_domain.npy "
      "plans/00002_domain.npy && cp wide/00001_interior.npy plans/00002_interior.npy");
  const auto names_plan =
      AllOf(HasSubstr("may run out of memory"), HasSubstr("as large as 00002 (256 x 256 cells)"),
            HasSubstr("there are 20 MB; give the job more memory"));
  EXPECT_THAT(shell(run + "--check --threads 1 --memory 0.02 --device cpu").out, names_plan);
  EXPECT_THAT(shell(run + "--check=job --memory 0.02").out, names_plan);
  // A node of a job solves as many plans at a time as its workers have threads.
  const auto at_a_time = [&](const std::string& words) {
    return shell(run + "--memory 0.02 --check=job" + words).out;
  };
  EXPECT_THAT(at_a_time(":64/1"), HasSubstr("3 solver processes")) << "there are no more plans";
  EXPECT_THAT(at_a_time(":2/1"), HasSubstr("2 solver processes"));
  EXPECT_THAT(at_a_time(":64/2 --threads 1"), HasSubstr("2 solver processes"));
  EXPECT_THAT(at_a_time(":2/2 --threads 2"), HasSubstr("2 solver processes"));
  EXPECT_THAT(at_a_time(""), HasSubstr("how many a node solves is not known here"));
  for (const char* odd : {":", ":0/1", ":4", ":4/0", ":4/x", ":9999999/1"})
    expect_refusal("run --data plans --out x.h5 --check=job" + std::string(odd), 2, "--check");
  EXPECT_THAT(shell(run + "--check --threads 1 --memory 64").out, Not(HasSubstr("out of memory")));
  expect_refusal("run --data plans --out x.h5 --memory -1", 2, "--memory");
}

TEST_F(Wallheat, shows_where_the_published_algorithm_spends_its_time) {
  generate(1, 32);
  const std::string shown = shell("wallheat bench --reference 00001 --data plans").out;
  EXPECT_THAT(shown, AllOf(HasSubstr("us a hit"), HasSubstr("for the same bits: ")));
  const std::string other = " --data plans --solver fastforward --json";
  EXPECT_THAT(shell("wallheat bench --reference 00001" + other).out, HasSubstr("\"steps\""));
}

TEST_F(Wallheat, solves_the_tasks_of_a_job_array_into_parts_that_make_the_whole) {
  generate(7, 40);
  const Finished merged = shell(run + R"( && for task in 5 7 9; do
      SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_STEP=2 \
        SLURM_ARRAY_TASK_COUNT=3 wallheat run --data plans --out array.h5 || exit; done
    wallheat merge --out slurm.h5 array.part-*-of-3.h5)");
  EXPECT_THAT(merged.out, HasSubstr("7 of 7, 0 missing, 0 duplicates, 0 conflicts"));
  EXPECT_EQ(answers("slurm.h5"), answers());
}

TEST_F(Wallheat, ends_in_good_time_before_its_limit_and_goes_on_later) {
  // The rooms of 00001 take minutes, a plan without rooms no time.
  generate(1, 1000);
  save_floor_plan(directory_ / "plans", "wall", random_plan(8, 8, 0, 1));
  // Longer each time until what is awaited has happened, as a busy machine takes longer to begin.
  const auto run_until = [&](const std::string& more, const std::function<bool()>& happened) {
    std::string said;
    for (int limit_s = 3; limit_s < 100; limit_s *= 2) {
      said = shell(run + more + " --time-limit " + std::to_string(limit_s) +
                   " --tolerance 1e-300 --max-iterations 1000000000 wall 00001; echo $? > status; "
                   "wallheat status --session results.h5 > session; [ $? = $(< status) ]")
                 .err;
      EXPECT_THAT(said, HasSubstr("the time limit"));
      if (happened()) break;
    }
    return said;
  };
  run_until("--overwrite", [&] { return bytes("status") == "75\n"; });
  EXPECT_EQ(bytes("status"), "75\n");
  shell("wallheat status results.h5", 75);
  // A job that submits itself again while there is work left would do so for ever.
  EXPECT_THAT(
      run_until("--resume",
                [&] { return ResultReader(directory_ / "results.h5").rows().at(1).attempts == 2; }),
      AllOf(HasSubstr("plan 00001 (started 2 times) had"), HasSubstr("and needs about"),
            HasSubstr("--time-limit")));
  EXPECT_EQ(bytes("status"), "1\n");
  const auto rows = ResultReader(directory_ / "results.h5").rows();
  EXPECT_EQ(rows.at(1).status, PlanStatus::pending);
  EXPECT_EQ(rows.at(1).attempts, 2) << "kept from session to session";
}

TEST_F(Wallheat, lets_no_clock_that_is_set_end_a_run_early) {
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

TEST_F(Wallheat, that_is_stopped_before_a_plan_could_start_fails_and_says_why) {
  generate(2);
  ASSERT_EQ(::mkfifo(path("events").c_str(), 0600), 0);
  Process process(watched_run({"--events", path("events")}));
  const auto stamp = [&] {
    std::error_code missing;
    return std::filesystem::last_write_time(path("results.h5.status"), missing);
  };
  wait_until("a sign of life", [&] { return exists("results.h5.status"); });
  const auto first = stamp();
  wait_until("another", [&] { return stamp() != first; });
  EXPECT_THAT(shell("wallheat status results.h5", 75).out,
              AllOf(HasSubstr("being written"), HasSubstr("starting")));
  EXPECT_THAT(shell(run, 1).err, HasSubstr("is being written by process"));
  process.signal(SIGUSR1);
  const std::ifstream reader(path("events"));
  EXPECT_EQ(process.wait(), 1) << "a job script would start the same again for ever";
  EXPECT_THAT(process.err(), AllOf(HasSubstr("stop before any plan could start"),
                                   HasSubstr("--time-limit"), HasSubstr("--resume")));
  EXPECT_FALSE(exists("results.h5.status"));
  shell(run + "--resume");
}

TEST_F(Wallheat, needs_no_more_open_files_than_its_hard_limit_allows) {
  generate(2);
  shell("ulimit -Sn 8; " + run);
}

TEST_F(Wallheat, gives_up_a_plan_at_which_signals_stop_one_session_after_the_other) {
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
