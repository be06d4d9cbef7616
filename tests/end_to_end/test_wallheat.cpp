#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "store/packs/plan_pack.hpp"
#include "store/results/result_store.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/shared_plans.hpp"
#include "support/temporary_directory.hpp"
#include "support/terminal.hpp"
#include "wallheat/floor_plan_files.hpp"

// The program as its users meet it: command lines in, files and exit statuses out.

namespace wallheat {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string program = WALLHEAT_PROGRAM;

class Wallheat : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  static Words command(const Words& words) {
    Words all{program};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  static Finished wallheat(const Words& words) { return run_program(command(words)); }
  /// Under mpirun with any number of ranks, whatever the machine.
  static Words mpirun(int ranks, const Words& words) {
    Words all{"mpirun", "-n", std::to_string(ranks), "--oversubscribe", "--bind-to", "none"};
    const Words rest = command(words);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  void generate(int count, int size, const std::string& name = "plans") {
    const Finished made =
        wallheat({"generate", "--out", path(name), "--count", std::to_string(count), "--size",
                  std::to_string(size), "--seed", "3"});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  [[nodiscard]] Words run(const Words& more = {}, const std::string& out = "results.h5") const {
    Words words{"run", "--data", path("plans"), "--out", path(out)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// Everything of a finished file that must not depend on how it was computed.
  [[nodiscard]] std::vector<std::string> answers(const std::string& name = "results.h5") const {
    const ResultReader reader(directory_ / name);
    EXPECT_TRUE(reader.closed_well());
    std::vector<std::string> rows;
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
  [[nodiscard]] bool event_seen(const std::string& event) const {
    return file_text(directory_ / "events").find("\"event\":\"" + event + "\"") !=
           std::string::npos;
  }

  TemporaryDirectory directory_;
};

TEST_F(Wallheat, writes_the_csv_of_the_reference_byte_for_byte) {
  if (!std::filesystem::exists(shared_plans))
    GTEST_SKIP() << "no real floor plans at " << shared_plans;
  const Finished solved =
      run_program(mpirun(3, {"run", "--data", shared_plans.string(), "--out", path("results.h5")}));
  ASSERT_EQ(solved.status, 0) << solved.err;
  EXPECT_EQ(wallheat({"export", path("results.h5")}).out, file_text(shared_plans / "expected.csv"));
  EXPECT_EQ(wallheat({"export", path("results.h5"), "-o", path("copy.csv")}).status, 0);
  EXPECT_EQ(file_text(directory_ / "copy.csv"), file_text(shared_plans / "expected.csv"));
}

TEST_F(Wallheat, gives_the_same_answers_with_any_number_of_ranks_and_any_back_end) {
  generate(9, 80);
  ASSERT_EQ(wallheat(run({"--save-fields"}, "alone.h5")).status, 0);
  const auto expected = answers("alone.h5");
  EXPECT_THAT(expected, testing::SizeIs(9));
  for (const int ranks : {1, 2, 4}) {
    const Finished finished = run_program(mpirun(ranks, run({"--save-fields", "--overwrite"})));
    ASSERT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(answers(), expected) << ranks << " ranks";
  }
  for (const Words& way : {Words{"--solver-backend", "reference"}, Words{"--isa", "baseline"},
                           Words{"--threads", "1"}}) {
    Words words = run({"--save-fields", "--overwrite"});
    words.insert(words.end(), way.begin(), way.end());
    ASSERT_EQ(wallheat(words).status, 0);
    EXPECT_EQ(answers(), expected) << way[1];
  }
}

TEST_F(Wallheat, prints_the_binding_table_and_says_how_many_plans_it_solved) {
  generate(3, 32);
  const Finished finished = run_program(mpirun(3, run()));
  EXPECT_THAT(finished.err,
              AllOf(HasSubstr("rank  host"), HasSubstr("CPU time  busy"), HasSubstr("cpu "),
                    HasSubstr("restored 0, solved 3, failed 0"), HasSubstr("[rank 0 ")));
}

TEST_F(Wallheat, says_no_rank_at_a_terminal_alone_or_under_mpirun) {
  generate(3, 32);
  Words alone = run();
  alone.insert(alone.begin(), WALLHEAT_PROGRAM);
  Words under_mpirun = mpirun(3, run({"--overwrite"}));
  const Words as_root{"/usr/bin/env", "OMPI_ALLOW_RUN_AS_ROOT=1",
                      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  under_mpirun.insert(under_mpirun.begin(), as_root.begin(), as_root.end());
  for (const Words& words : {alone, under_mpirun}) {
    const Words lines = lines_at_terminal(120, words);
    EXPECT_THAT(lines, Contains(HasSubstr("restored 0, solved 3, failed 0"))) << words[1];
    EXPECT_THAT(lines, Not(Contains(HasSubstr("[rank")))) << words[1];
  }
}

TEST_F(Wallheat, names_the_plan_and_the_format_that_were_meant) {
  generate(1, 32);
  const Finished solved = wallheat({"solve", "1", "--data", path("plans")});
  EXPECT_EQ(solved.status, 1);
  EXPECT_THAT(solved.err, HasSubstr("did you mean '00001'?"));
  const Finished csv = wallheat({"run", "--data", path("plans"), "--out", path("r.csv")});
  EXPECT_EQ(csv.status, 2);
  EXPECT_THAT(csv.err, AllOf(HasSubstr("HDF5"), HasSubstr("wallheat export")));
}

TEST_F(Wallheat, goes_on_past_bad_plans_and_retries_them_on_resume) {
  generate(5, 32);
  std::filesystem::copy(directory_ / "plans/00002_domain.npy", directory_ / "good.npy");
  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  std::filesystem::remove(directory_ / "plans/00004_interior.npy");
  const Finished first = wallheat(run());
  EXPECT_EQ(first.status, 3);
  EXPECT_THAT(first.err, AllOf(HasSubstr("00002_domain.npy: is not an NPY file"),
                               HasSubstr("00004_interior.npy: no such file"),
                               HasSubstr("solved 3, failed 2")));
  const Finished exported = wallheat({"export", path("results.h5")});
  EXPECT_EQ(exported.status, 3);
  EXPECT_THAT(exported.err, HasSubstr("failed: 00002"));
  EXPECT_THAT(exported.out, Not(HasSubstr("00002")));

  std::filesystem::copy_file(directory_ / "good.npy", directory_ / "plans/00002_domain.npy",
                             std::filesystem::copy_options::overwrite_existing);
  const Finished second = wallheat(run({"--resume"}));
  EXPECT_EQ(second.status, 3);
  EXPECT_THAT(second.err, HasSubstr("restored 3, solved 1, failed 1"));
  const ResultReader reader(directory_ / "results.h5");
  EXPECT_EQ(reader.rows()[1].attempts, 2);
  EXPECT_EQ(reader.rows()[0].attempts, 1);
}

TEST_F(Wallheat, records_a_plan_without_rooms_as_empty) {
  generate(1, 32);
  save_floor_plan(directory_ / "plans", "wall", random_plan(8, 8, 0, 1));
  ASSERT_EQ(wallheat(run({"00001", "wall"})).status, 0);
  EXPECT_THAT(wallheat({"export", path("results.h5")}).out,
              HasSubstr("\nwall, nan, nan, nan, nan\n"));
  EXPECT_THAT(wallheat({"summary", path("results.h5")}).out, HasSubstr("empty"));
}

TEST_F(Wallheat, solves_a_repeated_id_once_and_says_so) {
  generate(2, 32);
  std::ofstream(directory_ / "ids") << "00001\r\n\r\n00002\r\n00001\r\n";
  const Finished finished = wallheat(run({"--ids", path("ids")}));
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.err,
              AllOf(HasSubstr("plan 00001 is named more than once"), HasSubstr("solved 2,")));
}

TEST_F(Wallheat, resumes_a_complete_file_without_solving_anything) {
  generate(3, 32);
  ASSERT_EQ(wallheat(run({"--save-fields"})).status, 0);
  const auto before = answers();
  const Finished again = wallheat(run({"--save-fields", "--resume"}));
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, HasSubstr("restored 3, solved 0, failed 0"));
  EXPECT_EQ(answers(), before);
}

TEST_F(Wallheat, takes_up_a_run_over_some_plans_for_all_of_them) {
  generate(6, 32);
  ASSERT_EQ(wallheat(run({"--first", "2"})).status, 0);
  const Finished rest = wallheat(run({"--resume"}));
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("restored 2, solved 4, failed 0"));
  ASSERT_EQ(wallheat(run({}, "direct.h5")).status, 0);
  EXPECT_EQ(answers(), answers("direct.h5"));
}

TEST_F(Wallheat, refuses_to_mix_settings_or_changed_input_in_one_file) {
  generate(3, 32);
  ASSERT_EQ(wallheat(run()).status, 0);
  const Finished settings = wallheat(run({"--resume", "--tolerance", "0.5"}));
  EXPECT_EQ(settings.status, 1);
  EXPECT_THAT(settings.err, AllOf(HasSubstr("tolerance"), HasSubstr("0.0001"), HasSubstr("0.5")));

  FloorPlan changed = load_floor_plan(directory_ / "plans", "00002");
  changed.domain(0, 0) += 1;
  save_floor_plan(directory_ / "plans", "00002", changed);
  const Finished input = wallheat(run({"--resume"}));
  EXPECT_EQ(input.status, 1);
  EXPECT_THAT(input.err, AllOf(HasSubstr("00002"), HasSubstr("--overwrite")));
}

TEST_F(Wallheat, answers_from_a_pack_as_from_the_directory) {
  generate(6, 48);
  std::ofstream(directory_ / "plans" / "00004_interior.npy") << "torn";
  const Finished packed = wallheat({"pack", "--data", path("plans"), "--out", path("plans.h5")});
  EXPECT_EQ(packed.status, 3);
  EXPECT_THAT(packed.err,
              AllOf(HasSubstr("plan 00004 is left out"), HasSubstr("00004_interior.npy")));
  EXPECT_THAT(packed.out, HasSubstr("5 plan(s) packed and read back, 1 left out"));

  const auto run_on = [&](const std::string& data, const std::string& out, const Words& more) {
    Words words{"run", "--data", path(data), "--out", path(out), "--save-fields"};
    words.insert(words.end(), more.begin(), more.end());
    return wallheat(words);
  };
  EXPECT_EQ(run_on("plans", "a.h5", {}).status, 3);
  EXPECT_EQ(run_program(mpirun(3, {"run", "--data", path("plans.h5"), "--out", path("b.h5"),
                                   "--save-fields"}))
                .status,
            3);
  auto from_directory = answers("a.h5");
  auto from_pack = answers("b.h5");
  ASSERT_EQ(from_directory.size(), 6U);
  EXPECT_THAT(from_pack.at(3), AllOf(HasSubstr("plans.h5: plan 00004 was left out of this pack"),
                                     HasSubstr("00004_interior.npy")));
  from_directory.erase(from_directory.begin() + 3);
  from_pack.erase(from_pack.begin() + 3);
  EXPECT_EQ(from_pack, from_directory);
  EXPECT_EQ(wallheat({"export", path("b.h5")}).out, wallheat({"export", path("a.h5")}).out);

  for (const auto& [file, data] : {std::pair("a.h5", "plans.h5"), std::pair("b.h5", "plans")}) {
    const Finished verified = wallheat({"verify", path(file), "--data", path(data), "--all"});
    EXPECT_EQ(verified.status, 3) << verified.out;
    EXPECT_THAT(verified.out, HasSubstr("ok: 5 plan(s) are what they were"));
    const Finished resumed = run_on(data, file, {"--resume"});
    EXPECT_EQ(resumed.status, 3);
    EXPECT_THAT(resumed.err, HasSubstr("restored 5"));
  }
}

TEST_F(Wallheat, finds_a_plan_that_changed_from_one_pack_to_the_next) {
  generate(3, 32);
  const Words pack{"pack", "--data", path("plans"), "--out", path("plans.h5"), "--overwrite"};
  ASSERT_EQ(wallheat(pack).status, 0);
  const Words take{"run", "--data", path("plans.h5"), "--out", path("results.h5"), "--resume"};
  ASSERT_EQ(wallheat(take).status, 0);
  ASSERT_EQ(wallheat(pack).status, 0);  // a new time stamp, the same content
  const Finished same = wallheat(take);
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.err, HasSubstr("restored 3"));
  FloorPlan changed = load_floor_plan(directory_ / "plans", "00002");
  changed.domain(0, 0) += 1;
  save_floor_plan(directory_ / "plans", "00002", changed);
  ASSERT_EQ(wallheat(pack).status, 0);
  const Finished other = wallheat(take);
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, AllOf(HasSubstr("00002 (other content)"), HasSubstr("--overwrite")));
}

TEST_F(Wallheat, reads_packs_in_every_command_that_takes_plans) {
  generate(4, 48);
  ASSERT_EQ(
      wallheat({"pack", "--data", path("plans"), "--out", path("p.h5"), "--first", "3"}).status, 0);
  EXPECT_EQ(wallheat({"pack", "--data", path("p.h5"), "--out", path("q.h5"), "00002"}).status, 0);
  const Finished solved = wallheat({"solve", "00002", "--data", path("q.h5")});
  EXPECT_EQ(solved.status, 0) << solved.err;
  EXPECT_THAT(solved.out, HasSubstr("plan             00002"));
  const Finished missing = wallheat({"solve", "00001", "--data", path("q.h5")});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("there is no plan 00001 in this pack"));
  const Finished bench =
      wallheat({"bench", "--data", path("p.h5"), "--repeat", "1", "--scaling", "false", "--json"});
  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_THAT(bench.out, AllOf(HasSubstr("00001"), HasSubstr("00003")));
  const Finished results = wallheat(run());
  ASSERT_EQ(results.status, 0);
  const Finished wrong = wallheat({"run", "--data", path("results.h5"), "--out", path("other.h5")});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, HasSubstr("holds results, not floor plans"));
}

