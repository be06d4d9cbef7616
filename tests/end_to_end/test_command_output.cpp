#include <fstream>

#include "support/shell_test.hpp"
#include "view/json.hpp"

// Output of commands: the last lines of a run, unusual IDs, narrow terminals, no GPU.

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
  EXPECT_THAT(lines_of(shell(run).err), Contains(Mentions({"building_ids.txt", "1"})));
  const std::string shown = "Z\xef\xbf\xbdrich";  // U+FFFD, the replacement character
  for (const auto& [arguments, expected] : {
           std::pair{std::string("run --data plans --out new.h5 --check"), std::string("plans")},
           {"list results.h5", shown},
           {"solve " + id + " --data plans", shown},
           {"devices", "instruction_sets"},
       }) {
    const std::string output = shell("wallheat " + arguments + " --json").out;
    EXPECT_TRUE(Json::accept(output)) << arguments << ": " << output;
    EXPECT_THAT(output, HasSubstr(expected)) << arguments;
  }
}

TEST_F(CommandOutputTest, EndsWithResultFileBeforeNextCommand) {
  generate(3);
  const auto lines = lines_of(shell(run).err);
  ASSERT_GT(lines.size(), 3U);
  EXPECT_THAT(std::vector(lines.end() - 3, lines.end()),
              ElementsAre(Mentions({"solved 3", "failed 0"}), Mentions("results.h5"),
                          EndsWith(" wallheat summary results.h5")));

  std::ofstream(directory_ / "plans/00002_domain.npy") << "not an array";
  EXPECT_THAT(shell(run + "--overwrite", 3).err,
              Mentions({"wallheat summary results.h5", "--resume", "--retry-failed"}));
  EXPECT_THAT(shell(run + "--overwrite --time-limit 1", 1).err,
              AllOf(Mentions({"--time-limit", "--resume"}), Not(HasSubstr(" in -"))));
}

TEST_F(CommandOutputTest, ReportsMissingGpuWithoutDriverMessage) {
  const std::string devices = "CUDA_VISIBLE_DEVICES= wallheat devices ";
  const std::string reason = Json::parse(shell(devices + "--json").out)["no_gpu"];
  EXPECT_THAT(reason, AllOf(testing::AnyOf(Mentions("GPU"), Mentions("CUDA")),
                            Not(Mentions("driver")), Not(Mentions("CUDA-capable"))));
  EXPECT_THAT(shell(devices).out, HasSubstr(reason + "\n"));
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
    const Finished printed = shell("wallheat " + command + " results.h5 || true");
    EXPECT_THAT(printed.out + printed.err, AllOf(HasSubstr("x\\x1b[2Jy"), Not(HasSubstr("\x1b"))))
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
  EXPECT_THAT(lines, Contains(Mentions("solved 29")));
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("["); });
  const auto fits = [](const std::string& line) { return columns_of(line) < 60; };
  EXPECT_THAT(lines, Each(testing::Truly(fits))) << "the last column may wrap";
}

}  // namespace
}  // namespace wallheat
