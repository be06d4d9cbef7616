#include "io/system.hpp"

#include <signal.h>

#include <array>
#include <cerrno>
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

}  // namespace

std::string RealSystem::host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string RealSystem::pid_namespace() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
}

std::string RealSystem::job() {
  if (const char* job = std::getenv("SLURM_JOB_ID")) return job;
  const char* job = std::getenv("LSB_JOBID");
  if (job == nullptr) return {};
  const std::string index = value_or_empty("LSB_JOBINDEX");  // LSF's jobs of an array share an ID
  return index.empty() || index == "0" ? job : std::string(job) + "[" + index + "]";
}

System::Life RealSystem::life_of(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return Life::gone;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string status;
  std::getline(file, status);
  const auto name_end = status.rfind(") ");  // the name may hold anything
  return name_end != std::string::npos && status[name_end + 2] == 'Z' ? Life::ends : Life::runs;
}

int RealSystem::drop_cache(int fd) {
  errno = ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return errno == 0 ? 0 : -1;
}

void RealSystem::sleep(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

std::uint32_t RealSystem::random() { return std::random_device{}(); }

System& real_system() {
  static RealSystem system;
  return system;
}

}  // namespace wallheat