TEST_F(Wallheat, stops_before_any_work_with_one_sentence) {
  generate(2, 32);
  std::ofstream(directory_ / "empty") << "\n\n";
  std::ofstream(directory_ / "existing.h5") << "something precious";
  struct Case {
    Words words;
    int status;
    std::string sentence;
  };
  const std::vector<Case> cases = {
      {{"run", "--data", path("none"), "--out", path("x.h5")}, 1, "there is no directory"},
      {{"run", "--data", path("plans"), "--ids", path("none"), "--out", path("x.h5")},
       1,
       "cannot be read"},
      {{"run", "--data", path("plans"), "--ids", path("empty"), "--out", path("x.h5")},
       1,
       "names no plan"},
      {{"run", "--data", path("plans"), "--out", path("none/x.h5")}, 1, "none"},
      {{"run", "--data", path("plans"), "--out", path("existing.h5")}, 1, "--overwrite"},
      {{"run", "--data", path("plans"), "--out", path("existing.h5"), "--resume"},
       1,
       "existing.h5"},
      {{"run", "--data", path("plans"), "--out", path("x.h5"), "--device", "gpu"},
       1,
       "--device gpu"},
      {{"run", "--data", path("plans"), "--out", path("x.h5"), "--events", path("none/e")},
       1,
       "event log"},
      {{"run", "--data", path("plans"), "--out", path("x.h5"), std::string(200, 'x')},
       1,
       "200 bytes"},
      {{"run", "--out", path("x.h5")}, 2, "--data is missing"},
      {{"run", "--data", path("plans"), "--out", path("x.h5"), "--log-level", "loud"},
       2,
       "--log-level"},
      {{"export", path("none.h5")}, 1, "none.h5"},
      {{"export", path("existing.h5")}, 1, "existing.h5"},
      {{"export", path("x.h5"), "--format", "xml"}, 2, "csv, json"},
      {{"summary", path("plans")}, 1, "plans"},
      {{"solve", "nothing", "--data", path("plans")}, 1, "nothing_domain.npy"},
      {{"generate", "--out", path("plans")}, 1, "exists"},
      {{"pack", "--data", path("plans"), "--out", path("existing.h5")}, 1, "--overwrite"},
      {{"pack", "--data", path("none"), "--out", path("x.h5")}, 1, "there is no directory"},
      {{"pack", "--data", path("plans")}, 2, "--out is missing"},
      {{"run", "--data", path("existing.h5"), "--out", path("x.h5")}, 1, "nor a pack"},
      {{"generate", "--out", path("x"), "--size", "3"}, 2, "16 to 16384"},
      {{"conquer"}, 2, "there is no command 'conquer'"},
      {{}, 2, "no command"},
  };
  for (const Case& wrong : cases) {
    const Finished finished = wallheat(wrong.words);
    EXPECT_EQ(finished.status, wrong.status) << wrong.sentence << "\n" << finished.err;
    EXPECT_THAT(finished.err, AllOf(HasSubstr(wrong.sentence), HasSubstr("wallheat: ")));
    EXPECT_THAT(finished.out, IsEmpty());
  }
  EXPECT_EQ(file_text(directory_ / "existing.h5"), "something precious");
}

