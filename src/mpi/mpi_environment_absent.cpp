#include <array>
#include <cstdlib>
#include <string_view>

#include "mpi/mpi_environment.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// By Open MPI's mpirun, by PMI launchers, and by srun, whose PMIx names no size.
constexpr std::array size_variables{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

bool launched_alone() {
  for (const char* name : size_variables) {
    if (const char* text = std::getenv(name)) return std::string_view(text) == "1";
  }
  return false;
}

}  // namespace

MpiEnvironment::MpiEnvironment(Timeout start, Timeout end)
    : start_timeout_(start), end_timeout_(end) {
  if (!launched_alone())
    throw UsageError(
        "this wallheat was built without MPI and cannot be one of several ranks: start it without "
        "mpirun or srun, and it uses all cores of this machine");
}
MpiEnvironment::~MpiEnvironment() = default;

std::map<int, Bytes> MpiEnvironment::gather_by_group(const std::string&, const Bytes& mine) const {
  return {{0, mine}};
}
int MpiEnvironment::finalize(int status, bool) { return status; }

std::string mpi_library() { return "none"; }

}  // namespace wallheat
