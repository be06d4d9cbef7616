#include "wallheat/plan_result.hpp"

namespace wallheat {

std::string_view to_string(PlanStatus status) {
  switch (status) {
    case PlanStatus::pending:
      return "pending";
    case PlanStatus::converged:
      return "converged";
    case PlanStatus::max_iterations:
      return "max_iterations";
    case PlanStatus::empty:
      return "empty";
    case PlanStatus::failed:
      return "failed";
  }
  return "unknown";
}

}  // namespace wallheat
