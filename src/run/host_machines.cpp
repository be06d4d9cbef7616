#include "run/host_machines.hpp"

#include <utility>

#include "core/bytes.hpp"
#include "core/codec.hpp"
#include "node/local_machine.hpp"

namespace wallheat {

HostMachines machines_of_host(MpiSession& mpi) {
  const Machine own = mpi.rank() == 0 ? Machine() : local_machine();
  Encoder encoder;
  encoder(own);
  HostMachines host;
  for (const auto& [rank, bytes] : mpi.gather_on_host(encoder.take())) {
    Machine machine;
    Decoder decoder(bytes);
    decoder(machine);
    // Two hosts may have one number by chance.
    if (rank == 0 || machine.system != own.system) continue;
    if (rank == mpi.rank()) host.mine = host.machines.size();
    host.machines.push_back(std::move(machine));
  }
  return host;
}

}  // namespace wallheat
