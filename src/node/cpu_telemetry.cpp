#include "node/cpu_telemetry.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

constexpr int all_cpus = -1;

/// The number that a file of the system holds; nothing where it cannot be read.
std::optional<double> number_in(const fs::path& file) {
  double number = 0;
  if (std::ifstream stream(file); stream >> number) return number;
  return std::nullopt;
}

std::string line_in(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// MemTotal less MemAvailable (proc(5)); without these NaN.
double memory_used(const fs::path& meminfo) {
  constexpr double bytes_a_kb = 1024;
  std::ifstream stream(meminfo);
  std::optional<double> total;
  std::optional<double> available;
  std::string name;
  for (double kb = 0; stream >> name >> kb; stream.ignore(80, '\n')) {
    if (name == "MemTotal:") total = kb;
    if (name == "MemAvailable:") available = kb;
  }
  return total && available ? (*total - *available) * bytes_a_kb : CpuSample::unknown;
}

}  // namespace

CpuTelemetry::CpuTelemetry(double now_s, fs::path root)
    : root_(std::move(root)), last_ticks_(ticks()), last_s_(now_s) {
  find_counters();
}

std::map<int, CpuTelemetry::Ticks> CpuTelemetry::ticks() const {
  const fs::path file = root_ / "proc/stat";
  std::ifstream stream(file);
  std::map<int, Ticks> ticks;
  for (std::string line; std::getline(stream, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    int number = all_cpus;
    if (line.at(3) != ' ' && !(words >> number)) break;
    // user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); what follows is in user.
    std::array<double, 8> times{};
    for (double& time : times) words >> time;
    Ticks& of = ticks[number];
    for (const double time : times) of.all += time;
    of.busy = of.all - times[3] - times[4];
  }
  if (!ticks.contains(all_cpus))
    throw RunError(file.string() + " does not tell how busy the processors are");
  return ticks;
}

void CpuTelemetry::find_counters() {
  const fs::path folder = root_ / "sys/class/powercap";
  std::error_code missing;
  // A domain "package-0" is a socket with what is on it; its parts have domains of their own, and
  // "psys" holds all.
  for (const fs::directory_entry& zone : fs::directory_iterator(folder, missing)) {
    if (!line_in(zone.path() / "name").starts_with("package")) continue;
    const fs::path file = zone.path() / "energy_uj";
    errno = 0;
    const auto energy = number_in(file);
    if (!energy) {
      no_energy_ = file.string() + " cannot be read";
      if (errno == EACCES) no_energy_ += " by this user; root may read it, and let others";
      counters_.clear();
      return;
    }
    counters_.push_back(
        {file, number_in(zone.path() / "max_energy_range_uj").value_or(0), *energy});
  }
  if (counters_.empty()) no_energy_ = folder.string() + " has no counter of a socket's energy";
}

double CpuTelemetry::energy_since_last_look() {
  double energy_uj = 0;
  for (Counter& counter : counters_) {
    const auto now_uj = number_in(counter.file);
    if (!now_uj) {
      no_energy_ = counter.file.string() + " cannot be read any more";
      counters_.clear();
      return CpuSample::unknown;
    }
    energy_uj += *now_uj - counter.last_uj + (*now_uj < counter.last_uj ? counter.range_uj : 0);
    counter.last_uj = *now_uj;
  }
  return energy_uj * 1e-6;
}

CpuSample CpuTelemetry::sample(double now_s) {
  CpuSample sample;
  auto now = ticks();
  for (const auto& [number, after] : now) {
    const auto before = last_ticks_.find(number);  // a cpu may come and go
    const double all = before == last_ticks_.end() ? 0 : after.all - before->second.all;
    // The times of idle cpus may go back a little (proc(5)).
    const double pct = all > 0
                           ? std::clamp(100 * (after.busy - before->second.busy) / all, 0.0, 100.0)
                           : CpuSample::unknown;
    if (number == all_cpus) {
      sample.busy_pct = pct;
    } else {
      sample.cpu_pct[number] = pct;
    }
  }
  last_ticks_ = std::move(now);
  sample.memory_used_bytes = memory_used(root_ / "proc/meminfo");
  if (!counters_.empty()) {
    const double energy_j = energy_since_last_look();
    energy_j_ += energy_j;
    sample.energy_j = energy_j_;
    if (now_s > last_s_) sample.power_w = energy_j / (now_s - last_s_);
  }
  last_s_ = now_s;
  return sample;
}

}  // namespace wallheat