TEST_F(Wallheat, does_not_harm_a_result_file_by_a_slip_of_the_hand) {
  generate(2, 32);
  ASSERT_EQ(wallheat(run()).status, 0);
  const std::string before = file_text(directory_ / "results.h5");
  EXPECT_EQ(wallheat({"export", path("results.h5"), "-o", path("results.h5")}).status, 2);
  EXPECT_EQ(wallheat(run({"--overwrite", "--events", path("results.h5")})).status, 2);
  EXPECT_EQ(wallheat(run({"--overwrite", "--events", path("none/events")})).status, 1);
  EXPECT_EQ(wallheat(run({"--over"})).status, 2) << "no guessing of what may destroy a file";
  EXPECT_EQ(file_text(directory_ / "results.h5"), before);
}

TEST_F(Wallheat, writes_through_a_link_to_a_file_that_is_not_there_yet) {
  generate(1, 32);
  std::filesystem::create_directory(directory_ / "large_disk");
  std::filesystem::create_symlink("large_disk/results.h5", directory_ / "results.h5");
  ASSERT_EQ(wallheat(run()).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "results.h5"));
  EXPECT_TRUE(std::filesystem::is_regular_file(directory_ / "large_disk/results.h5"));
}

TEST_F(Wallheat, does_not_call_a_lost_output_a_success) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  EXPECT_EQ(run_program({"sh", "-c", "\"$0\" devices > /dev/full", program}).status, 1);
}

TEST_F(Wallheat, says_what_is_wrong_once_and_with_its_status_under_mpirun) {
  generate(2, 32);
  const Finished usage = run_program(mpirun(3, run({"--threads", "-1"})));
  EXPECT_EQ(usage.status, 2);
  const auto first = usage.err.find("wallheat: --threads");
  ASSERT_NE(first, std::string::npos) << usage.err;
  EXPECT_EQ(usage.err.find("wallheat: --threads", first + 1), std::string::npos) << usage.err;
  EXPECT_EQ(run_program(mpirun(3, run({"--ids", path("none")}))).status, 1);
}

