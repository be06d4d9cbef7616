#include "support/shell_test.hpp"

// Limits of the user, the process and the file system. Each message names the limit.

namespace wallheat {
namespace {

using ResourceLimitsTest = ShellTest;

TEST_F(ResourceLimitsTest, NamesLimitOfOpenFiles) {
  generate(2);
  EXPECT_THAT(shell("ulimit -n 8; wallheat run --data plans --out r.h5 --threads 1", 1).err,
              Mentions({"Too many open files", "8", "ulimit -n"}));
}

TEST_F(ResourceLimitsTest, NamesLimitOfMemory) {
  generate(2);
  EXPECT_THAT(shell("ulimit -v 60000; wallheat run --data plans --out r.h5 --threads 1", 1).err,
              Mentions({"61 MB", "ulimit -v"}));
}

TEST_F(ResourceLimitsTest, NamesLimitOfProcessorTime) {
  generate(1);
  const Finished failed = shell(
      "ulimit -t 2; wallheat run --data plans --out r.h5 --threads 1 --max-attempts 1 --tolerance "
      "0 "
      "--max-iterations 999999999999",
      3);
  EXPECT_THAT(failed.err, AllOf(Mentions({"2 s", "ulimit -t", "--retry-failed"}),
                                Not(Mentions("input")), Not(Mentions("out-of-memory"))));
  EXPECT_THAT(shell("wallheat status r.h5", 3).out,
              AllOf(Mentions({"ulimit -t"}), Not(Mentions("input"))));
}

TEST_F(ResourceLimitsTest, NamesMemoryWhenKernelKillsSolverProcess) {
  // A cgroup of version 1 or 2 whose limit suffices for the worker, but not for the plan.
  const Finished failed = shell(R"sh(
    wallheat generate --out plans --count 1 --size 1800
    export program
    for parent in /sys/fs/cgroup/memory /sys/fs/cgroup; do
      cgroup=$parent/wallheat-test-$$
      mkdir $cgroup 2> /dev/null || continue
      trap 'rmdir $cgroup' EXIT
      echo 0 > $cgroup/memory.swap.max
      echo 80M > $cgroup/memory.max || echo 80M > $cgroup/memory.limit_in_bytes || exit 77
      bash -c 'echo $$ > '$cgroup'/cgroup.procs && exec "$program" run --data plans --out r.h5         --threads 1 --max-attempts 1 --max-iterations 100'
      exit
    done 2> messages
    exit 77)sh",
                                3);
  if (failed.status == 77) GTEST_SKIP() << "a cgroup with a limit of memory cannot be created";
  EXPECT_THAT(bytes("messages"),
              AllOf(Mentions({"out-of-memory killer", "more memory", "--retry-failed"}),
                    Not(Mentions("input"))));
}

TEST_F(ResourceLimitsTest, NamesLimitOfThreads) {
  // The limit does not apply to root.
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user without other processes";
  generate(2);
  const Finished failed = shell(R"sh(
    export program; chmod 755 .; mkdir out; chown 4323 out
    exec setpriv --reuid 4323 --regid 4323 --clear-groups bash -c '
      ulimit -u 2; exec "$program" run --data plans --out out/r.h5 --threads 1')sh",
                                1);
  EXPECT_THAT(failed.err, Mentions({"thread", "limit of processes and threads: 2", "ulimit -u"}));
}

TEST_F(ResourceLimitsTest, OverwritesStatusWhenNoFileCanBeCreated) {
  const std::string mount = "mkdir out; unshare -rm bash -c 'mount -t tmpfs none out && echo yes'";
  if (shell(mount + " || true").out != "yes\n") GTEST_SKIP() << "a tmpfs cannot be mounted";
  generate(200, 128);
  // The condition in the second loop holds when the run writes its status although no file can be
  // created.
  const Finished finished = shell(R"sh(
    export program
    unshare -rm bash -c '
      mount -t tmpfs -o nr_inodes=12 none out
      "$program" run --data plans --out out/r.h5 --threads 1 --tolerance 0 --max-iterations 20000 \
        --log-level warning & run=$!
      until [ -s out/r.h5.wal0 ] && [ -s out/r.h5.status ]; do :; done
      fill() { while : > out/other$((n++)); do :; done 2> /dev/null; }
      n=0; fill
      before=$(< out/r.h5.status)
      until [ "$(< out/r.h5.status)" != "$before" ]; do fill; done
      "$program" status --json out/r.h5 > status.json
      "$program" run --data plans --out out/second.h5 --first 1
      kill $run; wait $run; echo "run: $?"')sh");
  EXPECT_THAT(finished.out, Mentions({"run: 75"})) << finished.err;
  EXPECT_THAT(finished.err, Mentions({"out/second.h5.lock", "12 inodes", "df -i"}));
  EXPECT_THAT(bytes("status.json"), HasSubstr("being written"));
}

}  // namespace
}  // namespace wallheat
