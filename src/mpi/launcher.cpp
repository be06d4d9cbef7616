#include <array>
#include <cstdlib>
#include <string_view>

#include "mpi/mpi_environment.hpp"

namespace wallheat {
namespace {

// Set by Open MPI's mpirun, by PMIx launchers (srun --mpi=pmix) and by PMI launchers (MPICH, srun).
constexpr std::array rank_variables{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

const char* launched_rank_text() {
  for (const char* name : rank_variables) {
    if (const char* text = std::getenv(name)) return text;
  }
  return nullptr;
}

}  // namespace

bool launched_by_mpi() { return launched_rank_text() != nullptr; }

bool launcher_may_bind_cores() {
  const auto is_none = [](const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr && std::string_view(text) == "none";
  };
  return launched_by_mpi() && !is_none("OMPI_MCA_hwloc_base_binding_policy") &&
         !is_none("SLURM_CPU_BIND_TYPE");
}

bool recovery_enabled() { return std::getenv("OMPI_MCA_orte_enable_recovery") != nullptr; }

int launched_rank() {
  const char* text = launched_rank_text();
  return text != nullptr ? std::atoi(text) : 0;
}

}  // namespace wallheat