TEST_F(Wallheat, tells_a_wrapper_about_wrong_usage_too) {
  for (const std::vector<std::string>& file :
       {std::vector<std::string>{"--exit-status-file", path("status")},
        std::vector<std::string>{"--exit-status-file=" + path("status")}}) {
    std::filesystem::remove(path("status"));
    std::vector<std::string> wrong = run({"--no-such-option"});
    wrong.insert(wrong.end(), file.begin(), file.end());
    EXPECT_EQ(run_program(mpirun(2, wrong)).status, 2);
    std::string told;
    std::ifstream(path("status")) >> told;
    EXPECT_EQ(told, "2");
  }
}

// In the tests that stop a run in its middle workers have one thread: on a machine with many cores
// all plans would else be solved at once.

TEST_F(Wallheat, stops_in_the_middle_of_a_plan_when_asked_to_and_goes_on_later) {
  generate(24, 300);
  ASSERT_EQ(wallheat(run({"--save-fields"}, "undisturbed.h5")).status, 0);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) {
    Process process(command(
        run({"--save-fields", "--overwrite", "--events", path("events"), "--threads", "1"})));
    wait_until("a result", [&] { return event_seen("result"); });
    process.signal(number);
    EXPECT_EQ(process.wait(), 75);
    EXPECT_THAT(process.err(), AllOf(HasSubstr("stopped early; to go on"), HasSubstr("--resume")));
    EXPECT_TRUE(ResultReader(directory_ / "results.h5").closed_well());
    EXPECT_EQ(wallheat({"export", path("results.h5")}).status, 75);
    EXPECT_EQ(wallheat(run({"--save-fields", "--resume"})).status, 0);
    EXPECT_EQ(answers(), answers("undisturbed.h5"));
    std::filesystem::remove(directory_ / "events");
  }
}

TEST_F(Wallheat, outlives_its_terminal_where_nohup_started_it) {
  generate(24, 200);
  std::vector<std::string> words = command(run({"--events", path("events"), "--threads", "1"}));
  words.insert(words.begin(), "nohup");
  Process process(words);
  wait_until("a result", [&] { return event_seen("result"); });
  process.signal(SIGHUP);
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(Wallheat, closes_its_file_well_when_mpirun_is_told_to_stop) {
  generate(24, 300);
  ASSERT_EQ(wallheat(run({}, "undisturbed.h5")).status, 0);
  Process process(mpirun(3, run({"--events", path("events"), "--threads", "1"})));
  wait_until("a result", [&] { return event_seen("result"); });
  process.signal(SIGTERM);
  EXPECT_NE(process.wait(), 0);
  // mpirun may be gone before rank 0 is.
  wait_until("rank 0 to close its file",
             [&] { return !std::filesystem::exists(directory_ / "results.h5.lock"); });
  EXPECT_TRUE(ResultReader(directory_ / "results.h5").closed_well());
  EXPECT_EQ(run_program(mpirun(3, run({"--resume"}))).status, 0);
  EXPECT_EQ(answers(), answers("undisturbed.h5"));
}

TEST_F(Wallheat, loses_nothing_acknowledged_when_it_is_killed) {
  generate(24, 300);
  ASSERT_EQ(wallheat(run({"--save-fields"}, "undisturbed.h5")).status, 0);
  for (int kill = 0; kill < 3; ++kill) {
    std::filesystem::remove(directory_ / "events");
    Process process(
        command(run({"--save-fields", "--resume", "--events", path("events"), "--threads", "1"})));
    wait_until("a result", [&] { return event_seen("result"); });
    process.signal(SIGKILL);
    EXPECT_EQ(process.wait(), 128 + SIGKILL);
    const ResultReader reader(directory_ / "results.h5");
    std::size_t stored = 0;
    for (const PlanResult& row : reader.rows()) stored += is_answer(row.status) ? 1 : 0;
    EXPECT_GT(stored, static_cast<std::size_t>(kill))
        << "each life has stored at least one more result";
  }
  EXPECT_EQ(wallheat(run({"--save-fields", "--resume"})).status, 0);
  EXPECT_EQ(answers(), answers("undisturbed.h5"));
}

TEST_F(Wallheat, refuses_a_file_that_a_living_run_writes) {
  generate(3, 64);
  // No plan of this run ever ends.
  Process first(command(
      run({"--events", path("events"), "--tolerance", "0", "--max-iterations", "1000000000"})));
  wait_until("the run to begin", [&] { return event_seen("start"); });
  for (const char* way : {"--resume", "--overwrite"}) {
    const Finished second = wallheat(run({way}));
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.err, HasSubstr("is being written by"));
  }
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 75) << "the first run was not disturbed";
}

TEST_F(Wallheat, goes_on_without_ranks_that_were_started_for_something_else) {
  generate(6, 32);
  // The same ids, but other cells.
  ASSERT_EQ(
      wallheat({"generate", "--out", path("others"), "--count", "6", "--size", "32", "--seed", "2"})
          .status,
      0);
  ASSERT_EQ(wallheat(run({}, "alone.h5")).status, 0);
  const auto rank_with = [&](const std::string& count, const std::string& data,
                             const Words& more = {}) {
    Words words{"-n",     count,      WALLHEAT_PROGRAM, "run",
                "--data", path(data), "--out",          path("results.h5")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto together = [&](const Words& first, const Words& second) {
    Words words{"mpirun", "--oversubscribe", "--bind-to", "none"};
    words.insert(words.end(), first.begin(), first.end());
    words.push_back(":");
    words.insert(words.end(), second.begin(), second.end());
    return run_program(words);
  };
  const Finished good =
      together(rank_with("2", "plans"), rank_with("1", "plans", {"--tolerance", "0.5"}));
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.err, HasSubstr("rank 2 on"));
  EXPECT_THAT(good.err,
              HasSubstr("takes no part in this run: its tolerance is 0.5, and rank 0's is 0.0001"));
  EXPECT_EQ(answers(), answers("alone.h5"));

  const Finished bad = together(rank_with("1", "plans", {"--overwrite"}), rank_with("1", "others"));
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.err, HasSubstr("is refused: its plan 00001 is 32 x 32 cells (hash "));

  // Two plans that rank 0 asks no worker about: one has other cells, one was only copied.
  ASSERT_EQ(
      wallheat({"generate", "--out", path("stale"), "--count", "6", "--size", "32", "--seed", "3"})
          .status,
      0);
  for (const char* file : {"00002_domain.npy", "00002_interior.npy"})
    std::filesystem::copy_file(directory_ / "others" / file, directory_ / "stale" / file,
                               std::filesystem::copy_options::overwrite_existing);
  const Finished stale =
      together(rank_with("1", "plans", {"--overwrite"}), rank_with("1", "stale"));
  EXPECT_EQ(stale.status, 3) << stale.err;
  const auto rows = ResultReader(directory_ / "results.h5").rows();
  EXPECT_THAT(rows.at(1).error, HasSubstr("solved other files than rank 0 finds in"));
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const PlanResult& row) { return is_answer(row.status); }),
            5);
  ASSERT_EQ(wallheat(run({"--resume"})).status, 0);
  EXPECT_EQ(answers(), answers("alone.h5"));
}

