#include "queue/answers.hpp"

#include <utility>

namespace wallheat {

Answers::Answers(CoordinatorParts& parts, WorkQueue& queue, Recorder& recorder)
    : parts_(parts), queue_(queue), recorder_(recorder) {}

void Answers::started(int worker, std::uint32_t plan) {
  if (!is_known(plan) || !queue_.plan_started(worker, plan)) return;
  ++plan_of(plan).attempts;
  started_.insert_or_assign(plan, PlanProgress{plan});
}

void Answers::progressed(std::span<const PlanProgress> running) {
  for (const PlanProgress& progress : running) {
    const auto started = started_.find(progress.index);
    if (started != started_.end() && progress.seconds >= started->second.seconds)
      started->second = progress;
  }
}

void Answers::ended(int worker, PlanResult& result) {
  result.rank = worker;
  result.predicted_s = static_cast<float>(queue_.predicted_s(worker, result.index));
  if (result.status == PlanStatus::failed) {
    take_failure(worker, result);
  } else {
    take_answer(worker, result);
  }
}

void Answers::take_answer(int worker, PlanResult& result) {
  switch (queue_.plan_finished(worker, result.index, result.seconds)) {
    case WorkQueue::Answer::unknown:
      return;
    case WorkQueue::Answer::repeated:
      compare(result);
      result.field.clear();
      result.rooms.clear();
      recorder_.add({.kind = Event::Kind::repeated, .result = std::move(result)});
      return;
    case WorkQueue::Answer::first:
      break;
  }
  started_.erase(result.index);
  result.attempts = plan_of(result.index).attempts;
  result.failures = queue_.failures(result.index);
  if (queue_.is_late_copy(result.index)) copied_.emplace(result.index, result);
  recorder_.add({.kind = Event::Kind::stored, .result = std::move(result)});
}

void Answers::take_failure(int worker, PlanResult& result) {
  const auto failure = queue_.plan_failed(worker, result.index, result.may_pass);
  if (failure == WorkQueue::Failure::of_a_copy) return forget_what_is_not_copied();
  started_.erase(result.index);
  result.attempts = plan_of(result.index).attempts;
  result.failures = queue_.failures(result.index);
  recorder_.add({.kind = failure == WorkQueue::Failure::to_be_tried_again ? Event::Kind::failed_try
                                                                          : Event::Kind::stored,
                 .result = std::move(result)});
}

/// The second answer to a plan that was copied for an idle worker.
void Answers::compare(const PlanResult& second) {
  const auto found = copied_.find(second.index);
  if (found == copied_.end()) return;
  const std::vector<Difference> differences = parts_.differences(found->second, second);
  if (differences.empty()) return forget_what_is_not_copied();
  PlanResult failed = std::move(found->second);
  copied_.erase(found);
  const auto worker = [](const PlanResult& answer) {
    return "rank " + std::to_string(answer.rank) + " (" + answer.device + " on " + answer.host +
           ")";
  };
  failed.status = PlanStatus::failed;
  failed.error = "plan " + failed.id + ": " + worker(failed) + " and " + worker(second) +
                 " gave different answers, so one of these devices is faulty: " +
                 to_text(differences, "by the first", "by the second");
  ++failed.failures;
  failed.field.clear();
  failed.rooms.clear();
  recorder_.add({.kind = Event::Kind::conflict, .result = std::move(failed)});
}

/// An answer is kept as long as another may come.
void Answers::forget_what_is_not_copied() {
  std::erase_if(copied_, [this](const auto& each) { return !queue_.is_late_copy(each.first); });
}

void Answers::returned(int worker, const std::vector<std::uint32_t>& plans) {
  queue_.plans_returned(worker, plans);
  forget_what_is_not_copied();
}

void Answers::worker_left(int worker) {
  queue_.worker_left(worker);
  forget_what_is_not_copied();
}

void Answers::worker_lost(const WorkerInfo& worker, const std::string& where) {
  for (const std::uint32_t plan : queue_.worker_lost(worker.rank)) {
    started_.erase(plan);
    PlanResult result;
    result.index = plan;
    result.id = parts_.ids[plan];
    result.status = PlanStatus::failed;
    result.rank = worker.rank;
    result.host = worker.host;
    result.device = worker.device;
    result.attempts = plan_of(plan).attempts;
    result.failures = parts_.max_attempts;
    result.error = "was running at " + std::to_string(parts_.max_attempts) +
                   " workers when they fell silent, last at " + where;
    recorder_.add({.kind = Event::Kind::stored, .result = std::move(result)});
  }
  forget_what_is_not_copied();
}

void Answers::record_abandoned() {
  for (const auto& [plan, progress] : started_) {
    PlanResult result;
    result.index = plan;
    result.id = parts_.ids[plan];
    result.attempts = plan_of(plan).attempts;
    result.failures = queue_.failures(plan);
    recorder_.add({.kind = Event::Kind::abandoned, .result = std::move(result), .last = progress});
  }
}

}  // namespace wallheat
