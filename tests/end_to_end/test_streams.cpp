#include <gmock/gmock.h>

#include "store/results/result_store.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"

// Nobody may be there to hear what a run says: a full disk, a held terminal, a closed stream.

namespace wallheat {
namespace {

using testing::HasSubstr;
using testing::Not;

class Streams : public testing::Test {
 protected:
  Streams() {
    EXPECT_EQ(shell("wallheat generate --out plans --count 5 --size 32 > out").status, 0);
  }
  [[nodiscard]] Finished shell(const std::string& script) const {
    return run_script(directory_.path(), WALLHEAT_PROGRAM, script);
  }
  TemporaryDirectory directory_;
};

TEST_F(Streams, fail_a_run_at_once_though_stderr_cannot_be_written) {
  EXPECT_EQ(shell("wallheat run --data plans --out nowhere/x.h5 2> /dev/full").status, 1);
  EXPECT_EQ(shell("wallheat run --data plans 2> /dev/full").status, 2);
  EXPECT_EQ(shell("wallheat summary nowhere.h5 2> /dev/full").status, 1);
  EXPECT_EQ(shell("wallheat merge --out all.h5 nowhere.h5 2> /dev/full").status, 1);
}

TEST_F(Streams, let_a_run_finish_though_stderr_cannot_be_written) {
  EXPECT_EQ(shell("wallheat run --data plans --out results.h5 2> /dev/full").status, 0);
  EXPECT_TRUE(ResultReader(directory_ / "results.h5").closed_well());
  EXPECT_EQ(shell("wallheat export results.h5 > /dev/full").status, 1) << "that was the work";
}

TEST_F(Streams, are_not_mixed_up_with_files_where_one_is_closed) {
  const Finished finished =
      shell("wallheat run --data plans --out results.h5 --events events >&- 2>&- <&-; echo $?");
  EXPECT_EQ(finished.out, "0\n");
  EXPECT_THAT(file_text(directory_ / "events"), Not(HasSubstr("rank 0")));
  EXPECT_TRUE(ResultReader(directory_ / "results.h5").closed_well());
}

TEST_F(Streams, do_not_hold_up_a_run_where_nobody_reads_them) {
  // A pipe that is full, as behind a pager or a terminal that is held. The run must close its file
  // before anything is read; only then is the pipe emptied, so that the process can end.
  const Finished finished = shell(R"(
    mkfifo held; exec 3<> held
    dd if=/dev/zero of=held bs=4096 oflag=nonblock status=none 2> /dev/null
    wallheat run --data plans --out results.h5 --progress bar 2> held & run=$!
    until [ -e results.h5 ] && [ ! -e results.h5.lock ] && wallheat export results.h5 > csv 2> out
    do :; done
    cat <&3 > said & reader=$!
    wait $run; echo "status $?"; kill $reader; wc -l < csv)");
  EXPECT_EQ(finished.out, "status 0\n6\n") << finished.err;
}

}  // namespace
}  // namespace wallheat
