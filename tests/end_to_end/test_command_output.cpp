#include <fstream>

#include "support/shell_test.hpp"
#include "view/json.hpp"

// What a new user meets: the last lines of a run, odd names, narrow terminals, no GPU.

namespace wallheat {
namespace {

class CommandOutputTest : public ShellTest {
 protected:
  const std::string run = "wallheat run --data plans --out results.h5 ";
};

TEST_F(CommandOutputTest, IsValidJsonForIdWithInvalidUtf8) {
  generate(1);
  const std::string id = "Z\xfcrich";  // Latin-1
  for (const std::string file : {"_domain.npy", "_interior.npy"})
    std::filesystem::rename(path("plans/00001" + file), path("plans/" + id + file));
  std::filesystem::remove(path("plans/building_ids.txt"));
  EXPECT_THAT(shell(run).err, HasSubstr("has no building_ids.txt: its 1 *_domain.npy are taken"));
  const std::string shown = "Z\xef\xbf\xbdrich";  // U+FFFD, the replacement character
  for (const auto& [words, expected] : {
           std::pair{std::string("run --data plans --out new.h5 --check"), std::string("plans")},
           {"list results.h5", shown},
           {"solve " + id + " --data plans", shown},
           {"devices", "instruction_sets"},
       }) {
    const std::string output = shell("wallheat " + words + " --json").out;
    EXPECT_TRUE(Json::accept(output)) << words << ": " << output;
    EXPECT_THAT(output, HasSubstr(expected)) << words;
  }
}

TEST_F(CommandOutputTest, EndsWithResultFileBeforeNextCommand) {
  generate(3);
  const std::string told = shell(run).err;
  const std::size_t file = told.find("the results are in results.h5");
  EXPECT_LT(told.find("restored 0, solved 3, failed 0 in "), file);
  EXPECT_LT(file, told.find("next: "));
  EXPECT_THAT(told, EndsWith("next: wallheat summary results.h5\n"));

  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  EXPECT_THAT(shell(run + "--overwrite", 3).err,
              HasSubstr("next: mend the input of the failed plans ('wallheat summary"));
  EXPECT_THAT(shell(run + "--overwrite --time-limit 1", 1).err,
              AllOf(HasSubstr("give a longer --time-limit"), Not(HasSubstr("stopping in -"))));
}

TEST_F(CommandOutputTest, ReportsMissingGpuWithoutDriverMessage) {
  EXPECT_THAT(
      shell("CUDA_VISIBLE_DEVICES= wallheat devices").out,
      testing::AnyOf(HasSubstr(" no GPU here\n"), HasSubstr("this wallheat was built without")));
}

TEST_F(CommandOutputTest, EscapesControlCharactersOfIds) {
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

TEST_F(CommandOutputTest, FitsIntoNarrowTerminal) {
  generate(30);
  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  for (const unsigned short width : {60, 120}) {
    const auto fits = [&](const std::string& line) { return columns_of(line) <= width; };
    for (const std::string command :
         {"run --data plans --out results.h5 --overwrite", "status results.h5",
          "summary results.h5", "devices", "help", "help run"}) {
      const auto lines = at_terminal(width, "wallheat " + command);
      EXPECT_GT(lines.size(), 3U) << command;
      EXPECT_THAT(lines, Each(testing::Truly(fits))) << command << " at " << width;
    }
  }
  auto lines = at_terminal(60, run + "--overwrite --progress bar");
  EXPECT_THAT(lines, Contains(HasSubstr("solved 29")));
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("["); });
  const auto fits = [](const std::string& line) { return columns_of(line) < 60; };
  EXPECT_THAT(lines, Each(testing::Truly(fits))) << "the last column may wrap";
}

}  // namespace
}  // namespace wallheat
