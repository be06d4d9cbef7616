#include <csignal>
#include <cstdlib>
#include <string_view>

#include "mpi/mpi_session.hpp"

// A run under mpirun: `stopped_rank start|end RANK SECONDS`. That rank stops for ever before
// MPI has started or ended; rank 0 waits so long for the others.
int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string_view when = argv[1];
  const auto stop_before = [&](std::string_view moment) {
    if (when == moment && wallheat::launched_rank() == std::atoi(argv[2])) std::raise(SIGSTOP);
  };
  stop_before("start");
  wallheat::MpiSession mpi(std::chrono::seconds(std::atoi(argv[3])));
  stop_before("end");
  mpi.end(75);
  return 0;
}
