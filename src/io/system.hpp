#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>

namespace wallheat {

/// What the store asks of the operating system: files, who it is, time and random numbers. Nothing
/// else that it does differs from run to run, so a simulation that takes this place decides all
/// that happens. Functions with the name of a system call do what the call does, and return -1 and
/// set errno where it fails.
class System {
 public:
  virtual ~System() = default;

  virtual int open(const char* path, int flags, mode_t mode) = 0;
  virtual int close(int fd) = 0;
  virtual ssize_t write(int fd, const void* bytes, std::size_t count) = 0;
  virtual ssize_t pread(int fd, void* bytes, std::size_t count, off_t offset) = 0;
  virtual int ftruncate(int fd, off_t size) = 0;
  virtual int fsync(int fd) = 0;
  virtual int fdatasync(int fd) = 0;
  /// Lets what is read next come from the disk; posix_fadvise with POSIX_FADV_DONTNEED.
  virtual int drop_cache(int fd) = 0;
  virtual int stat(const char* path, struct stat* info) = 0;
  virtual int lstat(const char* path, struct stat* info) = 0;
  virtual int fstat(int fd, struct stat* info) = 0;
  virtual int fchown(int fd, uid_t owner, gid_t group) = 0;
  virtual int fchmod(int fd, mode_t mode) = 0;
  virtual int rename(const char* from, const char* to) = 0;
  virtual int unlink(const char* path) = 0;
  /// fcntl with F_OFD_SETLK or F_OFD_GETLK.
  virtual int lock(int fd, int command, struct flock* request) = 0;
  /// As the functions of std::filesystem; they throw its errors.
  virtual std::filesystem::path weakly_canonical(const std::filesystem::path& path) = 0;
  virtual std::filesystem::path read_symlink(const std::filesystem::path& path) = 0;

  virtual std::string host() = 0;
  virtual pid_t pid() = 0;
  /// Where a pid means this process: containers count their own, often on hosts of equal names.
  /// Empty where it is not known.
  virtual std::string pid_namespace() = 0;
  /// Of Slurm or LSF; empty if there is none.
  virtual std::string job() = 0;
  enum class Life { runs, ends, gone };
  /// Of a process of this host and pid namespace; `ends`: killed, and not all of its threads have
  /// ended.
  virtual Life life_of(pid_t pid) = 0;

  virtual std::time_t now() = 0;
  /// Never goes back.
  virtual std::chrono::steady_clock::time_point uptime() = 0;
  virtual void sleep(std::chrono::milliseconds time) = 0;
  virtual std::uint32_t random() = 0;
};

/// The operating system itself.
class RealSystem : public System {
 public:
  int open(const char* path, int flags, mode_t mode) override { return ::open(path, flags, mode); }
  int close(int fd) override { return ::close(fd); }
  ssize_t write(int fd, const void* bytes, std::size_t count) override {
    return ::write(fd, bytes, count);
  }
  ssize_t pread(int fd, void* bytes, std::size_t count, off_t offset) override {
    return ::pread(fd, bytes, count, offset);
  }
  int ftruncate(int fd, off_t size) override { return ::ftruncate(fd, size); }
  int fsync(int fd) override { return ::fsync(fd); }
  int fdatasync(int fd) override { return ::fdatasync(fd); }
  int drop_cache(int fd) override;
  int stat(const char* path, struct stat* info) override { return ::stat(path, info); }
  int lstat(const char* path, struct stat* info) override { return ::lstat(path, info); }
  int fstat(int fd, struct stat* info) override { return ::fstat(fd, info); }
  int fchown(int fd, uid_t owner, gid_t group) override { return ::fchown(fd, owner, group); }
  int fchmod(int fd, mode_t mode) override { return ::fchmod(fd, mode); }
  int rename(const char* from, const char* to) override { return ::rename(from, to); }
  int unlink(const char* path) override { return ::unlink(path); }
  int lock(int fd, int command, struct flock* request) override {
    return ::fcntl(fd, command, request);
  }
  std::filesystem::path weakly_canonical(const std::filesystem::path& path) override {
    return std::filesystem::weakly_canonical(path);
  }
  std::filesystem::path read_symlink(const std::filesystem::path& path) override {
    return std::filesystem::read_symlink(path);
  }

  std::string host() override;
  pid_t pid() override { return ::getpid(); }
  std::string pid_namespace() override;
  std::string job() override;
  Life life_of(pid_t pid) override;

  std::time_t now() override { return std::time(nullptr); }
  std::chrono::steady_clock::time_point uptime() override {
    return std::chrono::steady_clock::now();
  }
  void sleep(std::chrono::milliseconds time) override;
  std::uint32_t random() override;
};
[[nodiscard]] System& real_system();

}  // namespace wallheat
