#include "solve/solver_options.hpp"

#include "core/python_float.hpp"

namespace wallheat {
namespace {

/// The solver's own version: changes when its answers could.
std::string_view version_of(SolverKind kind) {
  switch (kind) {
    case SolverKind::jacobi:
    case SolverKind::fastforward:
    case SolverKind::steady:
      return "1";
  }
  return "unknown";
}

}  // namespace

std::string_view to_string(SolverKind kind) {
  switch (kind) {
    case SolverKind::jacobi:
      return "jacobi";
    case SolverKind::fastforward:
      return "fastforward";
    case SolverKind::steady:
      return "steady";
  }
  return "unknown";
}

std::string_view to_string(Norm norm) { return norm == Norm::max ? "max" : "l2"; }

std::unique_ptr<Solver> SolverOptions::make() const {
  switch (kind) {
    case SolverKind::fastforward:
      return make_fastforward_solver(isa);
    case SolverKind::steady:
      return make_steady_solver(isa);
    case SolverKind::jacobi:
      break;
  }
  return reference ? make_reference_solver() : make_jacobi_solver(isa);
}

std::string SolverOptions::device_text() const {
  return reference ? "cpu reference" : "cpu " + std::string(to_string(isa));
}

std::string SolverOptions::solver_text() const {
  return std::string(to_string(kind)) + " " + std::string(version_of(kind));
}

std::map<std::string, std::string> SolverOptions::settings() const {
  std::map<std::string, std::string> settings{
      {"solver", std::string(to_string(kind))},
      {"solver_version", std::string(version_of(kind))},
      {"max_iterations", std::to_string(limits.max_iterations)}};
  if (kind == SolverKind::steady) {
    settings["accuracy"] = python_float(limits.accuracy);
  } else {
    settings["tolerance"] = python_float(limits.tolerance);
    if (limits.norm != Norm::max) settings["norm"] = to_string(limits.norm);
  }
  if (limits.spacing != 1) settings["spacing"] = python_float(limits.spacing);
  return settings;
}

}  // namespace wallheat
