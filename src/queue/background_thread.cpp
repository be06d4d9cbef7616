#include "queue/background_thread.hpp"

#include <utility>

namespace wallheat {

BackgroundThread::BackgroundThread(Runtime& runtime)
    : changed_(runtime.make_condition()),
      thread_(runtime.start_thread([this](const std::stop_token& stop) { live(stop); })) {}

bool BackgroundThread::is_free_within(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_->wait_for(lock, {}, timeout, [this] { return !piece_; })) return false;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return true;
}

void BackgroundThread::wait() {
  std::unique_lock lock(mutex_);
  changed_->wait(lock, [this] { return !piece_; });
  thrown_ = nullptr;
}

void BackgroundThread::run(std::function<void()> piece) {
  {
    const std::scoped_lock lock(mutex_);
    piece_ = std::move(piece);
  }
  changed_->notify();
}

void BackgroundThread::live(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_->wait(lock, stop, [this] { return static_cast<bool>(piece_); })) {
    lock.unlock();
    std::exception_ptr thrown;
    try {
      piece_();  // nobody touches it until it is done
    } catch (...) {
      thrown = std::current_exception();
    }
    std::function<void()> done;  // destroyed without the lock
    lock.lock();
    thrown_ = thrown;
    done.swap(piece_);
    lock.unlock();
    changed_->notify();
    done = nullptr;
    lock.lock();
  }
}

}  // namespace wallheat
