#include "run/needs.hpp"

#include <fmt/format.h>

#include "store/row.hpp"
#include "view/bytes_text.hpp"

namespace wallheat {

/// Measured as `peak_memory` of generated floor plans with 64 to 1024 cells a side, of which a
/// third is room. With nothing but room it is up to a half more.
double memory_of_plan(const PlanSource& source, const std::string& id, const JobSettings& job) {
  constexpr double process = 14e6;  // its code and libraries, and a huge page begun
  const GridShape shape = source.shape(id);
  const SolverKind kind = job.solver.kind;
  const double a_cell = (kind == SolverKind::jacobi        ? 34
                         : kind == SolverKind::fastforward ? 65
                                                           : 74) +
                        (job.save_fields ? 16 : 0) + (job.solver.door ? 10 : 0) +
                        (source.has_source(id) ? 30 : 0);
  return process + a_cell * static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
}

DiskNeed disk_need(const JobSettings& job, double plans, double cells) {
  constexpr double rooms_of_a_plan = 40;  // of a real floor plan
  const double rooms = job.solver.door ? 2 * rooms_of_a_plan * sizeof(RoomResult) : 0;
  return {plans * (3 * sizeof(store::Row) + rooms),
          job.save_fields ? 2 * cells * sizeof(double) : 0};
}

std::optional<double> free_bytes(const std::filesystem::path& folder) {
  std::error_code unknown;
  const auto space = std::filesystem::space(folder, unknown);
  return unknown ? std::nullopt : std::optional(static_cast<double>(space.available));
}

std::string lack_of_disk(const DiskNeed& need, const std::filesystem::path& folder) {
  const double bytes = free_bytes(folder).value_or(need.expected());
  if (need.expected() <= bytes) return {};
  return fmt::format(
      "{} has room for {} only, and the results need about {}: make room, or name a --out "
      "elsewhere",
      folder.string(), bytes_text(bytes), bytes_text(need.expected()));
}

}  // namespace wallheat
