#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isolation/plan_job.hpp"

// A process that solves plans for the threads of a worker that share a device, and may die of it. A
// CPU core has one such thread, a GPU many. Each has a lane: a socket to a thread in here that
// solves one plan at a time. The first lane is stdin. They speak in the messages of
// queue/messages.hpp: over the first lane the process gets its JobSettings, which name the sockets
// of the others, and says Ready with the number of lanes that it serves, or Farewell with the
// reason why not. Over each lane it gets Assign with one task and says WorkerReport with that task
// started, Heartbeat while it solves, and WorkerReport with the result; or Farewell with the reason
// where the device failed, upon which the other side kills it. It leaves by closing the first lane.

namespace wallheat {

/// What a solver process does: solves with the jobs of what `open` gives until the other side is
/// gone. Returns an exit status. Throws DecodeError if what it hears makes no sense.
int serve_plans(const std::function<JobSource(const JobSettings&)>& open);

/// The command that 'wallheat run' starts for itself. Returns an ExitStatus; throws UsageError
/// where anybody else does. The arguments mean nothing.
int solver_process_command(const std::vector<std::string>& arguments);

}  // namespace wallheat
