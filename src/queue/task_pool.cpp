#include "queue/task_pool.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include "core/input_file.hpp"

namespace wallheat {
TaskPool::TaskPool(std::size_t threads, const std::function<PlanJob(std::size_t)>& make_job,
                   Runtime& runtime)
    : runtime_(runtime), changed_(runtime.make_condition()) {
  std::size_t starting = 0;
  std::exception_ptr thrown;
  const auto live = [&, this](std::size_t thread, const std::stop_token& closing) {
    PlanJob job;
    std::exception_ptr problem;
    try {
      job = make_job(thread);
    } catch (...) {
      problem = std::current_exception();
    }
    {
      const std::scoped_lock lock(mutex_);
      --starting;
      if (!thrown) thrown = problem;
    }
    changed_->notify();
    if (!problem) work(thread, job, closing);
  };
  threads_.reserve(threads);
  std::unique_lock lock(mutex_);
  try {
    for (std::size_t thread = 0; thread < threads; ++thread) {
      threads_.push_back(runtime.start_thread(
          [live, thread](const std::stop_token& closing) { live(thread, closing); }));
      ++starting;
    }
  } catch (...) {  // the system has no more threads
    thrown = std::current_exception();
  }
  // Wait for all before any exception leaves: the threads refer to what is here.
  changed_->wait(lock, [&] { return starting == 0; });
  lock.unlock();
  if (thrown) std::rethrow_exception(thrown);
}

TaskPool::~TaskPool() { abandon_running(); }

void TaskPool::add(std::vector<Task> tasks) {
  {
    const std::scoped_lock lock(mutex_);
    std::move(tasks.begin(), tasks.end(), std::back_inserter(waiting_));
  }
  changed_->notify();
}

std::vector<std::uint32_t> TaskPool::take_back(std::size_t count) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::uint32_t> plans;
  for (; !waiting_.empty() && plans.size() < count; waiting_.pop_back()) {
    plans.push_back(waiting_.back().index);
  }
  return plans;
}

void TaskPool::abandon_running() { abandon_.request_stop(); }

TaskPool::News TaskPool::news() {
  const std::scoped_lock lock(mutex_);
  const auto now = runtime_.now();
  for (std::size_t i = 0; i < news_.results.size(); ++i)
    news_.results[i].phases.send_s = std::chrono::duration<float>(now - finished_[i]).count();
  finished_.clear();
  return std::exchange(news_, {});
}

bool TaskPool::busy() {
  const std::scoped_lock lock(mutex_);
  return !running_.empty() || !waiting_.empty();
}

std::vector<PlanProgress> TaskPool::progress() {
  const std::scoped_lock lock(mutex_);
  const auto now = runtime_.now();
  std::vector<PlanProgress> all;
  for (const auto& [index, running] : running_) {
    all.push_back(running.progress);
    all.back().seconds = std::chrono::duration<double>(now - running.start).count();
  }
  return all;
}

void TaskPool::work(std::size_t thread, const PlanJob& job, const std::stop_token& closing) {
  std::unique_lock lock(mutex_);
  for (;;) {
    (void)changed_->wait(lock, closing, [&] { return !waiting_.empty(); });
    if (closing.stop_requested()) return;
    const Task task = std::move(waiting_.front());
    waiting_.pop_front();
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    running_[task.index] = {runtime_.now(), {task.index, 0, unknown, 0}};
    news_.started.push_back(task.index);
    lock.unlock();
    const SolveControl control{abandon_.get_token(), [&](std::int64_t iterations, double delta) {
                                 const std::scoped_lock progress_lock(mutex_);
                                 PlanProgress& progress = running_[task.index].progress;
                                 progress.iterations = iterations;
                                 progress.delta = delta;
                               }};
    PlanResult result;
    std::string broken;
    bool source_away = false;
    try {
      result = job(task, control);
    } catch (const SourceUnavailable& error) {
      broken = error.what();
      source_away = true;
    } catch (const std::exception& error) {
      broken = error.what();
    }
    lock.lock();
    running_.erase(task.index);
    if (!broken.empty()) {
      news_.abandoned.push_back(task.index);
      news_.broken = std::move(broken);
      news_.source_away = source_away;
      return;
    }
    if (result.status == PlanStatus::pending) {
      news_.abandoned.push_back(task.index);
    } else {
      result.thread = static_cast<std::int32_t>(thread);
      news_.results.push_back(std::move(result));
      finished_.push_back(runtime_.now());
    }
  }
}

}  // namespace wallheat
