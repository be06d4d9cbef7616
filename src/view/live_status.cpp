#include "view/live_status.hpp"

#include <utility>

#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

LiveStatus::LiveStatus(std::function<void(const RunStatus&)> write, Log& log, Runtime& runtime)
    : write_(std::move(write)), log_(log), runtime_(runtime), never_(runtime.make_condition()) {}

void LiveStatus::write(const RunStatus& status) {
  rest();
  write_now(status);
}

void LiveStatus::keep(RunStatus status) {
  write(status);
  thread_ =
      runtime_.start_thread([this, status = std::move(status)](
                                const std::stop_token& stop) mutable { repeat(status, stop); });
}

void LiveStatus::repeat(RunStatus& status, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    (void)never_->wait_for(lock, stop, status_interval, [] { return false; });
    if (stop.stop_requested()) return;
    status.written_utc = utc_now();
    write_now(status);
  }
}

void LiveStatus::write_now(const RunStatus& status) {
  try {
    write_(status);
  } catch (const RunError& error) {
    if (!std::exchange(failed_, true)) log_.warn("{}", error.what());
  }
}

}  // namespace wallheat
