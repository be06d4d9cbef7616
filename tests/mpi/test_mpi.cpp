#include "support/matchers.hpp"
#include "support/process.hpp"

namespace wallheat {
namespace {

/// Runs peers.cpp on three ranks with these arguments. Ends it after limit_s seconds.
Finished run_peers(int limit_s, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"timeout",
                                   "--kill-after=5",
                                   std::to_string(limit_s),
                                   "mpirun",
                                   "--oversubscribe",
                                   "--bind-to",
                                   "none",
                                   "-n",
                                   "3"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command);
}

/// Uses TCP, because shared memory allows reading a message of a process that is stopped.
Finished run_linked(const std::string& scenario) {
  return run_peers(300,
                   {"--mca", "btl", "tcp,self", "--enable-recovery", WALLHEAT_PEERS, scenario});
}

TEST(MpiLink, ReceivesFromOthersWhileSenderIsStopped) {
  const Finished finished = run_linked("stopped");
  EXPECT_THAT(finished.out, HasSubstr("received from rank 2\nreceived all of rank 1 in order"))
      << finished.err;
}

TEST(MpiLink, ReceivesFromOthersAfterSenderIsKilled) {
  EXPECT_THAT(run_linked("killed").out, Mentions("received from rank 2"));
}

/// Uses shared memory without fast boxes, which the 33rd rank of a host does not have: messages
/// that one peer does not receive take the space of all others.
TEST(MpiLink, ReachesOthersDespiteHeartbeatsToStoppedRank) {
  const Finished finished = run_peers(
      300, {"--mca", "btl_vader_fbox_max", "0", "--enable-recovery", WALLHEAT_PEERS, "heartbeats"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, Mentions({"rank 2: reached", "rank 1: 1 heartbeats"}));
}

TEST(MpiEnvironment, GathersMessagesOfOwnGroup) {
  const Finished finished = run_linked("gather");
  EXPECT_EQ(finished.status, 0) << finished.err;
}

// MPI starts and ends in all ranks together; without a limit these runs would never end. Open MPI's
// mpirun sometimes hangs although all ranks have ended: then `timeout` ends it.

/// Matches the error message of a rank. Rank 2 waits longer than the others, and may be the only
/// rank that prints its message, because its exit ends the others.
auto MentionsTimeout() {
  return AllOf(Mentions({"wallheat: rank", "MPI"}),
               testing::AnyOf(Mentions("1 s"), Mentions("2 s")));
}

TEST(MpiEnvironment, AbortsStartupWhenRankIsStopped) {
  for (const std::string rank : {"0", "2"}) {
    const Finished finished = run_peers(60, {WALLHEAT_PEERS, "never-start", rank});
    EXPECT_NE(finished.status, 0) << "stopped: rank " << rank;
    EXPECT_THAT(finished.err, MentionsTimeout());
  }
}

TEST(MpiEnvironment, Rank0WaitsForGroupsOfOtherRanks) {
  const Finished finished = run_peers(60, {WALLHEAT_PEERS, "stop-in-gather", "2"});
  EXPECT_NE(finished.status, 0);
  EXPECT_EQ(finished.out, "") << "else all workers would be lost after three minutes";
  EXPECT_THAT(finished.err, MentionsTimeout());
}

TEST(MpiEnvironment, AbortsShutdownWhenRankIsStopped) {
  const auto never_end = [](const std::string& rank) {
    return run_peers(120, {WALLHEAT_PEERS, "never-end", rank});
  };
  const Finished finished = never_end("2");
  // Open MPI 4.1's mpirun sometimes crashes at its own end, after it has printed the exit status of
  // the rank.
  EXPECT_THAT(finished.err, HasSubstr("Exit code:    75"));
  EXPECT_THAT(finished.err, MentionsTimeout());
  EXPECT_NE(never_end("0").status, 0);
}

}  // namespace
}  // namespace wallheat
