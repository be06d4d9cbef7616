#include "node/gpu_telemetry.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "node/nvml.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// The library, loaded and started.
using Nvml = std::shared_ptr<void>;

/// A null pointer where this version of the library lacks the function.
template <class Function>
Function* find(const Nvml& nvml, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(nvml.get(), name));
}

template <class Function>
Function* require(const Nvml& nvml, const char* name) {
  if (auto* const function = find<Function>(nvml, name)) return function;
  throw RunError(std::string("this NVML lacks ") + name);
}

std::string error_text(const Nvml& nvml, nvml::Status status) {
  return require<const char*(nvml::Status)>(nvml, "nvmlErrorString")(status);
}

Nvml load(const std::string& name) {
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW);
  if (handle == nullptr) throw RunError(std::string("NVML is not there: ") + ::dlerror());
  const Nvml loaded(handle, &::dlclose);
  const auto init = require<nvml::Status()>(loaded, "nvmlInit_v2");
  const auto shutdown = require<nvml::Status()>(loaded, "nvmlShutdown");
  if (const nvml::Status status = init(); status != nvml::success)
    throw RunError("NVML does not start: " + error_text(loaded, status));
  return {handle, [loaded, shutdown](void*) { shutdown(); }};
}

}  // namespace

GpuTelemetry::GpuTelemetry(const std::string& uuid, const std::string& library)
    : nvml_(load(library)) {
  const auto find_device =
      require<nvml::Status(const char*, nvml::Device*)>(nvml_, "nvmlDeviceGetHandleByUUID");
  if (const nvml::Status status = find_device(uuid.c_str(), &device_); status != nvml::success)
    throw RunError("NVML does not know " + uuid + " (" + error_text(nvml_, status) +
                   "); a slice of a GPU (MIG) has no readings of its own");
}

/// Asks for one reading; false where this GPU or driver does not have it.
template <class... Arguments>
bool GpuTelemetry::read(const char* function, Arguments... arguments) const {
  const auto ask = find<nvml::Status(nvml::Device, Arguments...)>(nvml_, function);
  if (ask == nullptr) return false;
  const nvml::Status status = ask(device_, arguments...);
  if (status == nvml::gpu_is_lost)
    throw RunError("NVML says of this GPU: " + error_text(nvml_, status));
  return status == nvml::success;
}

GpuSample GpuTelemetry::sample() {
  GpuSample sample;
  nvml::Utilization utilization{};
  if (read("nvmlDeviceGetUtilizationRates", &utilization)) {
    sample.utilisation_pct = utilization.gpu;
    sample.memory_utilisation_pct = utilization.memory;
  }
  nvml::Memory memory{};
  if (read("nvmlDeviceGetMemoryInfo", &memory)) {
    sample.memory_used_bytes = static_cast<double>(memory.used);
    sample.memory_total_bytes = static_cast<double>(memory.total);
  }
  unsigned value = 0;
  if (read("nvmlDeviceGetPowerUsage", &value)) sample.power_w = value * 1e-3;
  if (read("nvmlDeviceGetTemperature", nvml::temperature_gpu, &value)) sample.temperature_c = value;
  if (read("nvmlDeviceGetClockInfo", nvml::clock_sm, &value)) sample.sm_clock_mhz = value;
  if (read("nvmlDeviceGetClockInfo", nvml::clock_memory, &value)) sample.memory_clock_mhz = value;
  unsigned interval_us = 0;
  if (read("nvmlDeviceGetEncoderUtilization", &value, &interval_us)) sample.encoder_pct = value;
  if (read("nvmlDeviceGetDecoderUtilization", &value, &interval_us)) sample.decoder_pct = value;
  nvml::FieldValue field{};
  field.field = nvml::field_memory_temperature;
  if (read("nvmlDeviceGetFieldValues", 1, &field) && field.status == nvml::success &&
      field.type == nvml::type_unsigned) {
    std::memcpy(&value, field.value.data(), sizeof value);
    sample.memory_temperature_c = value;
  }
  sample.energy_j = integrated_energy_j(sample.power_w);
  return sample;
}

