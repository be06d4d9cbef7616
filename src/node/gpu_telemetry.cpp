#include "node/gpu_telemetry.hpp"

#include <dlfcn.h>

#include <array>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "node/nvml.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

/// NVML, loaded and started while this lives.
class NvmlLibrary {
 public:
  explicit NvmlLibrary(const std::string& name)
      : handle_(::dlopen(name.c_str(), RTLD_NOW), &::dlclose) {
    if (!handle_) throw RunError(std::string("NVML is not there: ") + ::dlerror());
    nvml::Status (*init)() = nullptr;
    require(init, "nvmlInit_v2");
    require(shutdown_, "nvmlShutdown");
    require(error_text_, "nvmlErrorString");
    if (const nvml::Status status = init(); status != nvml::success)
      throw RunError("NVML does not start: " + error_text(status));
  }
  ~NvmlLibrary() { shutdown_(); }
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// A null pointer where this version of the library lacks the function.
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_.get(), name));
  }
  template <class Function>
  void require(Function*& function, const char* name) const {
    find(function, name);
    if (function == nullptr) throw RunError(std::string("this NVML lacks ") + name);
  }
  [[nodiscard]] std::string error_text(nvml::Status status) const { return error_text_(status); }

 private:
  std::unique_ptr<void, int (*)(void*)> handle_;
  nvml::Status (*shutdown_)() = nullptr;
  const char* (*error_text_)(nvml::Status) = nullptr;
};

}  // namespace

class GpuTelemetry::Impl {
 public:
  Impl(const std::string& uuid, const std::string& library) : library_(library) {
    nvml::Status (*find_device)(const char*, nvml::Device*) = nullptr;
    library_.require(find_device, "nvmlDeviceGetHandleByUUID");
    library_.find(utilization_, "nvmlDeviceGetUtilizationRates");
    library_.find(memory_, "nvmlDeviceGetMemoryInfo");
    library_.find(power_, "nvmlDeviceGetPowerUsage");
    library_.find(temperature_, "nvmlDeviceGetTemperature");
    library_.find(clock_, "nvmlDeviceGetClockInfo");
    library_.find(energy_, "nvmlDeviceGetTotalEnergyConsumption");
    library_.find(encoder_, "nvmlDeviceGetEncoderUtilization");
    library_.find(decoder_, "nvmlDeviceGetDecoderUtilization");
    library_.find(fields_, "nvmlDeviceGetFieldValues");
    library_.find(slowdown_, "nvmlDeviceGetCurrentClocksThrottleReasons");
    library_.find(ecc_errors_, "nvmlDeviceGetTotalEccErrors");
    if (const nvml::Status status = find_device(uuid.c_str(), &device_); status != nvml::success)
      throw RunError("NVML does not know " + uuid + " (" + library_.error_text(status) +
                     "); a slice of a GPU (MIG) has no readings of its own");
  }

  GpuSample sample() {
    GpuSample sample;
    nvml::Utilization utilization{};
    if (read(utilization_, &utilization)) {
      sample.utilisation_pct = utilization.gpu;
      sample.memory_utilisation_pct = utilization.memory;
    }
    nvml::Memory memory{};
    if (read(memory_, &memory)) {
      sample.memory_used_bytes = static_cast<double>(memory.used);
      sample.memory_total_bytes = static_cast<double>(memory.total);
    }
    unsigned value = 0;
    if (read(power_, &value)) sample.power_w = value * 1e-3;
    if (read(temperature_, nvml::temperature_gpu, &value)) sample.temperature_c = value;
    if (read(clock_, nvml::clock_sm, &value)) sample.sm_clock_mhz = value;
    if (read(clock_, nvml::clock_memory, &value)) sample.memory_clock_mhz = value;
    unsigned interval_us = 0;
    if (read(encoder_, &value, &interval_us)) sample.encoder_pct = value;
    if (read(decoder_, &value, &interval_us)) sample.decoder_pct = value;
    nvml::FieldValue field{};
    field.field = nvml::field_memory_temperature;
    if (read(fields_, 1, &field) && field.status == nvml::success &&
        field.type == nvml::type_unsigned) {
      std::memcpy(&value, field.value.data(), sizeof value);
      sample.memory_temperature_c = value;
    }
    unsigned long long large = 0;
    if (read(slowdown_, &large)) sample.slowdown = large;
    if (read(ecc_errors_, nvml::error_uncorrected, nvml::counter_volatile, &large))
      sample.uncorrected_ecc_errors = static_cast<double>(large);
    if (read(energy_, &large)) {
      const double counter_j = static_cast<double>(large) * 1e-3;
      if (std::isnan(first_counter_j_)) first_counter_j_ = counter_j;
      sample.energy_j = counter_j - first_counter_j_;
    } else {
      sample.energy_j = integrated_energy_j(sample.power_w);
    }
    return sample;
  }

