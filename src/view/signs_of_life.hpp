#pragma once

#include <spdlog/fwd.h>

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "view/run_status.hpp"

namespace wallheat {

/// Keeps a run's status file young as long as it lives, by a thread of its own: while a run starts
/// and ends, nothing is reported for a long time, and a launcher or another host would take the
/// run for dead. Nobody else may write the file meanwhile. What cannot be written is said once.
class SignsOfLife {
 public:
  /// The first sign is given before this returns.
  SignsOfLife(std::filesystem::path file, RunStatus status, std::shared_ptr<spdlog::logger> logger);
  ~SignsOfLife() = default;
  SignsOfLife(const SignsOfLife&) = delete;
  SignsOfLife& operator=(const SignsOfLife&) = delete;

 private:
  void give();
  void repeat(const std::stop_token& stop);

  std::filesystem::path file_;
  RunStatus status_;
  std::shared_ptr<spdlog::logger> logger_;
  bool failed_ = false;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;  // last: joined before anything it uses is gone
};

}  // namespace wallheat
