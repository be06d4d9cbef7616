#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "plans/plan_source.hpp"
#include "queue/placement.hpp"
#include "solve/worth_a_gpu.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

/// What GPUs made of the plans of earlier sessions, by their names.
class MeasuredGpus {
 public:
  /// A row of a result file; those that no GPU has solved are left out.
  void add(const PlanResult& row);
  /// Cell updates a second of a GPU of that name, over the best worker's session of at least 256
  /// plans; 0 where there is none.
  [[nodiscard]] double updates_per_s(const std::string& name) const;

 private:
  struct Session {
    std::size_t plans = 0;
    double updates = 0;
    double start_s = 0;
    double end_s = 0;
  };
  std::map<std::tuple<std::string, std::uint32_t, std::int32_t>, Session> sessions_;
};

/// What `--device auto` goes by beside the machines.
struct GpuChoice {
  std::vector<GridShape> shapes;  ///< of at most 16 plans, evenly over the list
  bool any_source = false;        ///< one of them has a heat source, with which no GPU was measured
  MeasuredGpus measured;

  /// Looks at some of the plans; what cannot be read is left out, as its worker will tell.
  /// `id_of` names the first to last of so many plans, of which there may be millions.
  void look_at(const PlanSource& source, std::size_t plans,
               const std::function<std::string(std::size_t)>& id_of);
  [[nodiscard]] DeviceVerdict verdict(const Machine& machine, const Gpu& gpu,
                                      std::size_t cores) const;
  /// Holds a copy of this.
  [[nodiscard]] WhyNoGpu why_no_gpu() const;
  /// For people: who would solve in a run without MPI on that machine, and why.
  [[nodiscard]] std::string who_solves(const Machine& machine, int threads_per_worker) const;
};

/// This process's machine; with the rate of a core where `auto` has GPUs to compare it with.
[[nodiscard]] Machine machine_for(DeviceChoice device, Isa isa);

}  // namespace wallheat
