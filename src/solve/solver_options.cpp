#include "solve/solver_options.hpp"

#include "core/python_float.hpp"
#include "core/version.hpp"

namespace wallheat {

std::unique_ptr<Solver> SolverOptions::make() const {
  return reference ? make_reference_solver() : make_jacobi_solver(isa);
}

std::string SolverOptions::device_text() const {
  return reference ? "cpu reference" : "cpu " + std::string(to_string(isa));
}

std::map<std::string, std::string> SolverOptions::settings() const {
  return {{"solver", "jacobi"},
          {"solver_version", std::string(jacobi_version())},
          {"tolerance", python_float(limits.tolerance)},
          {"max_iterations", std::to_string(limits.max_iterations)}};
}

}  // namespace wallheat