 private:
  /// Asks for one reading; false where this GPU or driver does not have it.
  template <class... Parameters, class... Arguments>
  bool read(nvml::Status (*function)(nvml::Device, Parameters...), Arguments... arguments) const {
    if (function == nullptr) return false;
    const nvml::Status status = function(device_, arguments...);
    if (status == nvml::gpu_is_lost)
      throw RunError("NVML says of this GPU: " + library_.error_text(status));
    return status == nvml::success;
  }

  double integrated_energy_j(double power_w) {
    if (std::isnan(power_w)) return GpuSample::unknown;
    const auto now = Clock::now();
    if (!std::isnan(last_power_w_)) {
      const std::chrono::duration<double> passed = now - last_time_;
      integrated_j_ += (power_w + last_power_w_) / 2 * passed.count();
    }
    last_power_w_ = power_w;
    last_time_ = now;
    return integrated_j_;
  }

  NvmlLibrary library_;
  nvml::Status (*utilization_)(nvml::Device, nvml::Utilization*) = nullptr;
  nvml::Status (*memory_)(nvml::Device, nvml::Memory*) = nullptr;
  nvml::Status (*power_)(nvml::Device, unsigned*) = nullptr;
  nvml::Status (*temperature_)(nvml::Device, int, unsigned*) = nullptr;
  nvml::Status (*clock_)(nvml::Device, int, unsigned*) = nullptr;
  nvml::Status (*encoder_)(nvml::Device, unsigned*, unsigned*) = nullptr;
  nvml::Status (*decoder_)(nvml::Device, unsigned*, unsigned*) = nullptr;
  nvml::Status (*fields_)(nvml::Device, int, nvml::FieldValue*) = nullptr;
  nvml::Status (*energy_)(nvml::Device, unsigned long long*) = nullptr;
  nvml::Status (*slowdown_)(nvml::Device, unsigned long long*) = nullptr;
  nvml::Status (*ecc_errors_)(nvml::Device, int, int, unsigned long long*) = nullptr;
  nvml::Device device_ = nullptr;
  double first_counter_j_ = GpuSample::unknown;
  double last_power_w_ = GpuSample::unknown;
  Clock::time_point last_time_;
  double integrated_j_ = 0;
};

GpuTelemetry::GpuTelemetry(const std::string& uuid, const std::string& library)
    : impl_(std::make_unique<Impl>(uuid, library)) {}
GpuTelemetry::~GpuTelemetry() = default;
GpuTelemetry::GpuTelemetry(GpuTelemetry&&) noexcept = default;
GpuTelemetry& GpuTelemetry::operator=(GpuTelemetry&&) noexcept = default;
GpuSample GpuTelemetry::sample() { return impl_->sample(); }

std::vector<NvmlGpu> nvml_gpus(const std::string& library) {
  const NvmlLibrary nvml(library);
  nvml::Status (*count_of)(unsigned*) = nullptr;
  nvml::Status (*device_of)(unsigned, nvml::Device*) = nullptr;
  nvml::Status (*uuid_of)(nvml::Device, char*, unsigned) = nullptr;
  nvml::Status (*name_of)(nvml::Device, char*, unsigned) = nullptr;
  nvml.require(count_of, "nvmlDeviceGetCount_v2");
  nvml.require(device_of, "nvmlDeviceGetHandleByIndex_v2");
  nvml.require(uuid_of, "nvmlDeviceGetUUID");
  nvml.require(name_of, "nvmlDeviceGetName");
  unsigned count = 0;
  if (const nvml::Status status = count_of(&count); status != nvml::success)
    throw RunError("NVML does not count the GPUs: " + nvml.error_text(status));
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