TEST_F(Wallheat, tells_every_lease_start_and_result_as_json_lines) {
  generate(4, 32);
  std::filesystem::remove(directory_ / "plans/00003_domain.npy");
  ASSERT_EQ(run_program(mpirun(3, run({"--events", path("events")}))).status, 3);
  std::istringstream lines(file_text(directory_ / "events"));
  std::map<std::string, int> counts;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, StartsWith("{\"time\":\""));
    const auto begin = line.find("\"event\":\"") + 9;
    ++counts[line.substr(begin, line.find('"', begin) - begin)];
  }
  EXPECT_GE(counts["assigned"], 4);
  EXPECT_GE(counts["start"], 4);  // a plan may be started a second time, as a copy
  EXPECT_EQ(counts["result"], 3);
  EXPECT_EQ(counts["failure"], 1);
  EXPECT_GE(counts["worker_ready"], 1);  // the other may not be needed any more
}

TEST_F(Wallheat, exports_json_with_all_columns) {
  generate(2, 32);
  ASSERT_EQ(wallheat(run()).status, 0);
  EXPECT_THAT(wallheat({"export", path("results.h5"), "--format", "json"}).out,
              AllOf(HasSubstr("\"id\": \"00002\""), HasSubstr("\"iterations\": "),
                    HasSubstr("\"status\": \"converged\"")));
}

TEST_F(Wallheat, solves_one_plan_and_draws_it) {
  generate(1, 64);
  const Finished solved =
      wallheat({"solve", "00001", "--data", path("plans"), "--png", path("plan.png")});
  EXPECT_EQ(solved.status, 0) << solved.err;
  EXPECT_THAT(solved.out, AllOf(HasSubstr("mean temperature"), HasSubstr("converged after")));
  EXPECT_THAT(file_text(directory_ / "plan.png"), StartsWith("\x89PNG"));
}

TEST_F(Wallheat, answers_the_questions_of_the_data_set) {
  generate(5, 64);
  ASSERT_EQ(wallheat(run()).status, 0);
  EXPECT_THAT(wallheat({"summary", path("results.h5")}).out,
              AllOf(HasSubstr("plans                        5"),
                    HasSubstr("average mean temperature"), HasSubstr("population"),
                    HasSubstr("at least 50 % above 18 °C"), HasSubstr("at least 50 % below 15 °C"),
                    HasSubstr("slowest plans"), HasSubstr("plans/s")));
}

TEST_F(Wallheat, measures_itself_against_what_the_core_could_do) {
  const Words few{"bench", "--plans", "2", "--size", "64", "--repeat", "2"};
  EXPECT_THAT(wallheat(few).out, AllOf(HasSubstr("ceiling"), HasSubstr("density"),
                                       HasSubstr("G updates/s"), HasSubstr("efficiency")));
  Words json = few;
  json.push_back("--json");
  EXPECT_THAT(wallheat(json).out,
              AllOf(HasSubstr("\"ceiling_updates_per_s\""), HasSubstr("\"density\""),
                    HasSubstr("\"share_of_ceiling\"")));
}

TEST_F(Wallheat, gives_the_same_answers_of_every_solver_with_any_number_of_ranks_and_any_isa) {
  generate(5, 90);
  for (const char* solver : {"steady", "fastforward"}) {
    const std::string alone = std::string(solver) + ".h5";
    ASSERT_EQ(wallheat(run({"--save-fields", "--solver", solver}, alone)).status, 0);
    const auto expected = answers(alone);
    const Words again{"--save-fields", "--overwrite", "--solver", solver};
    ASSERT_EQ(run_program(mpirun(3, run(again))).status, 0);
    EXPECT_EQ(answers(), expected) << solver;
    Words baseline = again;
    baseline.insert(baseline.end(), {"--isa", "baseline"});
    ASSERT_EQ(wallheat(run(baseline)).status, 0);
    EXPECT_EQ(answers(), expected) << solver;
    EXPECT_EQ(wallheat({"verify", path("results.h5"), "--data", path("plans"), "--all"}).status, 0);
    EXPECT_THAT(wallheat({"summary", path("results.h5")}).out, HasSubstr(solver));
    EXPECT_THAT(wallheat({"status", path("results.h5")}).out, HasSubstr(solver));
    const Finished other = wallheat(run({"--save-fields", "--resume"}));
    EXPECT_EQ(other.status, 1);
    EXPECT_THAT(other.err, AllOf(HasSubstr("solver: the file has"), HasSubstr(solver)));
  }
  const Finished gpu = wallheat(run({"--solver", "steady", "--device", "gpu"}, "gpu.h5"));
  EXPECT_EQ(gpu.status, 2);
  EXPECT_THAT(gpu.err, HasSubstr("leave out --device gpu"));
}

