#include "store/result_store.hpp"
#include "support/shell_test.hpp"

// Standard streams that cannot be written: a full disk, a stopped terminal, a closed stream.

namespace wallheat {
namespace {

class StandardStreamsTest : public ShellTest {
 protected:
  StandardStreamsTest() { shell("wallheat generate --out plans --count 5 --size 32 > out"); }
};

TEST_F(StandardStreamsTest, KeepsErrorStatusWhenStderrIsFull) {
  shell("wallheat run --data plans --out nowhere/x.h5 2> /dev/full", 1);
  shell("wallheat run --data plans 2> /dev/full", 2);
  shell("wallheat summary nowhere.h5 2> /dev/full", 1);
  shell("wallheat merge --out all.h5 nowhere.h5 2> /dev/full", 1);
}

TEST_F(StandardStreamsTest, FinishesRunWhenStderrIsFull) {
  shell("wallheat run --data plans --out results.h5 2> /dev/full");
  EXPECT_TRUE(ResultReader(directory_ / "results.h5").closed_cleanly());
  shell("wallheat export results.h5 > /dev/full", 1);
}

// Makes descriptor 4 a pipe that can be written and whose reader has exited.
const std::string leave = "exec 3<> left 4> left 3>&-\n";

TEST_F(StandardStreamsTest, FinishesRunAfterReaderExits) {
  // Each rank has its own pipe, because mpirun itself need not survive the end of its reader.
  const Finished finished = shell("mkfifo left\n" + leave + R"(
    wallheat run --data plans --out results.h5 2>&4; echo $?
    mpirun -n 2 --oversubscribe bash -c ')" +
                                  leave + R"(
      exec "$0" run --data plans --out under.h5 2>&4' "$program"; echo $?)");
  EXPECT_EQ(finished.out, "0\n0\n") << finished.err;
  for (const char* file : {"results.h5", "under.h5"})
    EXPECT_TRUE(ResultReader(directory_ / file).closed_cleanly());
}

TEST_F(StandardStreamsTest, FinishesRunWhenEventLogIsFull) {
  const Finished finished = shell("wallheat run --data plans --out results.h5 --events /dev/full");
  auto messages = lines_of(finished.err);
  std::erase_if(messages, [](const auto& line) { return line.find("/dev/full") == line.npos; });
  EXPECT_THAT(messages, ElementsAre(Mentions("No space left on device")));
  EXPECT_TRUE(ResultReader(directory_ / "results.h5").closed_cleanly());
}

TEST_F(StandardStreamsTest, EndsCommandWithoutMessageAfterReaderExits) {
  const Finished finished = shell("mkfifo left\n" + leave + R"(
    wallheat run --data plans --out results.h5 --log-level off
    for arguments in help 'list results.h5' 'export results.h5' 'status results.h5' \
      'status --watch results.h5' 'monitor --interval 0.01'; do
      wallheat $arguments >&4 2> messages; echo $?; grep stdout messages
    done; true)");
  EXPECT_EQ(finished.out, "141\n141\n141\n141\n141\n141\n");
}

TEST_F(StandardStreamsTest, FailsCommandsWhenStdoutCannotBeWritten) {
  const Finished finished = shell(R"(
    wallheat run --data plans --out results.h5 --log-level off
    try() {
      "$program" "$@" > /dev/full 2> full; full=$?
      "$program" "$@" >&- 2> closed; closed=$?
      [ $full = 1 ] && [ $closed = 1 ] && grep -q '^wallheat: .*stdout' full &&
        grep -q '^wallheat: .*stdout' closed || echo "$full $closed $*"
    }
    # One function prints the reports of all commands.
    try help; try version; try run --help; try completion bash; try summary results.h5
    try summary results.h5 --json; try list results.h5 -f csv; try export results.h5
    try run --data plans --out new.h5 --check; try run --data plans --out new.h5 --print-out
    try status --watch results.h5; try monitor --samples 1 --interval 0.01; try repair results.h5
    try merge --overwrite --out all.h5 results.h5)");
  EXPECT_EQ(finished.out, "");
}

TEST_F(StandardStreamsTest, KeepsEventFileIntactWhenStreamsAreClosed) {
  EXPECT_EQ(
      shell("wallheat run --data plans --out results.h5 --events events >&- 2>&- <&-; echo $?").out,
      "0\n");
  EXPECT_THAT(bytes("events"), Not(HasSubstr("rank 0")));
  EXPECT_TRUE(ResultReader(directory_ / "results.h5").closed_cleanly());
}

TEST_F(StandardStreamsTest, FinishesRunWhenPipeIsFull) {
  // The pipe is full, as that to a pager or to a stopped terminal. The run must close its file
  // before anything is read. Only then is the pipe emptied, so that the process can end.
  const Finished finished = shell(R"(
    mkfifo held; exec 3<> held
    dd if=/dev/zero of=held bs=4096 oflag=nonblock status=none 2> /dev/null
    wallheat run --data plans --out results.h5 --progress bar 2> held & run=$!
    until [ -e results.h5 ] && [ ! -e results.h5.lock ] && wallheat export results.h5 > csv 2> out
    do :; done
    cat <&3 > messages & reader=$!
    wait $run; echo "status $?"; kill $reader; wc -l < csv)");
  EXPECT_EQ(finished.out, "status 0\n6\n") << finished.err;
}

}  // namespace
}  // namespace wallheat
