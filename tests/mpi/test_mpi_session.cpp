#include <iostream>

#include "support/matchers.hpp"
#include "support/process.hpp"

namespace wallheat {
namespace {

// MPI starts and ends in all ranks together; without a limit these runs would never end. Open MPI's
// own mpirun now and then waits for ever although all ranks are gone; then the run says nothing of
// the ranks, and is repeated.
Finished run_with_stopped_rank(const std::string& moment, int rank, int patience_s) {
  constexpr int stopped_by_timeout = 124;
  constexpr int killed_by_timeout = 137;
  Finished finished{};
  for (int tries = 1; tries <= 3; ++tries) {
    finished = run_program({"timeout", "--kill-after=5", "60", "mpirun", "-n", "3",
                            "--oversubscribe", "--bind-to", "none", WALLHEAT_STOPPED_RANK, moment,
                            std::to_string(rank), std::to_string(patience_s)});
    if (finished.status != stopped_by_timeout && finished.status != killed_by_timeout) break;
    std::cout << "mpirun has not ended within a minute, try " << tries << '\n';
  }
  return finished;
}

TEST(MpiSession, gives_up_a_start_that_a_stopped_rank_keeps_from_ending) {
  for (const int rank : {0, 2}) {
    const Finished finished = run_with_stopped_rank("start", rank, 1);
    EXPECT_NE(finished.status, 0) << "stopped: rank " << rank;
    EXPECT_THAT(finished.err, HasSubstr("MPI has not started in all ranks"));
  }
}

/// A busy machine may take longer to start MPI than rank 0 waits for its end; then it waits longer.
Finished run_that_does_not_end(int rank) {
  Finished finished{};
  for (int patience_s = 1; patience_s < 60; patience_s *= 2) {
    finished = run_with_stopped_rank("end", rank, patience_s);
    if (finished.err.find("MPI has not started") == std::string::npos) break;
  }
  return finished;
}

TEST(MpiSession, gives_up_an_end_that_a_stopped_rank_keeps_from_ending) {
  const Finished finished = run_that_does_not_end(2);
  // Open MPI 4.1's mpirun now and then crashes at its own end, after it has told how the rank
  // ended.
  EXPECT_THAT(finished.err, HasSubstr("Exit code:    75"));
  EXPECT_THAT(finished.err, HasSubstr("leaves, as MPI has not ended in all ranks"));
  EXPECT_NE(run_that_does_not_end(0).status, 0);
}

}  // namespace
}  // namespace wallheat