std::vector<GpuProcess> GpuTelemetry::processes() {
  std::map<unsigned, GpuProcess> found;
  for (const auto& [pid, used_bytes, gpu, compute] : holders())
    found[pid].memory_bytes =
        used_bytes == nvml::bytes_not_known ? GpuSample::unknown : static_cast<double>(used_bytes);
  std::array<nvml::ProcessUtilization, 1024> users{};
  auto count = static_cast<unsigned>(users.size());
  const auto since_us = latest_process_us_;
  if (read("nvmlDeviceGetProcessUtilization", users.data(), &count, since_us)) {
    std::map<unsigned, unsigned long long> latest_us;
    for (const auto& [pid, time_us, sm, memory, encoder, decoder] : std::span(users).first(count)) {
      // The driver may list ends of processes that were never there, with pid 0 or an old time.
      if (pid == 0 || time_us <= since_us || time_us < latest_us[pid]) continue;
      latest_us[pid] = time_us;
      latest_process_us_ = std::max(latest_process_us_, time_us);
      GpuProcess& process = found[pid];
      process.sm_pct = sm;
      process.memory_pct = memory;
      process.encoder_pct = encoder;
      process.decoder_pct = decoder;
    }
  }
  const auto name_of =
      find<nvml::Status(unsigned, char*, unsigned)>(nvml_, "nvmlSystemGetProcessName");
  std::vector<GpuProcess> processes;
  for (auto& [pid, process] : found) {
    process.pid = pid;
    std::array<char, 1024> name{};
    if (name_of != nullptr && name_of(pid, name.data(), name.size()) == nvml::success)
      process.name = std::filesystem::path(name.data()).filename().string();
    processes.push_back(std::move(process));
  }
  return processes;
}

std::vector<nvml::ProcessInfo> GpuTelemetry::holders() const {
  for (unsigned room = 256; room <= 65536; room *= 4) {  // more of them than room is an error
    std::vector<nvml::ProcessInfo> holders(room);
    for (const char* function :
         {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}) {
      unsigned count = room;
      if (!read(function, &count, holders.data())) continue;
      holders.resize(count);
      return holders;
    }
  }
  return {};
}

double GpuTelemetry::integrated_energy_j(double power_w) {
  if (std::isnan(power_w)) return GpuSample::unknown;
  const auto now = std::chrono::steady_clock::now();
  if (!std::isnan(last_power_w_)) {
    const std::chrono::duration<double> passed = now - last_time_;
    integrated_j_ += (power_w + last_power_w_) / 2 * passed.count();
  }
  last_power_w_ = power_w;
  last_time_ = now;
  return integrated_j_;
}

std::vector<NvmlGpu> nvml_gpus(const std::string& library) {
  const Nvml nvml = load(library);
  const auto count_of = require<nvml::Status(unsigned*)>(nvml, "nvmlDeviceGetCount_v2");
  const auto device_of =
      require<nvml::Status(unsigned, nvml::Device*)>(nvml, "nvmlDeviceGetHandleByIndex_v2");
  using TextOf = nvml::Status(nvml::Device, char*, unsigned);
  const auto uuid_of = require<TextOf>(nvml, "nvmlDeviceGetUUID");
  const auto name_of = require<TextOf>(nvml, "nvmlDeviceGetName");
  unsigned count = 0;
  if (const nvml::Status status = count_of(&count); status != nvml::success)
    throw RunError("NVML does not count the GPUs: " + error_text(nvml, status));
  std::vector<NvmlGpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    nvml::Device device = nullptr;
    std::array<char, nvml::longest_text> uuid{};
    std::array<char, nvml::longest_text> name{};
    // One that this process may not use, or that is lost, is no reason to leave out the others.
    if (device_of(index, &device) != nvml::success ||
        uuid_of(device, uuid.data(), uuid.size()) != nvml::success)
      continue;
    if (name_of(device, name.data(), name.size()) != nvml::success) name = {'?'};
    gpus.push_back({index, uuid.data(), name.data()});
  }
  return gpus;
}

/// What the sampler and its thread share; the thread may outlive the sampler.
struct GpuSampler::Shared {
  explicit Shared(GpuTelemetry telemetry_) : telemetry(std::move(telemetry_)) {}

  GpuTelemetry telemetry;  // the thread's alone
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool ended = false;
  std::optional<GpuSample> latest;
  std::string error;
  bool told = false;  // of the error
};

GpuSampler::GpuSampler(GpuTelemetry telemetry, std::chrono::milliseconds interval)
    : shared_(std::make_shared<Shared>(std::move(telemetry))) {
  thread_ = std::thread([shared = shared_, interval] {
    std::unique_lock lock(shared->mutex);
    while (!shared->stop && shared->error.empty()) {
      lock.unlock();
      std::optional<GpuSample> sample;
      std::string error;
      try {
        sample = shared->telemetry.sample();
      } catch (const RunError& failure) {
        error = failure.what();
      }
      lock.lock();
      if (sample) shared->latest = sample;
      shared->error = std::move(error);
      shared->changed.wait_for(lock, interval, [&] { return shared->stop; });
    }
    shared->ended = true;
    shared->changed.notify_all();
  });
}

GpuSampler::~GpuSampler() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  constexpr std::chrono::seconds timeout{2};
  const bool ended = shared_->changed.wait_for(lock, timeout, [&] { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

std::optional<GpuSample> GpuSampler::take() {
  const std::scoped_lock lock(shared_->mutex);
  if (!shared_->error.empty() && !shared_->told) {
    shared_->told = true;
    throw RunError(shared_->error);
  }
  return std::exchange(shared_->latest, std::nullopt);
}

}  // namespace wallheat