TEST_F(Wallheat, takes_the_distance_of_cells_from_beside_the_plans) {
  const Words plates{"generate", "--kind", "poisson", "--size", "48", "--count", "2", "--out"};
  for (const std::string plans : {"plates", "plates.h5"}) {
    Words words = plates;
    words.push_back(path(plans));
    if (plans == "plates.h5") words.push_back("--pack");
    ASSERT_EQ(wallheat(words).status, 0);
  }
  ASSERT_EQ(wallheat({"pack", "--data", path("plates"), "--out", path("packed.h5")}).status, 0);
  const auto mean = [&](const std::string& plans, const Words& more = {}) {
    Words words{"solve", "00002", "--json", "--solver", "steady", "--data", path(plans)};
    words.insert(words.end(), more.begin(), more.end());
    const Finished solved = wallheat(words);
    EXPECT_EQ(solved.status, 0) << solved.err;
    EXPECT_EQ(solved.err.find("--spacing") != std::string::npos, plans == "bare");
    return nlohmann::json::parse(solved.out)[0]["mean_temp"].get<double>();
  };
  const double expected = mean("plates", {"--spacing", "0.020833333333333332"});
  for (const char* plans : {"plates", "plates.h5", "packed.h5"}) EXPECT_EQ(mean(plans), expected);
  std::filesystem::copy(path("plates"), path("bare"));
  std::filesystem::remove(path("bare/spacing.txt"));
  EXPECT_GT(mean("bare"), 1000 * expected) << "their cells are 1 apart, and this is said";
  const Finished ran = wallheat({"run", "--data", path("bare"), "--out", path("bare.h5")});
  EXPECT_THAT(ran.err, HasSubstr("write it into spacing.txt"));
  std::ofstream(path("bare/spacing.txt")) << "1/48\n";
  const Finished refused = wallheat({"run", "--data", path("bare"), "--out", path("new.h5")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("spacing.txt must hold one number above 0"));
}

TEST_F(Wallheat, solves_plans_with_sources_and_knows_them_by_their_content) {
  const Words of_plates{"--norm", "l2", "--spacing", "0.0208", "--save-fields"};
  ASSERT_EQ(wallheat({"generate", "--kind", "poisson", "--out", path("plans"), "--size", "48",
                      "--count", "5"})
                .status,
            0);
  for (const std::string solver : {"jacobi", "fastforward", "steady"}) {
    SCOPED_TRACE(solver);
    const std::string out = solver + ".h5";
    Words words = run(of_plates, out);
    words.insert(words.end(), {"--solver", solver});
    const Finished solved = wallheat(words);
    ASSERT_EQ(solved.status, 0) << solved.err;
    const Finished verified =
        wallheat({"verify", path(out), "--data", path("plans"), "--sample", "5"});
    EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
    // Another distance of the cells is another problem.
    words.insert(words.end(), {"--resume", "--spacing", "0.03"});
    const Finished mixed = wallheat(words);
    EXPECT_EQ(mixed.status, 2) << "an option given twice";
    words = run({"--resume", "--norm", "l2", "--save-fields", "--solver", solver}, out);
    const Finished other = wallheat(words);
    EXPECT_EQ(other.status, 1);
    EXPECT_THAT(other.err, HasSubstr("spacing"));
  }
  // A source that changed, and one that is gone.
  const FloorPlan plan = load_floor_plan(path("plans"), "00003");
  FloorPlan changed = plan;
  changed.source(5, 5) += 1;
  save_floor_plan(path("plans"), "00003", changed);
  std::filesystem::remove(path("plans/00004_source.npy"));
  Words words = run(of_plates, "jacobi.h5");
  words.push_back("--resume");
  const Finished refused = wallheat(words);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("00003"), HasSubstr("00004")));
  const Finished verified = wallheat({"verify", path("jacobi.h5"), "--data", path("plans")});
  EXPECT_NE(verified.status, 0);
  EXPECT_THAT(verified.out + verified.err, HasSubstr("has changed since it was solved"));
}

TEST_F(Wallheat, generates_a_pack_as_it_packs_what_it_generates) {
  generate(12, 48);
  ASSERT_EQ(wallheat({"pack", "--data", path("plans"), "--out", path("packed.h5")}).status, 0);
  const Words made{"generate", "--pack", "--out", path("made.h5"), "--count",
                   "12",       "--size", "48",    "--seed",        "3"};
  ASSERT_EQ(wallheat(made).status, 0);
  const auto packed = open_plan_source(path("packed.h5"));
  const auto direct = open_plan_source(path("made.h5"));
  ASSERT_EQ(direct->ids().ids, packed->ids().ids);
  for (const std::string& id : direct->ids().ids)
    EXPECT_EQ(direct->stated_hash(id), packed->stated_hash(id)) << id;
  const Finished again = wallheat(made);
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("--overwrite"));
}

TEST_F(Wallheat, tells_before_the_start_all_that_would_stop_a_run) {
  generate(5, 24);
  const Finished ready = wallheat(run({"--check", "--save-fields"}));
  EXPECT_EQ(ready.status, 0) << ready.err;
  EXPECT_THAT(ready.out, AllOf(HasSubstr("5 plan(s)"), HasSubstr("24 x 24 cells"),
                               HasSubstr("are free in"), HasSubstr("ready")));
  EXPECT_FALSE(std::filesystem::exists(path("results.h5"))) << "nothing is started";
  EXPECT_FALSE(std::filesystem::exists(path("results.h5.lock")));

  ASSERT_EQ(wallheat(run({"--first", "2"})).status, 0);
  const std::string before = file_text(path("results.h5"));
  EXPECT_THAT(wallheat(run({"--check", "--resume"})).out, HasSubstr("has answers to 2 of 5 plans"));
  // All at once: another tolerance, no GPU, no place for the events.
  const Finished many = wallheat(run({"--check", "--resume", "--tolerance", "0.01", "--device",
                                      "gpu", "--events", path("nowhere/events")}));
  EXPECT_EQ(many.status, 1);
  EXPECT_THAT(many.out, AllOf(HasSubstr("problem   " + path("results.h5")),
                              HasSubstr("tolerance: the file has 0.0001, this run 0.01"),
                              HasSubstr("problem   there is no directory " + path("nowhere"))));
  if (wallheat({"devices"}).out.find("no GPU") != std::string::npos) {
    EXPECT_THAT(many.out, HasSubstr("problem   --device gpu is not possible here"));
  }
  EXPECT_EQ(wallheat(run({"--check=job", "--resume", "--device", "gpu"})).status, 0)
      << "GPUs are where the job will be";
  EXPECT_THAT(wallheat(run({"--check"})).out, HasSubstr("exists; go on with it by --resume"));

  std::filesystem::remove(path("plans/00001_domain.npy"));  // solved
  std::filesystem::remove(path("plans/00004_interior.npy"));
  const Finished changed = wallheat(run({"--check", "--resume"}));
  EXPECT_EQ(changed.status, 1);
  EXPECT_THAT(changed.out, AllOf(HasSubstr("warning   2 plan(s) cannot be read and will fail"),
                                 HasSubstr("already solved have changed in " + path("plans")),
                                 HasSubstr("since: 00001")));
  const Finished json = wallheat(run({"--check", "--resume", "--json"}));
  EXPECT_EQ(json.status, 1);
  const auto found = nlohmann::json::parse(json.out);
  EXPECT_FALSE(found["ready"]);
  EXPECT_EQ(found["problems"].size(), 1U);
  EXPECT_THAT(std::string(found["problems"][0]), HasSubstr("since: 00001"));
  EXPECT_EQ(found["warnings"].size(), 1U);
  EXPECT_TRUE(found["facts"].contains("plans"));
  EXPECT_EQ(wallheat(run({"--resume", "--json"})).status, 2) << "without --check";
  EXPECT_EQ(file_text(path("results.h5")), before);
}

