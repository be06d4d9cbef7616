#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "isolation/command_process.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"

namespace wallheat {
namespace {

SolverCommand shell_command(const std::string& script, const std::string& argument = "") {
  SolverCommand command;
  command.words = {"sh", "-c", script, argument};
  return command;
}

TEST(CommandProcessTest, TakesNoReplyFromWhatFollowsTooLongLine) {
  const TemporaryDirectory directory;
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), S_IRUSR | S_IWUSR), 0);
  // The last two lines fill the pipe twice, so everything before them has been read when the
  // program opens the FIFO.
  CommandProcess process(
      shell_command("echo '{\"ready\": true}'\n"
                    "line() { head -c \"$1\" /dev/zero | tr '\\0' x; }\n"
                    "line 100000; echo\n"
                    "echo '{\"done\": true}'\n"
                    "line 65536\n"
                    "line 65536\n"
                    "echo > \"$0\"\n"
                    "read -r request",
                    fifo));
  EXPECT_EQ(process.receive(), "{\"ready\": true}");
  std::string all_is_read;
  std::getline(std::ifstream(fifo), all_is_read);
  EXPECT_THAT([&] { (void)process.receive(); },
              testing::ThrowsMessage<BrokenProgram>(Mentions("65536")));
}

TEST(CommandProcessTest, RefusesRequestWhileReplyToEarlierRequestIsWaiting) {
  CommandProcess process(shell_command(
      "echo '{\"ready\": true}'; read -r request\n"
      "printf '{\"progress\": 1}\\n{\"done\": true}\\n{\"done\": true}\\n'; read -r request"));
  EXPECT_EQ(process.receive(), "{\"ready\": true}");
  process.send("1", "a request\n");
  EXPECT_EQ(process.receive(), "{\"progress\": 1}");
  EXPECT_EQ(process.receive(), "{\"done\": true}");
  EXPECT_THAT([&] { process.send("2", "the next request\n"); },
              testing::ThrowsMessage<BrokenProgram>(Mentions({"replies", "requests"})));
}

TEST(CommandProcessTest, LimitsStartOfProgram) {
  CommandProcess process(shell_command("read -r request"));
  EXPECT_THAT([&] { (void)process.receive(std::chrono::seconds(0)); },
              testing::ThrowsMessage<BrokenProgram>(Mentions({"ready", "0 s"})));
}

TEST(CommandProcessTest, LogsOutputWithIdOfPlanThatPrintedIt) {
  constexpr int plans = 40;  // fewer lines than the forwarder limits
  testing::internal::CaptureStderr();
  {
    CommandProcess process(shell_command(
        "echo '{\"ready\": true}'; while read -r id; do echo \"wall of $id\" >&2; echo '{\"done\": "
        "true}'; done"));
    (void)process.receive();
    for (int plan = 0; plan < plans; ++plan) {
      process.send(std::to_string(plan), std::to_string(plan) + "\n");
      (void)process.receive();
    }
  }
  const std::string log = testing::internal::GetCapturedStderr();
  for (int plan = 0; plan < plans; ++plan)
    EXPECT_THAT(log, HasSubstr(fmt::format("plan {0}: wall of {0}\n", plan)));
}

TEST(CommandProcessTest, ReportsThatProgramOfShellIsMissing) {
  CommandProcess process(shell_command("./absent"));
  EXPECT_THAT([&] { (void)process.receive(); },
              testing::ThrowsMessage<ProgramNotStartable>(Mentions({"absent", "ready"})));
}

TEST(OutputForwarder, LogsOrCountsEachLine) {
  constexpr std::size_t lines = 200;
  OutputForwarder forwarder;
  testing::internal::CaptureStderr();
  for (std::size_t line = 1; line <= lines; ++line)
    forwarder.log("line " + std::to_string(line), true);
  EXPECT_EQ(forwarder.finish(), "line 200");
  std::istringstream log(testing::internal::GetCapturedStderr());
  std::size_t logged = 0;
  std::size_t omitted = 0;
  for (std::string line; std::getline(log, line);) {
    std::size_t count = 0;
    if (std::sscanf(line.c_str(), "wallheat: solver command: %zu lines", &count) == 1)
      omitted += count;
    else
      ++logged;
  }
  EXPECT_EQ(logged + omitted, lines);
  EXPECT_LT(logged, 100U);
}

}  // namespace
}  // namespace wallheat
