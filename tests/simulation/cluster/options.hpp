#pragma once

#include <cstdint>

namespace wallheat::simulation {

// What a seed expands into: name, value where nothing happens, meaning. Probabilities and parts are
// from 0 to 1, times in s of simulated time. Shrinking moves each towards its value here.
// clang-format off
#define WALLHEAT_SIMULATION_OPTIONS(OPTION) \
  OPTION(plans, 1, "plans of the campaign") \
  OPTION(workers, 1, "worker ranks") \
  OPTION(threads, 1, "solver threads of each") \
  OPTION(shared_child, 0, "1: the threads of a worker share a solver process, as with a GPU") \
  OPTION(kinds, 1, "kinds of devices") \
  OPTION(kind_factor, 1, "each kind is so many times as slow as the one before") \
  OPTION(plan_s, 1, "mean time of a plan on the fastest device") \
  OPTION(spread, 0, "of the logarithms of plans' times (standard deviation)") \
  OPTION(estimates, 0, "part of the plans whose work is foreseen") \
  OPTION(estimate_error, 0, "of the logarithm of what is foreseen (standard deviation)") \
  OPTION(max_attempts, 3, "as --max-attempts") \
  OPTION(worker_timeout_s, 30, "as --worker-timeout") \
  OPTION(plan_timeout, 0, "as --plan-timeout, in longest plans; 0: none") \
  OPTION(delay_s, 0.00005, "mean delay of a message") \
  OPTION(store_s, 0.001, "mean time to store a batch") \
  OPTION(load_s, 1, "rank 0's time to begin and to end") \
  OPTION(start_s, 1, "mean time for a solver process to load") \
  OPTION(credits, 0, "messages that a rank may have sent that were not taken; 0: any number") \
  OPTION(setup_s, 0, "mean time before a worker reports") \
  OPTION(sessions, 0, "sessions with faults; one without follows") \
  OPTION(pauses, 0, "mean number of times that a rank is stopped and continued") \
  OPTION(pause_s, 0, "longest pause") \
  OPTION(stalls, 0, "mean number of times that one direction between two ranks is silent") \
  OPTION(stall_s, 0, "longest silence") \
  OPTION(deaths, 0, "mean number of workers that die") \
  OPTION(step_deaths, 0, "probability that a worker dies soon after a step of its life") \
  OPTION(step_pauses, 0, "the same, that it is stopped for long") \
  OPTION(nonsense, 0, "mean number of messages of another version, or that name any plans") \
  OPTION(link_errors, 0, "probability that a worker's link fails once") \
  OPTION(rank0_dies, 0, "probability that rank 0 dies") \
  OPTION(orphans, 0, "1: workers outlive rank 0") \
  OPTION(bad_plans, 0, "part of the plans whose input is bad") \
  OPTION(deadly_plans, 0, "part of the plans that kill their solver process") \
  OPTION(endless_plans, 0, "part of the plans that make no progress") \
  OPTION(worker_killers, 0, "part of the plans that kill their worker") \
  OPTION(solver_deaths, 0, "probability that a solver process dies of a plan by chance") \
  OPTION(solver_hangs, 0, "the same, that it makes no progress") \
  OPTION(solver_babble, 0, "the same, that it says the wrong thing") \
  OPTION(device_faults, 0, "the same, that its device fails") \
  OPTION(passing_failures, 0, "the same, that it fails and may pass another time") \
  OPTION(start_deaths, 0, "probability that a solver process dies while it loads") \
  OPTION(start_hangs, 0, "the same, that it never gets ready") \
  OPTION(open_failures, 0, "probability that a worker finds no device that works") \
  OPTION(open_hangs, 0, "the same, that it never gets ready") \
  OPTION(strangers, 0, "probability that a worker was started for something else") \
  OPTION(other_plans, 0, "the same, that it finds other plans") \
  OPTION(silent_starts, 0, "the same, that it never reports") \
  OPTION(source_away, 0, "the same, that it cannot read the plans any more from some time on") \
  OPTION(liars, 0, "the same, that its answers are wrong") \
  OPTION(slow_workers, 0, "the same, that it is far slower than its kind") \
  OPTION(stop_request, 0, "probability that the run is asked to stop") \
  OPTION(stop_skew_s, 0, "within so long all ranks have heard of it") \
  OPTION(deadline, 0, "probability of a time limit") \
  OPTION(deadline_part, 1, "of the time that the campaign needs") \
  OPTION(disk_hangs, 0, "mean number of times that the disk hangs") \
  OPTION(disk_hang_s, 0, "longest of these times") \
  OPTION(store_failures, 0, "probability that a batch cannot be stored, which ends the run") \
  OPTION(stored_otherwise, 0, "part of the plans whose answer can only be stored as failed")
// clang-format on

struct Options {
#define WALLHEAT_OPTION(name, nothing, meaning) double name = nothing;
  WALLHEAT_SIMULATION_OPTIONS(WALLHEAT_OPTION)
#undef WALLHEAT_OPTION
};

/// What the seed stands for. One in six is a cluster without faults.
[[nodiscard]] Options expand(std::uint64_t seed);

}  // namespace wallheat::simulation
