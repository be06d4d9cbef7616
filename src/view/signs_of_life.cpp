#include "view/signs_of_life.hpp"

#include <utility>

#include "view/logger.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

SignsOfLife::SignsOfLife(std::filesystem::path file, RunStatus status,
                         std::shared_ptr<spdlog::logger> logger)
    : file_(std::move(file)), status_(std::move(status)), logger_(std::move(logger)) {
  give();
  thread_ = std::jthread([this](const std::stop_token& stop) { repeat(stop); });
}

void SignsOfLife::give() {
  status_.written_utc = utc_now();
  try {
    write_run_status(file_, status_);
  } catch (const RunError& error) {
    if (!std::exchange(failed_, true)) logger_->warn("{}", error.what());
  }
}

void SignsOfLife::repeat(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto never = [] { return false; };
  while (!stop.stop_requested()) {
    (void)ended_.wait_for(lock, stop, status_interval, never);
    if (!stop.stop_requested()) give();
  }
}

}  // namespace wallheat
