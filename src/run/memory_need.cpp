#include "run/memory_need.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/plural.hpp"
#include "view/bytes_text.hpp"

namespace wallheat {
namespace {

/// Measured as `peak_memory` of generated floor plans with 64 to 1024 cells a side, of which a
/// third is room. With nothing but room it is up to a half more.
double solver_bytes(double cells, bool has_source, const JobSettings& job) {
  constexpr double process = 14e6;  // its code and libraries, and a huge page begun
  double a_cell = 0;
  switch (job.solver.kind) {
    case SolverKind::jacobi:
      a_cell = 34;
      break;
    case SolverKind::fastforward:
      a_cell = 65;
      break;
    case SolverKind::steady:
      a_cell = 74;
      break;
  }
  if (job.save_fields) a_cell += 16;
  if (job.solver.door) a_cell += 10;
  if (has_source) a_cell += 30;
  return process + cells * a_cell;
}

}  // namespace

PlanMemory memory_of_plan(const PlanSource& source, const std::string& id, const JobSettings& job) {
  const GridShape shape = source.shape(id);
  const bool has_source = source.has_source(id);
  const double cells = static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
  return {id, shape, solver_bytes(cells, has_source, job)};
}

double needed_on(const NodeMemory& node, const PlanMemory& largest) {
  return node.held + static_cast<double>(node.threads) * largest.bytes;
}

std::string warning_of_memory(const NodeMemory& node, const PlanMemory& largest) {
  const double needed = needed_on(node, largest);
  if (node.available <= 0 || needed <= node.available) return {};
  const double fit = (node.available - node.held) / largest.bytes;
  const int threads = static_cast<int>(std::max(0.0, fit) / static_cast<double>(node.workers));
  return fmt::format(
      "{} may run out of memory: {} with plans as large as {} ({} x {} cells) "
      "take about {}, {} each, and there are {}; {}",
      node.name, counted(node.threads, "solver process", "solver processes"), largest.id,
      largest.shape.rows, largest.shape.cols, bytes_text(needed), bytes_text(largest.bytes),
      bytes_text(node.available),
      threads > 0 ? fmt::format("run with --threads {}, or give the job more memory", threads)
                  : "give the job more memory");
}

}  // namespace wallheat
