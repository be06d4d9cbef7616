#include <gmock/gmock.h>

#include <fstream>

#include "store/results/result_store.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"
#include "support/terminal.hpp"
#include "view/json.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/floor_plan_files.hpp"

// What a new user meets: help, slips of the finger, narrow terminals, and the last lines of a run.

namespace wallheat {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

class NewUser : public testing::Test {
 protected:
  static Finished wallheat(Words words) {
    words.insert(words.begin(), WALLHEAT_PROGRAM);
    return run_program(words);
  }
  static Words at_terminal(unsigned short width, Words words) {
    words.insert(words.begin(), WALLHEAT_PROGRAM);
    return lines_at_terminal(width, words);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  void generate(int count) {
    const Finished made = wallheat(
        {"generate", "--out", path("plans"), "--count", std::to_string(count), "--size", "32"});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  [[nodiscard]] Words run(const Words& more = {}) const {
    Words words{"run", "--data", path("plans"), "--out", path("results.h5")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  TemporaryDirectory directory_;
};

TEST_F(NewUser, is_told_the_command_that_was_meant) {
  const Finished misspelt = wallheat({"sumary", "results.h5"});
  EXPECT_EQ(misspelt.status, 2);
  EXPECT_EQ(
      misspelt.err,
      "wallheat: there is no command 'sumary'; did you mean 'summary'? see 'wallheat help'\n");
  EXPECT_THAT(wallheat({"help", "rnu"}).err, HasSubstr("did you mean 'run'?"));
  EXPECT_EQ(wallheat({}).status, 2);
}

TEST_F(NewUser, finds_help_and_version_in_every_usual_way) {
  EXPECT_EQ(wallheat({"help", "run"}).out, wallheat({"run", "--help"}).out);
  EXPECT_THAT(wallheat({"help", "run"}).out, StartsWith("Usage: wallheat run"));
  EXPECT_EQ(wallheat({"help"}).out, wallheat({"--help"}).out);
  EXPECT_EQ(wallheat({"version"}).out, wallheat({"--version"}).out);
  EXPECT_EQ(wallheat({"version"}).status, 0);
}

TEST_F(NewUser, is_told_what_an_argument_too_many_could_be) {
  EXPECT_THAT(wallheat({"generate", "plans"}).err,
              AllOf(HasSubstr("--out is missing"), HasSubstr("did you mean --out plans?")));
  EXPECT_THAT(wallheat({"summary", "a.h5", "b.h5"}).err,
              AllOf(HasSubstr("'b.h5' stands without"), Not(HasSubstr("missing"))));
  EXPECT_THAT(wallheat({"merge", "a.h5", "b.h5"}).err,
              AllOf(HasSubstr("--out is missing"), Not(HasSubstr("stand"))));
  EXPECT_THAT(wallheat({"verify"}).err, HasSubstr("FILE and --data are missing"));
  EXPECT_THAT(wallheat({"solve"}).err, HasSubstr("ID and --data are missing"));
}

TEST_F(NewUser, runs_a_directory_without_a_list_and_is_told_so) {
  generate(3);
  std::filesystem::remove(directory_ / "plans/building_ids.txt");
  const Finished solved = wallheat(run());
  EXPECT_EQ(solved.status, 0);
  EXPECT_THAT(solved.err, AllOf(HasSubstr("has no building_ids.txt: its 3 *_domain.npy are taken"),
                                HasSubstr("solved 3")));
  const Finished packed = wallheat({"pack", "--data", path("plans"), "--out", path("plans.h5")});
  EXPECT_EQ(packed.status, 0);
  EXPECT_THAT(packed.err, HasSubstr("no building_ids.txt"));
}

TEST_F(NewUser, gets_json_of_every_command_also_of_an_id_that_is_no_utf8) {
  generate(1);
  const std::string id = "Z\xfcrich";  // Latin-1
  for (const std::string file : {"_domain.npy", "_interior.npy"})
    std::filesystem::rename(path("plans/00001" + file), path("plans/" + id + file));
  std::filesystem::remove(path("plans/building_ids.txt"));
  ASSERT_EQ(wallheat(run()).status, 0);
  const std::string plans = path("plans");
  const std::string results = path("results.h5");
  const std::string shown = "Z\xef\xbf\xbdrich";  // U+FFFD, the replacement character
  const std::vector<std::pair<Words, std::string>> commands{
      {{"run", "--data", plans, "--out", path("new.h5"), "--check"}, plans},
      {{"summary", results}, shown},
      {{"list", results}, shown},
      {{"status", results}, results},
      {{"verify", results, "--data", plans}, results},
      {{"compare", results, results}, results},
      {{"report", results}, shown},
      {{"scaling", "--replay", results}, results},
      {{"solve", id, "--data", plans}, shown},
      {{"profile", id, "--data", plans}, shown},
      {{"pack", "--data", plans, "--out", path("pack.h5")}, path("pack.h5")},
      {{"merge", "--out", path("merged.h5"), results}, path("merged.h5")},
      {{"repair", results}, results},
      {{"generate", "--out", path("more"), "--count", "1", "--size", "16"}, path("more")},
      {{"devices"}, "instruction_sets"}};
  for (const auto& [words, expected] : commands) {
    Words with_json = words;
    with_json.emplace_back("--json");
    const Finished said = wallheat(with_json);
    EXPECT_EQ(said.status, 0) << words.front() << ": " << said.err;
    EXPECT_TRUE(Json::accept(said.out)) << words.front() << ": " << said.out;
    EXPECT_THAT(said.out, HasSubstr(expected)) << words.front();
  }
}

TEST_F(NewUser, sees_the_result_the_file_and_the_next_command_last) {
  generate(3);
  const Finished good = wallheat(run());
  const std::size_t result = good.err.find("restored 0, solved 3, failed 0 in ");
  const std::size_t file = good.err.find("the results are in " + path("results.h5"));
  const std::size_t next = good.err.find("next: wallheat summary " + path("results.h5") + "\n");
  EXPECT_LT(result, file);
  EXPECT_LT(file, next);
  EXPECT_EQ(good.err.find('\n', next), good.err.size() - 1) << "the last line";

  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  EXPECT_THAT(wallheat(run({"--overwrite"})).err,
              HasSubstr("next: mend the input of the failed plans ('wallheat summary"));
}

TEST_F(NewUser, is_told_that_a_time_limit_is_too_short) {
  generate(2);
  const Finished stopped = wallheat(run({"--time-limit", "1"}));
  EXPECT_EQ(stopped.status, 1) << "with 75 a job would submit itself again for ever";
  EXPECT_THAT(stopped.err,
              AllOf(HasSubstr("give a longer --time-limit"), Not(HasSubstr("stopping in -"))));
  EXPECT_EQ(wallheat(run({"--resume", "--time-limit", "1:00:00"})).status, 0);
}

TEST_F(NewUser, does_not_lose_plans_that_have_no_list_to_generated_ones) {
  generate(2);
  std::filesystem::remove(directory_ / "plans/building_ids.txt");
  const std::string before = file_text(directory_ / "plans/00002_domain.npy");
  const Finished refused =
      wallheat({"generate", "--out", path("plans"), "--count", "3", "--size", "32", "--seed", "9"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("00001_domain.npy exists"), HasSubstr("--overwrite")));
  EXPECT_EQ(file_text(directory_ / "plans/00002_domain.npy"), before);
}

TEST_F(NewUser, is_told_how_to_resume_with_other_settings) {
  generate(2);
  ASSERT_EQ(wallheat(run()).status, 0);
  const Finished refused = wallheat(run({"--resume", "--tolerance", "0.5"}));
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("tolerance: the file has 0.0001, this run 0.5"),
                    HasSubstr("give those of the file, or name another file with --out")));
}

TEST_F(NewUser, draws_into_files_that_are_named_as_what_they_are) {
  generate(1);
  const Finished drawn =
      wallheat({"solve", "00001", "--data", path("plans"), "--png", path("plan.jpg")});
  EXPECT_EQ(drawn.status, 2);
  EXPECT_THAT(drawn.err, HasSubstr("name a file that ends in .png"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "plan.jpg"));
  EXPECT_EQ(wallheat({"solve", "00001", "--data", path("plans"), "--png", path("plan.PNG")}).status,
            0);
}

TEST_F(NewUser, is_warned_of_a_plan_in_kelvin) {
  generate(2);
  FloorPlan plan = load_floor_plan(directory_ / "plans", "00002");
  for (double& value : plan.domain.cells) value += 273.15;
  save_floor_plan(directory_ / "plans", "00002", plan);
  const Finished solved = wallheat(run());
  EXPECT_EQ(solved.status, 0);
  EXPECT_THAT(solved.err,
              AllOf(HasSubstr("plan 00002 has a mean temperature of 2"), HasSubstr("hardly °C")));
}

TEST_F(NewUser, is_told_that_there_is_no_gpu_and_not_what_a_driver_says) {
  const Finished devices =
      run_program({"env", "CUDA_VISIBLE_DEVICES=", WALLHEAT_PROGRAM, "devices"});
  EXPECT_THAT(devices.out, testing::AnyOf(HasSubstr("not used: no GPU here\n"),
                                          HasSubstr("not used: this wallheat was built without")));
}

TEST_F(NewUser, sees_a_short_summary_of_any_temperatures) {
  generate(5);
  FloorPlan plan = load_floor_plan(directory_ / "plans", "00003");
  for (double& value : plan.domain.cells) value *= 1e16;
  save_floor_plan(directory_ / "plans", "00003", plan);
  ASSERT_EQ(wallheat(run()).status, 0);
  const Finished summary = wallheat({"summary", path("results.h5")});
  EXPECT_EQ(summary.status, 0);
  EXPECT_LT(std::count(summary.out.begin(), summary.out.end(), '\n'), 45);
  const std::string outliers = summary.out.substr(summary.out.find("far from the others"));
  EXPECT_THAT(outliers.substr(0, outliers.find("slowest")), HasSubstr("00003"));
}

TEST_F(NewUser, does_not_get_control_characters_of_an_id_onto_the_terminal) {
  generate(1);
  std::ofstream(directory_ / "ids.txt") << "00001\nx\x1b[2Jy\nx\x1b[2Jy\n";
  const Finished solved = wallheat(run({"--ids", path("ids.txt")}));
  EXPECT_EQ(solved.status, 3);
  EXPECT_THAT(solved.err, AllOf(HasSubstr("x\\x1b[2Jy"), Not(HasSubstr("\x1b"))));
  const Finished packed = wallheat(
      {"pack", "--data", path("plans"), "--ids", path("ids.txt"), "--out", path("plans.h5")});
  EXPECT_THAT(packed.err, AllOf(HasSubstr("x\\x1b[2Jy"), Not(HasSubstr("\x1b"))));
  const Finished one = wallheat({"solve", "x\x1b[2Jy", "--data", path("plans")});
  EXPECT_THAT(one.err, AllOf(HasSubstr("x\\x1b[2Jy"), Not(HasSubstr("\x1b"))));
}

TEST_F(NewUser, reads_everything_at_a_narrow_terminal) {
  generate(30);
  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  for (const unsigned short width : {60, 80, 120}) {
    const auto fits = [&](const std::string& line) { return columns(line) <= width; };
    const std::vector<Words> commands = {run({"--overwrite"}),
                                         {"status", path("results.h5")},
                                         {"summary", path("results.h5")},
                                         {"devices"},
                                         {"help"},
                                         {"help", "run"},
                                         {"help", "merge"},
                                         {"help", "verify"}};
    for (const Words& command : commands) {
      const Words lines = at_terminal(width, command);
      EXPECT_GT(lines.size(), 3U) << command.front();
      EXPECT_THAT(lines, Each(testing::Truly(fits))) << command.front() << " at " << width;
    }
  }
}

TEST_F(NewUser, sees_one_progress_bar_at_a_narrow_terminal) {
  generate(30);
  Words lines = at_terminal(60, run({"--progress", "bar"}));
  EXPECT_THAT(lines, Contains(HasSubstr("solved 30")));
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("["); });
  const auto fits = [](const std::string& line) { return columns(line) < 60; };
  EXPECT_THAT(lines, Each(testing::Truly(fits))) << "the last column may wrap";
}

}  // namespace
}  // namespace wallheat
