#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "queue/coordinator.hpp"
#include "queue/records.hpp"
#include "queue/work_queue.hpp"

namespace wallheat {

/// What is answered: which plans were started, how they ended, and whether two answers to one
/// agree. What is to be stored goes to the recorder.
class Answers {
 public:
  Answers(CoordinatorParts& parts, WorkQueue& queue, Recorder& recorder);

  /// A rank may name any number.
  [[nodiscard]] bool is_known(std::uint32_t plan) const {
    return queue_.position(plan).has_value();
  }
  /// Of a known plan.
  [[nodiscard]] Task task(std::uint32_t plan) const {
    const std::string id(parts_.ids[plan]);
    return {plan, id, parts_.places(id)};
  }

  // Events, of any plan.
  void started(int worker, std::uint32_t plan);
  void progressed(std::span<const PlanProgress> running);
  void ended(int worker, PlanResult& result);
  void returned(int worker, const std::vector<std::uint32_t>& plans);
  /// The worker is gone: as it said, or as it is refused.
  void worker_left(int worker);
  /// It is gone without a word; `where`: what is said of that where a plan fails for it.
  void worker_lost(const WorkerInfo& worker, const std::string& where);
  /// The run ends. Plans that it cuts short have been started all the same: the next session is to
  /// know.
  void record_abandoned();

 private:
  [[nodiscard]] QueuedPlan& plan_of(std::uint32_t plan) const {
    return parts_.plans[*queue_.position(plan)];
  }
  void take_answer(int worker, PlanResult& result);
  void take_failure(int worker, PlanResult& result);
  void compare(const PlanResult& second);
  void forget_what_is_not_copied();

  CoordinatorParts& parts_;
  WorkQueue& queue_;
  Recorder& recorder_;
  std::map<std::uint32_t, PlanProgress> started_;         // and not finished: how far each was last
  std::unordered_map<std::uint32_t, PlanResult> copied_;  // first answers that may be repeated
};

}  // namespace wallheat
