#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "isolation/worker_loop.hpp"
#include "queue/link.hpp"
#include "support/process.hpp"

namespace wallheat {

/// Rank 0 of a run with one worker, which is a thread of this process.
class Rank0 {
 public:
  explicit Rank0(WorkerContext context) : context_(std::move(context)) {
    if (!context_.interrupted) context_.interrupted = [] { return false; };
    if (!context_.find_mismatch) context_.find_mismatch = [](const Setup&) { return ""; };
    worker_ = std::jthread([this] {
      try {
        together_ = run_worker(*links_[1], context_);
      } catch (const std::exception& error) {
        failure_ = error.what();
      }
    });
    send(Setup{});
  }
  ~Rank0() {
    send(Stop{});
    send(Shutdown{true});
  }
  Rank0(const Rank0&) = delete;
  Rank0& operator=(const Rank0&) = delete;

  void send(const ToWorker& message) { links_[0]->send(1, encode(message)); }
  void assign(const std::string& plan) {
    send(Assignment{{{static_cast<QueueIndex>(assigned_.size()), plan}}});
    assigned_.push_back(plan);
  }
  /// Receives the worker's messages until done() returns true. Throws if the worker leaves first.
  void receive_until(const std::string& condition, const std::function<bool()>& done) {
    wait_until(condition, [&] {
      while (!done()) {
        const auto envelope = links_[0]->receive(std::chrono::milliseconds(1));
        if (!envelope) return false;
        on_message(decode_from_worker(envelope->message));
        if (bye && !done()) throw std::runtime_error("the worker has left: " + bye->reason);
      }
      return true;
    });
  }
  PlanResult solve(const std::string& plan) {
    results.erase(plan);
    assign(plan);
    receive_until(plan, [&] { return results.contains(plan); });
    return results.at(plan);
  }
  /// Receives messages until the plan in progress has completed an iteration.
  void receive_progress() {
    receive_until("progress",
                  [&] { return !last.running.empty() && last.running[0].iterations > 0; });
  }
  Bye receive_bye() {
    receive_until("Bye", [&] { return bye.has_value(); });
    return *bye;
  }
  /// Waits until the worker ends. Returns its error message, or an empty string.
  std::string end() {
    worker_.join();
    return failure_;
  }
  [[nodiscard]] bool together() const { return together_; }

  std::optional<WorkerProperties> facts{};
  std::map<std::string, PlanResult> results{};  ///< by plan ID
  std::vector<TaskResult> records{};
  std::vector<QueueIndex> returned{};
  WorkerReport last{};
  std::size_t reports = 0;  ///< number of reports received
  std::optional<Bye> bye{};

 private:
  void on_message(const FromWorker& message) {
    if (const auto* last_message = std::get_if<Bye>(&message)) bye = *last_message;
    const auto* report = std::get_if<WorkerReport>(&message);
    if (report == nullptr) return;
    last = *report;
    ++reports;
    if (report->ready) facts = report->ready;
    for (const TaskResult& result : report->results) {
      PlanResult row;
      if (result.error.empty())
        row = decode_result(result.encoded_result);
      else
        row.error = result.error;
      records.push_back(result);
      results[assigned_.at(static_cast<std::size_t>(result.plan))] = std::move(row);
    }
    returned.insert(returned.end(), report->returned.begin(), report->returned.end());
  }

  WorkerContext context_;
  std::vector<std::unique_ptr<Link>> links_ = make_local_links(2);
  std::vector<std::string> assigned_;  ///< plan IDs
  bool together_ = false;
  std::string failure_;
  std::jthread worker_;  // last, because it uses the members above
};

}  // namespace wallheat
