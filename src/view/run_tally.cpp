#include "view/run_tally.hpp"

namespace wallheat {

void RunTally::add(const Event& event, const PlanResult& result) {
  switch (event.kind) {
    case Event::Kind::stored:
    case Event::Kind::lost:
      spent.add(result);
      if (result.status == PlanStatus::failed) {
        failed_seconds += result.seconds;
        failed_plans.insert(result.index);
      } else {
        ++solved;
        failed_plans.erase(result.index);
      }
      break;
    case Event::Kind::failed_try:
      ++failed_tries;
      spent.add(result);
      failed_seconds += result.seconds;
      break;
    case Event::Kind::repeated:
      spent.add(result);
      repeated_seconds += result.seconds;
      break;
    case Event::Kind::conflict:
      --solved;
      failed_plans.insert(result.index);
      break;
    case Event::Kind::abandoned:
      abandoned_seconds += event.last.seconds;
      break;
    default:
      break;
  }
  failed = failed_plans.size();
}

}  // namespace wallheat
