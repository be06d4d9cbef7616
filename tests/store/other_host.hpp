#pragma once

#include <functional>
#include <string>
#include <utility>

#include "io/system.hpp"

namespace wallheat::store_test {

/// This system as another host sees it whose locks reach nobody else, as with Lustre's localflock
/// or nolock of NFS. Nobody sleeps: time goes on by itself, and `meanwhile` is what others do then.
class OtherHost final : public RealSystem {
 public:
  explicit OtherHost(std::function<void()> meanwhile = [] {}) : meanwhile_(std::move(meanwhile)) {}

  std::string host() override { return "elsewhere"; }
  int lock(int, int, struct flock* request) override {
    request->l_type = F_UNLCK;
    return 0;
  }
  std::chrono::steady_clock::time_point uptime() override { return uptime_; }
  void sleep(std::chrono::milliseconds time) override {
    uptime_ += time;
    meanwhile_();
  }
  [[nodiscard]] std::chrono::nanoseconds slept() const { return uptime_.time_since_epoch(); }

 private:
  std::function<void()> meanwhile_;
  std::chrono::steady_clock::time_point uptime_;
};

}  // namespace wallheat::store_test
