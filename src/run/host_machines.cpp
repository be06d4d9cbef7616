#include "run/host_machines.hpp"

#include <exception>
#include <utility>

#include "core/codec.hpp"
#include "node/local_machine.hpp"

namespace wallheat {

HostMachines machines_of_host(MpiSession& mpi) {
  Machine own;
  std::exception_ptr failure;  // all ranks wait for what this one says, so it must say something
  try {
    if (mpi.rank() != 0) own = local_machine();
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  HostMachines host;
  for (const auto& [rank, bytes] : mpi.gather_on_host(bytes_of(own))) {
    auto machine = record_in<Machine>(bytes);
    // Rank 0 and who failed have no cores. Two hosts may have one number by chance.
    if (machine.cores.empty() || machine.system != own.system) continue;
    if (rank == mpi.rank()) host.mine = host.machines.size();
    host.machines.push_back(std::move(machine));
  }
  if (failure) std::rethrow_exception(failure);
  return host;
}

}  // namespace wallheat
