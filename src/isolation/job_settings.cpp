#include "isolation/job_settings.hpp"

#include "core/codec.hpp"

namespace wallheat {

template <class Visit, Is<Limits> R>
void fields_of(Visit& visit, R& limits) {
  visit(limits.tolerance, limits.max_iterations, limits.accuracy, limits.norm, limits.spacing);
}
template <class Visit, Is<WallTemperature> R>
void fields_of(Visit& visit, R& wall) {
  visit(wall.kind, wall.held_at);
}
template <class Visit, Is<Thresholds> R>
void fields_of(Visit& visit, R& thresholds) {
  visit(thresholds.above, thresholds.below);
}
template <class Visit, Is<Door> R>
void fields_of(Visit& visit, R& door) {
  visit(door.cells);
}
template <class Visit, Is<SolverOptions> R>
void fields_of(Visit& visit, R& solver) {
  visit(solver.limits, solver.kind, solver.reference, solver.isa, solver.gpu, solver.walls,
        solver.thresholds, solver.door);
}
template <class Visit, Is<JobSettings> R>
void fields_of(Visit& visit, R& settings) {
  visit(settings.data, settings.solver, settings.save_fields, settings.host, settings.device,
        settings.plan_timeout_s, settings.lanes, settings.cpus);
}

Bytes encode(const JobSettings& settings) { return bytes_of(settings); }

JobSettings decode_settings(std::span<const std::byte> bytes) {
  return record_in<JobSettings>(bytes);
}

}  // namespace wallheat
