#include <fstream>

#include "support/shell_test.hpp"
#include "view/json.hpp"
#include "wallheat/floor_plan.hpp"
#include "wallheat/floor_plan_files.hpp"

// What a new user meets: help, slips of the finger, narrow terminals, and the last lines of a run.

namespace wallheat {
namespace {

using Words = std::vector<std::string>;

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

class NewUser : public ShellTest {
 protected:
  const std::string run = "wallheat run --data plans --out results.h5 ";
};

TEST_F(NewUser, is_told_the_plan_that_was_meant_before_anything_is_written) {
  generate(3);
  shell(
      "python3 -m zipfile -c plans.zip plans/; wallheat run --data plans --out r.h5;"
      "printf '00002\\n0001\\n' > ids");
  const auto files = [&] { return shell("find . | sort").out; };
  const std::string before = files();
  for (const auto& [command, owner] : {
           std::pair{std::string("run 0001 --data plans --out x.h5"), std::string("plans")},
           {"run 00002 0001 --data plans --out x.h5", "plans"},
           {"run --ids ids --data plans --out x.h5", "plans"},
           {"run 1 --data plans.zip --out x.h5", "plans.zip"},
           {"run 0001 --data plans --out r.h5 --overwrite", "plans"},
           {"solve 1 --data plans --npy x.npy", "plans"},
           {"solve 0001 --data plans.zip --npy x.npy", "plans.zip"},
           {"bench --reference 0001 --data plans", "plans"},
           {"whatif 0001 --data plans --wall 25=22 --out x.csv", "plans"},
           {"need --ids ids --data plans --wall 25 --room-mean 18 --out x.csv", "plans"},
           {"plot r.h5 00002 0001 --data plans --out x.png", "r.h5"},
           {"plot r.h5 1 --data plans --minus r.h5 --out x.png", "r.h5"},
           {"export r.h5 --field 1 --out x.npy", "r.h5"},
       }) {
    const std::string id = command.find(" 1 ") != std::string::npos ? "1" : "0001";
    const std::string message = shell("wallheat " + command, 1).err;
    EXPECT_EQ(message, "wallheat: " + owner + " has no plan '" + id + "'; did you mean '00001'?\n")
        << command;
    EXPECT_EQ(files(), before) << command;
  }
  EXPECT_THAT(shell("wallheat run 0001 --data plans --out x.h5 --check", 1).out,
              HasSubstr("did you mean '00001'?"));
  // A plan that is there is one, though no list names it, and though it cannot be read.
  shell("mv plans/00003_domain.npy plans/other_domain.npy; echo > plans/00003_domain.npy");
  shell("mv plans/00003_interior.npy plans/other_interior.npy");
  shell("wallheat run other --data plans --out other.h5");
  EXPECT_THAT(shell("wallheat run 00003 --data plans --out other.h5 --overwrite", 3).err,
              HasSubstr("plan 00003 failed: plans/00003_"));
}

TEST_F(NewUser, is_told_what_is_no_result_file) {
  generate(1);
  shell("wallheat run --data plans --out r.h5; wallheat export r.h5 --out r.csv; mkdir empty");
  for (const std::string command :
       {"summary FILE", "list FILE", "export FILE -o x.xdmf", "trace FILE --out x",
        "verify FILE --data plans", "status FILE", "repair FILE", "plot r.h5 --minus FILE -o x.png",
        "compare FILE r.h5", "merge r.h5 FILE --out x.h5", "scaling FILE r.h5",
        "scaling --replay FILE"}) {
    for (const auto& [file, sentence] :
         {std::pair{std::string("plans"),
                    "plans is a folder of plans, not a result file; to make one of them: wallheat "
                    "run --data plans --out results.h5\n"},
          {"empty", "empty is a folder, not a result file; name a file\n"},
          {"r.csv",
           "r.csv is a CSV, which 'wallheat compare' takes alone; name the result file that it was "
           "made from\n"}}) {
      if (command.starts_with("compare") && file == "r.csv") continue;
      std::string line = command;
      line.replace(line.find("FILE"), 4, file);
      EXPECT_EQ(shell("wallheat " + line, 1).err, "wallheat: " + std::string(sentence)) << line;
    }
  }
  for (const std::string command : {"run --data plans --out FOLDER", "merge r.h5 --out FOLDER"})
    for (const std::string more : {"", " --overwrite"}) {
      std::string line = command + more;
      line.replace(line.find("FOLDER"), 6, "empty");
      EXPECT_THAT(shell("wallheat " + line, 1).err,
                  AllOf(HasSubstr("name another"), Not(HasSubstr("remove"))))
          << line;
    }
}

TEST_F(NewUser, is_told_what_was_meant) {
  for (const auto& [command, sentence] : {
           std::pair{"sumary results.h5",
                     "there is no command 'sumary'; did you mean 'summary'? "
                     "see 'wallheat help'\n"},
           {"help rnu", "did you mean 'run'?"},
           {"run --threads two",
            "--threads must be a whole number of at least 0, not 'two'; see "
            "'wallheat help run'\n"},
           {"generate plans",
            "--out is missing; 'plans' stands without the name of an option; see"},
           {"solve", "ID and --data are missing"},
           {"solve 00001 --data . --png plan.jpg", "name a file that ends in .png, .svg or .pdf"},
       })
    expect_refusal(command, 2, sentence);
}

TEST_F(NewUser, gets_json_of_every_command_also_of_an_id_that_is_no_utf8) {
  generate(1);
  const std::string id = "Z\xfcrich";  // Latin-1
  for (const std::string file : {"_domain.npy", "_interior.npy"})
    std::filesystem::rename(path("plans/00001" + file), path("plans/" + id + file));
  std::filesystem::remove(path("plans/building_ids.txt"));
  EXPECT_THAT(shell(run).err, HasSubstr("has no building_ids.txt: its 1 *_domain.npy are taken"));
  const std::string shown = "Z\xef\xbf\xbdrich";  // U+FFFD, the replacement character
  for (const auto& [words, expected] : {
           std::pair{std::string("run --data plans --out new.h5 --check"), std::string("plans")},
           {"summary results.h5", shown},
           {"list results.h5", shown},
           {"solve " + id + " --data plans", shown},
           {"verify results.h5 --data plans", "results.h5"},
           {"devices", "instruction_sets"},
       }) {
    const std::string output = shell("wallheat " + words + " --json").out;
    EXPECT_TRUE(Json::accept(output)) << words << ": " << output;
    EXPECT_THAT(output, HasSubstr(expected)) << words;
  }
}

TEST_F(NewUser, sees_the_result_the_file_and_the_next_command_last) {
  generate(3);
  const Finished good = shell(run);
  const std::size_t result = good.err.find("restored 0, solved 3, failed 0 in ");
  const std::size_t file = good.err.find("the results are in results.h5");
  const std::size_t next = good.err.find("next: wallheat summary results.h5\n");
  EXPECT_LT(result, file);
  EXPECT_LT(file, next);
  EXPECT_EQ(good.err.find('\n', next), good.err.size() - 1) << "the last line";

  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  EXPECT_THAT(shell(run + "--overwrite", 3).err,
              HasSubstr("next: mend the input of the failed plans ('wallheat summary"));
  EXPECT_THAT(shell(run + "--overwrite --time-limit 1", 1).err,
              AllOf(HasSubstr("give a longer --time-limit"), Not(HasSubstr("stopping in -"))));
}

TEST_F(NewUser, is_warned_of_a_plan_in_kelvin) {
  generate(2);
  FloorPlan plan = load_floor_plan(directory_ / "plans", "00002");
  for (double& value : plan.domain.cells) value += 273.15;
  save_floor_plan(directory_ / "plans", "00002", plan);
  EXPECT_THAT(shell(run).err,
              AllOf(HasSubstr("plan 00002 has a mean temperature of 2"), HasSubstr("hardly °C")));
}

TEST_F(NewUser, is_told_that_there_is_no_gpu_and_not_what_a_driver_says) {
  EXPECT_THAT(
      shell("CUDA_VISIBLE_DEVICES= wallheat devices").out,
      testing::AnyOf(HasSubstr(" no GPU here\n"), HasSubstr("this wallheat was built without")));
}

TEST_F(NewUser, does_not_get_control_characters_of_an_id_onto_the_terminal) {
  generate(1);
  std::ofstream(directory_ / "plans/building_ids.txt") << "00001\nx\x1b[2Jy\nx\x1b[2Jy\n";
  shell("cp plans/building_ids.txt ids.txt");
  for (const auto& [command, status] :
       {std::pair{run, 3},
        {"rm plans/building_ids.txt; " + run + "--overwrite --ids ids.txt", 1},
        {"wallheat solve $'x\\x1b[2Jy' --data plans", 1}})
    EXPECT_THAT(shell(command, status).err, AllOf(HasSubstr("x\\x1b[2Jy"), Not(HasSubstr("\x1b"))));
  for (const std::string command : {"status", "summary", "export"}) {
    const Finished shown = shell("wallheat " + command + " results.h5 || true");
    EXPECT_THAT(shown.out + shown.err, AllOf(HasSubstr("x\\x1b[2Jy"), Not(HasSubstr("\x1b"))))
        << command;
  }
}

TEST_F(NewUser, reads_everything_at_a_narrow_terminal) {
  generate(30);
  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  for (const unsigned short width : {60, 80, 120}) {
    const auto fits = [&](const std::string& line) { return columns(line) <= width; };
    for (const std::string command :
         {"run --data plans --out results.h5 --overwrite", "status results.h5",
          "summary results.h5", "devices", "help", "help run"}) {
      const Words lines = at_terminal(width, "wallheat " + command);
      EXPECT_GT(lines.size(), 3U) << command;
      EXPECT_THAT(lines, Each(testing::Truly(fits))) << command << " at " << width;
    }
  }
  Words lines = at_terminal(60, run + "--overwrite --progress bar");
  EXPECT_THAT(lines, Contains(HasSubstr("solved 29")));
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("["); });
  const auto fits = [](const std::string& line) { return columns(line) < 60; };
  EXPECT_THAT(lines, Each(testing::Truly(fits))) << "the last column may wrap";
}

}  // namespace
}  // namespace wallheat
