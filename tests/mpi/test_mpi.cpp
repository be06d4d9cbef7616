#include "support/matchers.hpp"
#include "support/process.hpp"

namespace wallheat {
namespace {

/// Three ranks, which do what peers.cpp says.
Finished run_peers(int limit_s, const std::vector<std::string>& words) {
  std::vector<std::string> all{"timeout",
                               "--kill-after=5",
                               std::to_string(limit_s),
                               "mpirun",
                               "--oversubscribe",
                               "--bind-to",
                               "none",
                               "-n",
                               "3"};
  all.insert(all.end(), words.begin(), words.end());
  return run_program(all);
}

/// Over TCP: through shared memory a message may be read out of a process that is stopped.
Finished run_linked(const std::string& what) {
  return run_peers(600, {"--mca", "btl", "tcp,self", "--enable-recovery", WALLHEAT_PEERS, what});
}

TEST(MpiLink, ReceivesFromOthersWhileSenderIsStopped) {
  const Finished finished = run_linked("stopped");
  EXPECT_THAT(finished.out, HasSubstr("heard rank 2\nand then all of rank 1 in order"))
      << finished.err;
}

TEST(MpiLink, ReceivesFromOthersAfterSenderIsKilled) {
  EXPECT_THAT(run_linked("killed").out, HasSubstr("heard rank 2"));
}

/// Through shared memory without boxes for single peers, as the 33rd rank of a host has none: what
/// one peer does not take lacks all others.
TEST(MpiLink, ReachesOthersDespiteHeartbeatsToStoppedRank) {
  const Finished finished = run_peers(
      600, {"--mca", "btl_vader_fbox_max", "0", "--enable-recovery", WALLHEAT_PEERS, "signs"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("rank 2 is reached"));
  EXPECT_THAT(finished.out, HasSubstr("rank 1 was told 1 times"));
}

TEST(MpiEnvironment, GathersMessagesOfOwnGroup) {
  const Finished finished = run_linked("gather");
  EXPECT_EQ(finished.status, 0) << finished.err;
}

// MPI starts and ends in all ranks together; without a limit these runs would never end. Open MPI's
// own mpirun now and then waits for ever although all ranks are gone: then `timeout` ends it.

TEST(MpiEnvironment, AbortsStartupWhenRankIsStopped) {
  for (const std::string rank : {"0", "2"}) {
    const Finished finished = run_peers(60, {WALLHEAT_PEERS, "never-start", rank});
    EXPECT_NE(finished.status, 0) << "stopped: rank " << rank;
    EXPECT_THAT(finished.err, HasSubstr("MPI has not started in all ranks"));
  }
}

TEST(MpiEnvironment, AbortsShutdownWhenRankIsStopped) {
  const auto never_end = [](const std::string& rank) {
    return run_peers(120, {WALLHEAT_PEERS, "never-end", rank});
  };
  const Finished finished = never_end("2");
  // Open MPI 4.1's mpirun now and then crashes at its own end, after it has told how the rank
  // ended.
  EXPECT_THAT(finished.err, HasSubstr("Exit code:    75"));
  EXPECT_THAT(finished.err, HasSubstr("leaves, as MPI has not ended in all ranks"));
  EXPECT_NE(never_end("0").status, 0);
}

}  // namespace
}  // namespace wallheat
