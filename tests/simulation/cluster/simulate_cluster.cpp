// The real coordinator, queue, messages, workers and solver pools on a simulated cluster; see
// story.hpp.

#include "simulation/cluster/story.hpp"
#include "simulation/driver.hpp"

int main(int argc, char** argv) {
  using namespace wallheat::simulation;
  Program<Options> program;
  program.name = "simulate_cluster";
  program.about =
      "Simulates wallheat's ranks on a cluster: the real coordinator, queue, messages, workers "
      "and\n"
      "solver pools, with simulated time, network, solver processes and disk. Each seed is a\n"
      "campaign of one or more sessions with the faults that it expands into, and a last one "
      "without.\n";
  program.unit = "s simulated";
  program.enough_seeds = 10'000;
  program.required = {
      "a batch cannot be stored",
      "a batch of several results",
      "a copy's answer comes second",
      "a device fails",
      "a device lies",
      "a failed plan is answered after all",
      "a heartbeat names any plans",
      "a lost worker is back",
      "a plan fails by chance",
      "a plan fails for good",
      "a plan fails for good as its workers fall silent",
      "a plan is abandoned",
      "a plan is tried again",
      "a plan kills its solver process",
      "a plan kills its worker",
      "a plan makes no progress",
      "a plan's input is bad",
      "a process dies",
      "a session fails",
      "a session finishes",
      "a session is interrupted",
      "a session is out of time",
      "a session's plans are out of reach",
      "a solver process dies by chance",
      "a solver process dies while it loads",
      "a solver process hangs by chance",
      "a solver process never gets ready",
      "a solver process says the wrong thing",
      "a worker dies after its farewell",
      "a worker dies after its refusal",
      "a worker dies before it is ready",
      "a worker dies before it reports",
      "a worker dies when it is ready",
      "a worker dies while it leaves",
      "a worker does not hear",
      "a worker does not report in time",
      "a worker falls silent before it is ready",
      "a worker finds no device",
      "a worker gives up rank 0",
      "a worker is lost",
      "a worker is not heard",
      "a worker is refused",
      "a worker is stopped after its farewell",
      "a worker is stopped and continued",
      "a worker is stopped before it is ready",
      "a worker is stopped before it reports",
      "a worker is stopped when it is ready",
      "a worker is stopped while it leaves",
      "a worker leaves",
      "a worker never gets ready",
      "a worker never reports",
      "a worker speaks as another version would",
      "a worker suddenly speaks otherwise",
      "a worker's device never opens",
      "a worker's link fails",
      "handed out again",
      "predictions are judged",
      "rank 0 dies",
      "rank 0 is stopped and continued",
      "rank 0 speaks as another version would",
      "stopped early: asked to",
      "stopped early: asked to before the work began",
      "stopped early: the time limit",
      "stored otherwise",
      "the disk hangs",
      "the plans are out of reach",
      "two workers give different answers",
  };
  program.options = {
#define WALLHEAT_OPTION(name, nothing, meaning) {#name, &Options::name, nothing, meaning},
      WALLHEAT_SIMULATION_OPTIONS(WALLHEAT_OPTION)
#undef WALLHEAT_OPTION
  };
  program.expand = expand;
  program.tell = tell_story;
  return run(program, argc, argv);
}
