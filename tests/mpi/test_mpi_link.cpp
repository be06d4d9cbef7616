#include "support/matchers.hpp"
#include "support/process.hpp"

namespace wallheat {
namespace {

/// Over TCP: through shared memory a message may be read out of a process that is stopped.
Finished run_peers(const std::string& what) {
  return run_program({"timeout", "600", "mpirun", "-n", "3", "--oversubscribe", "--bind-to", "none",
                      "--mca", "btl", "tcp,self", "--enable-recovery", WALLHEAT_LINK_PEERS, what});
}

TEST(MpiLink, hears_others_while_a_sender_is_stopped_and_then_all_that_it_had_to_say) {
  const Finished finished = run_peers("stopped");
  EXPECT_THAT(finished.out, HasSubstr("heard rank 2\nand then all of rank 1 in order"))
      << finished.err;
}

TEST(MpiLink, hears_others_when_a_sender_is_killed_in_the_middle_of_a_message) {
  EXPECT_THAT(run_peers("killed").out, HasSubstr("heard rank 2"));
}

/// Through shared memory without boxes for single peers, as the 33rd rank of a host has none: what
/// one peer does not take lacks all others.
TEST(MpiLink, reaches_others_however_often_it_has_told_a_stopped_rank_that_it_lives) {
  const Finished finished = run_program({"timeout", "600", "mpirun", "-n", "3", "--oversubscribe",
                                         "--bind-to", "none", "--mca", "btl_vader_fbox_max", "0",
                                         "--enable-recovery", WALLHEAT_LINK_PEERS, "signs"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("rank 2 is reached"));
  EXPECT_THAT(finished.out, HasSubstr("rank 1 was told 1 times"));
}

TEST(MpiSession, tells_each_rank_what_all_of_its_host_say) {
  const Finished finished = run_peers("gather");
  EXPECT_EQ(finished.status, 0) << finished.err;
}

}  // namespace
}  // namespace wallheat