TEST_F(Wallheat, fails_plans_whose_source_is_wrong_and_no_other) {
  ASSERT_EQ(wallheat({"generate", "--kind", "poisson", "--out", path("plans"), "--size", "20",
                      "--count", "4"})
                .status,
            0);
  const auto source_of = [&](const std::string& id, const FloorPlan& plan) {
    save_floor_plan(path("other"), id, plan);
    std::filesystem::copy_file(path("other/" + id + "_source.npy"),
                               path("plans/" + id + "_source.npy"),
                               std::filesystem::copy_options::overwrite_existing);
  };
  std::filesystem::create_directory(path("other"));
  FloorPlan wide = room(20, 21);
  wide.source = Grid<double>(20, 21, 1.0);
  source_of("00001", wide);
  FloorPlan undefined = room(20, 20);
  undefined.source = Grid<double>(20, 20, 1.0);
  undefined.source(3, 4) = std::nan("");
  source_of("00002", undefined);
  std::filesystem::remove(path("plans/00003_source.npy"));
  std::filesystem::create_symlink("nowhere", path("plans/00003_source.npy"));
  const Finished solved = wallheat(run({"--max-attempts", "1"}));
  EXPECT_EQ(solved.status, 3) << solved.err;
  const ResultReader reader(directory_ / "results.h5");
  EXPECT_THAT(reader.rows()[0].error,
              AllOf(HasSubstr("00001_source.npy"), HasSubstr("its shape 20 x 21 differs")));
  EXPECT_THAT(reader.rows()[1].error,
              AllOf(HasSubstr("00002_source.npy"), HasSubstr("row 3, column 4 is NaN")));
  EXPECT_THAT(reader.rows()[2].error, HasSubstr("00003_source.npy: no such file"));
  EXPECT_EQ(reader.rows()[3].status, PlanStatus::converged);
  // A pack leaves them out, with the same reasons.
  const Finished packed = wallheat({"pack", "--data", path("plans"), "--out", path("plans.h5")});
  EXPECT_THAT(packed.out + packed.err,
              AllOf(HasSubstr("00001_source.npy"), HasSubstr("00002_source.npy")));
}

