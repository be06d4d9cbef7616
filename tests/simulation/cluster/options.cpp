#include "simulation/cluster/options.hpp"

#include <algorithm>
#include <cmath>

#include "simulation/random.hpp"

namespace wallheat::simulation {

Options expand(std::uint64_t seed) {
  Random random(mixed(seed, 1));
  Options o;
  o.plans = std::floor(random.over_magnitudes(1, 60));
  o.workers = random.whole(1, 6);
  o.threads = random.whole(1, 4);
  o.shared_child = random.chance(0.3) ? 1 : 0;
  o.plan_s = random.over_magnitudes(0.01, 2000);
  o.spread = random.between(0, 1.5);
  o.worker_timeout_s = random.over_magnitudes(5, 300) * std::max(1.0, o.plan_s / 10);
  o.delay_s = random.over_magnitudes(20e-6, std::min(0.2, o.worker_timeout_s / 100));
  o.store_s = random.over_magnitudes(1e-4, 1);
  o.start_s = random.over_magnitudes(0.01, 10);
  o.load_s = random.over_magnitudes(0.001, 10);
  const auto some = [&](double probability, double value) {
    return random.chance(probability) ? value : 0;
  };
  o.estimates = some(0.6, random.fraction());
  o.estimate_error = some(0.5, random.fraction());
  if (random.chance(0.3)) {
    o.kinds = random.whole(2, 3);
    o.kind_factor = std::pow(random.over_magnitudes(1.2, 20), 1 / (o.kinds - 1));
  }
  if (random.chance(1.0 / 6)) {  // a cluster without faults
    if (random.chance(0.5)) {
      o.estimates = 1;
      o.estimate_error = 0;
    }
    return o;
  }
  o.max_attempts = random.whole(1, 4);
  o.plan_timeout = some(0.5, random.between(0.5, 5));
  if (o.plan_timeout > 0) o.plan_s = std::min(o.plan_s, 250.0);  // no centuries
  o.sessions = random.whole(1, 3);
  o.pauses = some(0.3, random.exponential(2));
  o.pause_s = random.over_magnitudes(0.01, 10) * o.worker_timeout_s;
  o.stalls = some(0.3, random.exponential(2));
  o.stall_s = random.over_magnitudes(0.01, 10) * o.worker_timeout_s;
  o.deaths = some(0.3, random.exponential(2));
  o.rank0_dies = some(0.3, random.fraction());
  o.orphans = some(0.5, 1);
  o.bad_plans = some(0.2, random.fraction() / 4);
  o.deadly_plans = some(0.2, random.fraction() / 4);
  if (o.plan_timeout > 0) o.endless_plans = some(0.2, random.fraction() / 4);
  o.worker_killers = some(0.1, random.fraction() / 10);
  o.solver_deaths = some(0.25, random.fraction() / 3);
  if (o.plan_timeout > 0) o.solver_hangs = some(0.2, random.fraction() / 5);
  o.solver_babble = some(0.1, random.fraction() / 5);
  o.device_faults = some(0.2, random.fraction() / 5);
  o.passing_failures = some(0.25, random.fraction() / 3);
  o.start_deaths = some(0.15, random.fraction() / 2);
  o.start_hangs = some(0.1, random.fraction() / 4);
  o.open_failures = some(0.1, random.fraction() / 3);
  o.open_hangs = some(0.1, random.fraction() / 3);
  o.strangers = some(0.1, random.fraction() / 3);
  o.other_plans = some(0.1, random.fraction() / 3);
  o.silent_starts = some(0.1, random.fraction() / 3);
  o.source_away = some(0.1, random.fraction() / 2);
  o.liars = some(0.15, random.fraction() / 2);
  o.slow_workers = some(0.3, random.fraction() / 2);
  o.stop_request = some(0.2, random.fraction());
  o.stop_skew_s = random.over_magnitudes(1e-3, 3);
  o.deadline = some(0.3, random.fraction());
  o.deadline_part = random.between(0, 1.5);
  o.store_failures = some(0.1, random.fraction() / 20);
  o.link_errors = some(0.1, random.fraction() / 2);
  o.stored_otherwise = some(0.1, random.fraction() / 10);
  o.setup_s = some(0.5, random.over_magnitudes(0.001, 10));
  o.step_deaths = some(0.3, random.fraction() / 2);
  o.step_pauses = some(0.2, random.fraction() / 2);
  o.nonsense = some(0.2, random.exponential(2));
  o.disk_hangs = some(0.2, random.exponential(2));
  o.disk_hang_s = random.over_magnitudes(0.1, 20) * o.worker_timeout_s;
  if (random.chance(0.2)) o.load_s = random.over_magnitudes(1, 20) * o.worker_timeout_s;
  o.credits = some(0.5, 16 + 12 * o.workers);
  return o;
}

}  // namespace wallheat::simulation
