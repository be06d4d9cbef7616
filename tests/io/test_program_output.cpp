#include <string>

#include "io/child_process.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"

namespace wallheat {
namespace {

using namespace std::chrono_literals;

TEST(RunAndCapture, KillsProgramAfterLimit) {
  const auto output = run_and_capture({"sh", "-c", "echo begun; sleep 600; echo done"}, {}, {}, 1s);
  EXPECT_TRUE(output->timed_out);
  EXPECT_NE(output->status, 0);
  EXPECT_THAT(output->stdout_text, Not(HasSubstr("done")));
  EXPECT_FALSE(run_and_capture({"true"}, {}, {}, 1min)->timed_out);
}

TEST(RunWithTimeout, ReportsExitStatus) {
  EXPECT_EQ(run_with_timeout({"sh", "-c", "grep -q input"}, "its input\n", 1min), "");
  EXPECT_THAT(run_with_timeout({"sh", "-c", "exit 3"}, "", 1min), Mentions({"exit status", "3"}));
}

TEST(RunWithTimeout, ForwardsProgramOutput) {
  testing::internal::CaptureStderr();
  const std::string failure =
      run_with_timeout({"sh", "-c", "echo one; echo two >&2; seq -s ' ' 100000"}, "", 1min);
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_EQ(failure, "");
  EXPECT_THAT(output, StartsWith("one\ntwo\n1 2 3 "));
  EXPECT_THAT(output, EndsWith(" 99999 100000\n"));
}

class RunWithTimeoutBackgroundTest : public testing::Test {
 protected:
  void TearDown() override { ::kill(background(), SIGKILL); }
  /// Shell command that starts a background process and writes its process ID to file().
  [[nodiscard]] std::string command() const {
    return "sleep 10000 & echo $! > " + file().string() + ".new; mv " + file().string() + ".new " +
           file().string();
  }
  [[nodiscard]] std::filesystem::path file() const { return directory_ / "pid"; }
  [[nodiscard]] pid_t background() const { return std::stoi(file_text(file())); }
  [[nodiscard]] std::string line_of_status(const std::string& name) const {
    std::ifstream status("/proc/" + std::to_string(background()) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(name)) return line;
    return {};
  }

  TemporaryDirectory directory_;
};

TEST_F(RunWithTimeoutBackgroundTest, KillsWholeProcessGroupAfterTimeout) {
  // Doubles the limit until a busy machine has started the process in time.
  for (auto limit = 1s; !std::filesystem::exists(file()); limit *= 2)
    EXPECT_THAT(run_with_timeout({"sh", "-c", command() + "; wait"}, "", limit),
                Mentions(std::to_string(limit.count()) + " s"));
  wait_until("the end of the background process", [&] {
    const std::string state = line_of_status("State:");
    return state.empty() || state.find("zombie") != std::string::npos;
  });
}

TEST_F(RunWithTimeoutBackgroundTest, LeavesBackgroundProcessWithAllSignals) {
  EXPECT_EQ(run_with_timeout({"sh", "-c", command()}, "", 1min), "");
  EXPECT_EQ(line_of_status("SigBlk:"), "SigBlk:\t0000000000000000");
  EXPECT_NE(::getpgid(background()), ::getpgrp());
  EXPECT_EQ(::kill(background(), SIGTERM), 0);
}

}  // namespace
}  // namespace wallheat
