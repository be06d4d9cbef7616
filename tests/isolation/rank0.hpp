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
    if (!context_.difference) context_.difference = [](const Setup&) { return ""; };
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
    send(End{true});
  }
  Rank0(const Rank0&) = delete;
  Rank0& operator=(const Rank0&) = delete;

  void send(const ToWorker& message) { links_[0]->send(1, encode(message)); }
  void give(const std::string& plan) {
    send(Work{{{static_cast<std::uint32_t>(given_.size()), plan}}});
    given_.push_back(plan);
  }
  /// Takes in what the worker says until that holds.
  void listen(const std::string& what, const std::function<bool()>& done) {
    wait_until(what, [&] {
      while (!done()) {
        const auto envelope = links_[0]->receive(std::chrono::milliseconds(1));
        if (!envelope) return false;
        hear(decode_from_worker(envelope->message));
        if (bye && !done()) throw std::runtime_error("the worker has left: " + bye->reason);
      }
      return true;
    });
  }
  PlanResult solve(const std::string& plan) {
    results.erase(plan);
    give(plan);
    listen(plan, [&] { return results.contains(plan); });
    return results.at(plan);
  }
  /// How far the plan that it is at is, once it has begun.
  void listen_for_progress() {
    listen("progress", [&] { return !last.running.empty() && last.running[0].iterations > 0; });
  }
  Bye listen_for_bye() {
    listen("the last word", [&] { return bye.has_value(); });
    return *bye;
  }
  /// What the worker's life ends with, after End or of itself.
  std::string end() {
    worker_.join();
    return failure_;
  }
  [[nodiscard]] bool together() const { return together_; }

  std::optional<WorkerFacts> facts{};
  std::map<std::string, PlanResult> results{};  ///< by the plans' names
  std::vector<Result> records{};
  std::vector<std::uint32_t> returned{};
  WorkerReport last{};
  std::size_t signs = 0;  ///< reports so far
  std::optional<Bye> bye{};

 private:
  void hear(const FromWorker& message) {
    if (const auto* word = std::get_if<Bye>(&message)) bye = *word;
    const auto* report = std::get_if<WorkerReport>(&message);
    if (report == nullptr) return;
    last = *report;
    ++signs;
    if (report->ready) facts = report->ready;
    for (const Result& result : report->results) {
      PlanResult row;
      if (result.error.empty())
        row = decode_result(result.record);
      else
        row.error = result.error;
      records.push_back(result);
      results[given_.at(result.plan)] = std::move(row);
    }
    returned.insert(returned.end(), report->returned.begin(), report->returned.end());
  }

  WorkerContext context_;
  std::vector<std::unique_ptr<Link>> links_ = make_local_links(2);
  std::vector<std::string> given_;  ///< plans
  bool together_ = false;
  std::string failure_;
  std::jthread worker_;  // last: it uses what is above
};

}  // namespace wallheat
