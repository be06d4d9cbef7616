#include <mpi.h>
#include <signal.h>

#include <cstdlib>

/// Replaces the function of the MPI library in peers.cpp. If STOP_IN_GATHER is set, the rank stops
/// in its second call: the first one is of all ranks, the second one is of a group.
extern "C" int MPI_Allgather(const void* sent, int sent_count, MPI_Datatype sent_type,
                             void* received, int count, MPI_Datatype type, MPI_Comm ranks) {
  static int calls = 0;
  if (++calls == 2 && std::getenv("STOP_IN_GATHER") != nullptr) ::raise(SIGSTOP);
  return PMPI_Allgather(sent, sent_count, sent_type, received, count, type, ranks);
}