TEST_F(Wallheat, compares_its_solvers) {
  const Words few{"bench", "--solvers", "--plans", "1", "--size", "64", "--repeat", "1"};
  EXPECT_THAT(wallheat(few).out, AllOf(HasSubstr("jacobi"), HasSubstr("fastforward"),
                                       HasSubstr("steady"), HasSubstr("bound")));
  Words json = few;
  json.push_back("--json");
  EXPECT_THAT(wallheat(json).out,
              AllOf(HasSubstr("\"error_bound\""), HasSubstr("\"times_as_fast\"")));
  const Finished wrong = wallheat({"bench", "--solver", "steady"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--solvers shows all"));
}

TEST_F(Wallheat, solves_the_tasks_of_a_job_array_into_parts_that_make_the_whole) {
  generate(7, 40);
  ASSERT_EQ(wallheat(run()).status, 0);
  const auto in_array = [&](const Words& variables) {
    Words words{"env"};
    words.insert(words.end(), variables.begin(), variables.end());
    const Words rest = command(run({}, "array.h5"));
    words.insert(words.end(), rest.begin(), rest.end());
    return run_program(words);
  };
  for (int task = 0; task < 3; ++task) {
    const Finished part =
        in_array({"SLURM_ARRAY_TASK_ID=" + std::to_string(5 + 2 * task), "SLURM_ARRAY_TASK_MIN=5",
                  "SLURM_ARRAY_TASK_MAX=9", "SLURM_ARRAY_TASK_STEP=2", "SLURM_ARRAY_TASK_COUNT=3"});
    ASSERT_EQ(part.status, 0) << part.err;
  }
  const Finished merged =
      wallheat({"merge", "--out", path("slurm.h5"), path("array.part-1-of-3.h5"),
                path("array.part-2-of-3.h5"), path("array.part-3-of-3.h5")});
  ASSERT_EQ(merged.status, 0) << merged.err;
  EXPECT_THAT(merged.out, HasSubstr("7 of 7, 0 missing, 0 duplicates, 0 conflicts"));
  EXPECT_EQ(answers("slurm.h5"), answers());

  // LSF does not tell how many jobs an array has: its job script does.
  for (const std::string task : {"1", "2"})
    ASSERT_EQ(wallheat(run({"--shard", task + "/2"}, "array.h5")).status, 0);
  ASSERT_EQ(wallheat({"merge", "--out", path("lsf.h5"), path("array.part-1-of-2.h5"),
                      path("array.part-2-of-2.h5")})
                .status,
            0);
  EXPECT_EQ(answers("lsf.h5"), answers());
}

TEST_F(Wallheat, ends_in_good_time_before_its_limit_and_goes_on_later) {
  // The rooms of 00001 take minutes, a plan without rooms no time.
  generate(1, 1000);
  save_floor_plan(directory_ / "plans", "wall", random_plan(8, 8, 0, 1));
  const Words endless{"--tolerance",
                      "1e-300",
                      "--max-iterations",
                      "1000000000",
                      "--exit-status-file",
                      path("status"),
                      "wall",
                      "00001"};
  const auto run_for = [&](Words more) {
    more.insert(more.end(), endless.begin(), endless.end());
    Finished finished = wallheat(run(more));
    EXPECT_THAT(finished.err, HasSubstr("the time limit"));
    EXPECT_EQ(file_text(directory_ / "status"), std::to_string(finished.status) + "\n");
    return finished;
  };
  const Finished stopped = run_for({"--time-limit", "5s"});
  EXPECT_EQ(stopped.status, 75) << stopped.err;
  EXPECT_EQ(wallheat({"status", path("results.h5")}).status, 75);

  // A job that submits itself again while there is work left would do so for ever.
  const Finished hopeless = run_for({"--time-limit", "3s", "--resume"});
  EXPECT_EQ(hopeless.status, 1) << hopeless.err;
  EXPECT_THAT(hopeless.err, AllOf(HasSubstr("plan 00001 (started 2 time(s)) had"),
                                  HasSubstr("and needs about"), HasSubstr("--time-limit")));
  const auto rows = ResultReader(directory_ / "results.h5").rows();
  EXPECT_EQ(rows.at(1).status, PlanStatus::pending);
  EXPECT_EQ(rows.at(1).attempts, 2) << "kept from session to session";
}

TEST_F(Wallheat, lets_no_clock_that_is_set_end_a_run_early) {
  generate(3, 32);
  // In the program, the clock on the wall jumps a day ahead each time that it is looked at.
  std::filesystem::copy_file(WALLHEAT_JUMPING_CLOCK,
                             path("clock.so"));  // LD_PRELOAD ends at a blank
  Words words{"env", "LD_PRELOAD=" + path("clock.so"),
              "ASAN_OPTIONS=verify_asan_link_order=0"};  // the sanitizer wants to come first
  const Words with_limit = command(run({"--time-limit", "1h"}));
  words.insert(words.end(), with_limit.begin(), with_limit.end());
  const Finished finished = run_program(words);
  EXPECT_EQ(finished.status, 0) << finished.err;
  const auto attributes = ResultReader(directory_ / "results.h5").sessions().at(0);
  EXPECT_NE(attributes.at("started_utc").substr(0, 10), attributes.at("ended_utc").substr(0, 10))
      << "the clock did jump";
}

// An event log that is a pipe is waited for: a start that takes as long as a test wants.

TEST_F(Wallheat, that_is_stopped_before_a_plan_could_start_fails_and_says_why) {
  generate(2, 32);
  ASSERT_EQ(::mkfifo(path("events").c_str(), 0600), 0);
  Process process(command(run({"--events", path("events")})));
  wait_until("a sign of life", [&] { return std::filesystem::exists(path("results.h5.status")); });
  const Finished look = wallheat({"status", path("results.h5")});
  EXPECT_EQ(look.status, 75) << look.err;
  EXPECT_THAT(look.out, AllOf(HasSubstr("being written"), HasSubstr("starting")));
  EXPECT_THAT(wallheat(run()).err, HasSubstr("is being written by process"));
  process.signal(SIGUSR1);
  const std::ifstream reader(path("events"));
  EXPECT_EQ(process.wait(), 1) << "a job script would start the same again for ever";
  EXPECT_THAT(process.err(), AllOf(HasSubstr("stop before any plan could start"),
                                   HasSubstr("--time-limit"), HasSubstr("--resume")));
  EXPECT_FALSE(std::filesystem::exists(path("results.h5.status")));
  EXPECT_EQ(wallheat(run({"--resume"})).status, 0);
}

TEST_F(Wallheat, gives_signs_of_life_while_it_starts) {
  generate(2, 32);
  ASSERT_EQ(::mkfifo(path("events").c_str(), 0600), 0);
  Process process(command(run({"--events", path("events")})));
  const auto stamp = [&] {
    std::error_code missing;
    return std::filesystem::last_write_time(path("results.h5.status"), missing);
  };
  wait_until("a sign of life", [&] { return std::filesystem::exists(path("results.h5.status")); });
  const auto first = stamp();
  wait_until("another", [&] { return stamp() != first; });
  const std::ifstream reader(path("events"));
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(Wallheat, needs_no_more_open_files_than_its_hard_limit_allows) {
  generate(2, 32);
  const Finished finished = run_script(directory_.path(), program,
                                       "ulimit -Sn 8; wallheat run --data plans --out results.h5");
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(Wallheat, gives_up_a_plan_at_which_signals_stop_one_session_after_the_other) {
  generate(1, 200);
  for (int session = 1; session <= 3; ++session) {
    Process process(command(run({"--tolerance", "0", "--max-iterations", "1000000000", "--resume",
                                 "--events", path("events")})));
    wait_until("a start", [&] { return event_seen("start"); });
    std::filesystem::remove(directory_ / "events");
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), session < 3 ? 75 : 1) << process.err();
  }
}

TEST_F(Wallheat, gives_up_a_plan_that_failed_too_often_until_it_is_told_otherwise) {
  generate(3, 40);
  std::filesystem::rename(path("plans/00002_domain.npy"), path("away"));
  EXPECT_EQ(wallheat(run({"--max-attempts", "2"})).status, 3);
  EXPECT_THAT(wallheat(run({"--max-attempts", "2", "--resume"})).err,
              HasSubstr("solved 0, failed 1"));
  const Finished given_up = wallheat(run({"--max-attempts", "2", "--resume"}));
  EXPECT_EQ(given_up.status, 3);
  EXPECT_THAT(given_up.err, AllOf(HasSubstr("given up earlier 1"), HasSubstr("--retry-failed")));
  std::filesystem::rename(path("away"), path("plans/00002_domain.npy"));
  EXPECT_EQ(wallheat(run({"--max-attempts", "2", "--resume", "--retry-failed"})).status, 0);
}

TEST_F(Wallheat, explains_each_command) {
  for (const std::string name :
       {"run", "status", "merge", "repair", "verify", "export", "summary", "list", "compare",
        "scaling", "solve", "generate", "devices", "bench"}) {
    const Finished help = wallheat({name, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, StartsWith("Usage: wallheat " + name));
    EXPECT_THAT(wallheat({"--help"}).out, HasSubstr("  " + name + " "));
  }
  EXPECT_THAT(wallheat({"devices"}).out,
              AllOf(HasSubstr("cores"), HasSubstr("instruction sets"), HasSubstr("GPUs")));
}

TEST_F(Wallheat, leaves_a_file_that_other_tools_open_without_ceremony) {
  generate(3, 40);
  ASSERT_EQ(wallheat(run({"--save-fields"})).status, 0);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "results.h5.wal"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "results.h5.lock"));
  const Finished dump = run_program({"h5dump", "-H", path("results.h5")});
  if (dump.status == 127) GTEST_SKIP() << "h5dump is not installed (hdf5-tools)";
  EXPECT_EQ(dump.status, 0) << dump.err;
  EXPECT_THAT(dump.out, AllOf(HasSubstr("DATASET \"rows\""), HasSubstr("mean_temp")));
  EXPECT_EQ(run_program({"h5ls", "-r", path("results.h5")}).status, 0);
}

}  // namespace
}  // namespace wallheat
