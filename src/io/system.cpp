#include "io/system.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <system_error>
#include <thread>

namespace wallheat {
namespace {

std::string value_or_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

class RealSystem final : public System {
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
  int drop_cache(int fd) override {
    errno = ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return errno == 0 ? 0 : -1;
  }
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

  std::string host() override {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
  }
  pid_t pid() override { return ::getpid(); }
  std::string pid_namespace() override {
    std::error_code unknown;
    return std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
  }
  std::string job() override {
    if (const char* job = std::getenv("SLURM_JOB_ID")) return job;
    const char* job = std::getenv("LSB_JOBID");
    if (job == nullptr) return {};
    const std::string index = value_or_empty("LSB_JOBINDEX");  // LSF's jobs of an array share an ID
    return index.empty() || index == "0" ? job : std::string(job) + "[" + index + "]";
  }
  Life life_of(pid_t pid) override {
    if (::kill(pid, 0) != 0 && errno == ESRCH) return Life::gone;
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string status;
    std::getline(file, status);
    const auto name_end = status.rfind(") ");  // the name may hold anything
    return name_end != std::string::npos && status[name_end + 2] == 'Z' ? Life::ends : Life::runs;
  }

  std::time_t now() override { return std::time(nullptr); }
  std::chrono::steady_clock::time_point uptime() override {
    return std::chrono::steady_clock::now();
  }
  void sleep(std::chrono::milliseconds time) override { std::this_thread::sleep_for(time); }
  std::uint32_t random() override { return std::random_device{}(); }
};

}  // namespace

System& real_system() {
  static RealSystem system;
  return system;
}

}  // namespace wallheat
