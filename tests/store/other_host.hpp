#pragma once

#include <functional>
#include <string>
#include <utility>

#include "io/system.hpp"

namespace wallheat::store_test {

/// This system as another host sees it whose locks reach nobody else, as with Lustre's localflock
/// or nolock of NFS. Nobody sleeps: time goes on by itself, and `meanwhile` is what others do then.
class OtherHost final : public System {
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

  int open(const char* path, int flags, mode_t mode) override {
    return real_.open(path, flags, mode);
  }
  int close(int fd) override { return real_.close(fd); }
  ssize_t write(int fd, const void* bytes, std::size_t count) override {
    return real_.write(fd, bytes, count);
  }
  ssize_t pread(int fd, void* bytes, std::size_t count, off_t offset) override {
    return real_.pread(fd, bytes, count, offset);
  }
  int ftruncate(int fd, off_t size) override { return real_.ftruncate(fd, size); }
  int fsync(int fd) override { return real_.fsync(fd); }
  int fdatasync(int fd) override { return real_.fdatasync(fd); }
  int drop_cache(int fd) override { return real_.drop_cache(fd); }
  int stat(const char* path, struct stat* info) override { return real_.stat(path, info); }
  int lstat(const char* path, struct stat* info) override { return real_.lstat(path, info); }
  int fstat(int fd, struct stat* info) override { return real_.fstat(fd, info); }
  int fchown(int fd, uid_t owner, gid_t group) override { return real_.fchown(fd, owner, group); }
  int fchmod(int fd, mode_t mode) override { return real_.fchmod(fd, mode); }
  int rename(const char* from, const char* to) override { return real_.rename(from, to); }
  int unlink(const char* path) override { return real_.unlink(path); }
  std::filesystem::path weakly_canonical(const std::filesystem::path& path) override {
    return real_.weakly_canonical(path);
  }
  std::filesystem::path read_symlink(const std::filesystem::path& path) override {
    return real_.read_symlink(path);
  }
  pid_t pid() override { return real_.pid(); }
  std::string pid_namespace() override { return real_.pid_namespace(); }
  std::string job() override { return real_.job(); }
  Life life_of(pid_t pid) override { return real_.life_of(pid); }
  std::time_t now() override { return real_.now(); }
  std::uint32_t random() override { return real_.random(); }

 private:
  System& real_ = real_system();
  std::function<void()> meanwhile_;
  std::chrono::steady_clock::time_point uptime_;
};

}  // namespace wallheat::store_test
