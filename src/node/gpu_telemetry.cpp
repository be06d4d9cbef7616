#include "node/gpu_telemetry.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// The part of NVML that is used here, declared as in the stable interface in NVIDIA's "NVML API
// Reference Guide". Toolkits do not always contain nvml.h, while the driver always contains the
// library.

// Incomplete: only the values that are used here.
enum NvmlStatus : int { success = 0, function_not_found = 13, gpu_is_lost = 15 };

struct NvmlUtilization {
  unsigned gpu, memory;  // %
};
struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};
struct NvmlProcess {  // of the functions _v2 and _v3
  unsigned pid;
  unsigned long long used_bytes;  // all bits set: unknown
  unsigned gpu_instance, compute_instance;
};
struct NvmlProcessUtilization {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;  // %
};
/// A reading that is identified by a number, `field`, and for which NVML has no separate function.
struct NvmlField {
  unsigned field, scope;
  long long time_us, latency_us;
  int type;
  NvmlStatus status;
  alignas(8) std::array<std::byte, 8> value;  // its interpretation depends on `type`
};
constexpr int temperature_of_gpu = 0;
constexpr int clock_of_sm = 1;
constexpr int clock_of_memory = 2;
constexpr unsigned field_memory_temperature = 82;
constexpr int type_unsigned = 1;
constexpr std::size_t longest_text = 96;  // of UUIDs and names, including the terminating 0

}  // namespace

/// The NVML library, loaded and initialized.
class Nvml {
 public:
  explicit Nvml(const std::string& name) : library_(::dlopen(name.c_str(), RTLD_NOW), &::dlclose) {
    if (!library_) throw RunError(std::string("cannot load NVML: ") + ::dlerror());
    require("cannot initialize NVML", "nvmlInit_v2");
  }
  ~Nvml() { (void)call("nvmlShutdown"); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  template <class... Arguments>
  NvmlStatus call(const char* function, Arguments... arguments) const {
    using Function = NvmlStatus(Arguments...);
    auto* const found = reinterpret_cast<Function*>(::dlsym(library_.get(), function));
    return found == nullptr ? function_not_found : found(arguments...);
  }
  /// Throws RunError, whose message begins with `what`, if the call fails.
  template <class... Arguments>
  void require(const char* what, const char* function, Arguments... arguments) const {
    const NvmlStatus status = call(function, arguments...);
    if (status == function_not_found)
      throw RunError(std::string(what) + ": this version of NVML has no function " + function);
    if (status != success) throw RunError(std::string(what) + ": " + error_text(status));
  }
  /// Reads one value of a GPU. Returns false if the GPU or the driver does not support it. Throws
  /// RunError if the GPU is lost.
  template <class... Arguments>
  bool read(void* device, const char* function, Arguments... arguments) const {
    const NvmlStatus status = call(function, device, arguments...);
    if (status == gpu_is_lost) throw RunError("NVML reports for this GPU: " + error_text(status));
    return status == success;
  }
  [[nodiscard]] std::string error_text(NvmlStatus status) const {
    using Function = const char*(NvmlStatus);
    auto* const found = reinterpret_cast<Function*>(::dlsym(library_.get(), "nvmlErrorString"));
    return found == nullptr ? "error " + std::to_string(status) : found(status);
  }

 private:
  std::unique_ptr<void, int (*)(void*)> library_;
};

GpuTelemetry::GpuTelemetry(const std::string& uuid, const std::string& library)
    : nvml_(std::make_shared<const Nvml>(library)) {
  const NvmlStatus status = nvml_->call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device_);
  if (status != success)
    throw RunError("NVML cannot find " + uuid + " (" + nvml_->error_text(status) +
                   "); a slice of a GPU (MIG) has no separate readings");
}

GpuSample GpuTelemetry::sample() {
  const auto read = [this](const char* function, auto... arguments) {
    return nvml_->read(device_, function, arguments...);
  };
  GpuSample sample;
  NvmlUtilization utilization{};
  if (read("nvmlDeviceGetUtilizationRates", &utilization)) {
    sample.utilisation_pct = utilization.gpu;
    sample.memory_utilisation_pct = utilization.memory;
  }
  NvmlMemory memory{};
  if (read("nvmlDeviceGetMemoryInfo", &memory)) {
    sample.memory_used_bytes = static_cast<double>(memory.used);
    sample.memory_total_bytes = static_cast<double>(memory.total);
  }
  unsigned value = 0;
  if (read("nvmlDeviceGetPowerUsage", &value)) sample.power_w = value * 1e-3;
  if (read("nvmlDeviceGetTemperature", temperature_of_gpu, &value)) sample.temperature_c = value;
  if (read("nvmlDeviceGetClockInfo", clock_of_sm, &value)) sample.sm_clock_mhz = value;
  if (read("nvmlDeviceGetClockInfo", clock_of_memory, &value)) sample.memory_clock_mhz = value;
  unsigned interval_us = 0;
  if (read("nvmlDeviceGetEncoderUtilization", &value, &interval_us)) sample.encoder_pct = value;
  if (read("nvmlDeviceGetDecoderUtilization", &value, &interval_us)) sample.decoder_pct = value;
  NvmlField field{};
  field.field = field_memory_temperature;
  if (read("nvmlDeviceGetFieldValues", 1, &field) && field.status == success &&
      field.type == type_unsigned) {
    std::memcpy(&value, field.value.data(), sizeof value);
    sample.memory_temperature_c = value;
  }
  sample.energy_j = integrated_energy_j(sample.power_w);
  return sample;
}

std::vector<GpuProcess> GpuTelemetry::processes() {
  std::map<unsigned, GpuProcess> found;
  // The call fails if there are more processes than elements.
  for (unsigned room = 256; room <= 65536; room *= 4) {
    std::vector<NvmlProcess> holders(room);
    const auto ask = [&](const char* function) {
      unsigned count = room;
      const bool is_known = nvml_->read(device_, function, &count, holders.data());
      if (is_known) holders.resize(count);
      return is_known;
    };
    if (!ask("nvmlDeviceGetComputeRunningProcesses_v3") &&
        !ask("nvmlDeviceGetComputeRunningProcesses_v2"))
      continue;
    for (const NvmlProcess& holder : holders)
      found[holder.pid].memory_bytes =
          ~holder.used_bytes == 0 ? nan_value : static_cast<double>(holder.used_bytes);
    break;
  }
  std::array<NvmlProcessUtilization, 1024> users{};
  auto count = static_cast<unsigned>(users.size());
  const auto since_us = latest_process_us_;
  if (nvml_->read(device_, "nvmlDeviceGetProcessUtilization", users.data(), &count, since_us)) {
    std::map<unsigned, unsigned long long> latest_us;
    for (const auto& [pid, time_us, sm, memory, encoder, decoder] : std::span(users).first(count)) {
      // The driver may list ends of processes that did not exist, with pid 0 or an old time.
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
  std::vector<GpuProcess> processes;
  for (auto& [pid, process] : found) {
    process.pid = pid;
    std::array<char, 1024> name{};
    const auto length = static_cast<unsigned>(name.size());
    if (nvml_->call("nvmlSystemGetProcessName", pid, name.data(), length) == success)
      process.name = std::filesystem::path(name.data()).filename().string();
    processes.push_back(std::move(process));
  }
  return processes;
}

double GpuTelemetry::integrated_energy_j(double power_w) {
  if (std::isnan(power_w)) return nan_value;
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
  const Nvml nvml(library);
  unsigned count = 0;
  nvml.require("NVML cannot count the GPUs", "nvmlDeviceGetCount_v2", &count);
  std::vector<NvmlGpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    void* device = nullptr;
    std::array<char, longest_text> uuid{};
    std::array<char, longest_text> name{};
    const auto length = static_cast<unsigned>(longest_text);
    // A GPU that is lost, or that this process may not use, does not prevent the others from being
    // listed.
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &device) != success ||
        nvml.call("nvmlDeviceGetUUID", device, uuid.data(), length) != success)
      continue;
    if (nvml.call("nvmlDeviceGetName", device, name.data(), length) != success) name = {'?'};
    gpus.push_back({index, uuid.data(), name.data()});
  }
  return gpus;
}

/// State that the sampler and its thread share, because the thread may outlive the sampler.
struct GpuSampler::Shared {
  explicit Shared(GpuTelemetry telemetry_) : telemetry(std::move(telemetry_)) {}

  GpuTelemetry telemetry;  // used by the thread only
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  std::optional<GpuSample> latest;
};

GpuSampler::GpuSampler(GpuTelemetry telemetry, std::chrono::milliseconds interval)
    : shared_(std::make_shared<Shared>(std::move(telemetry))) {
  std::packaged_task<void()> sampling([shared = shared_, interval] {
    std::unique_lock lock(shared->mutex);
    while (!shared->stop) {
      lock.unlock();
      const GpuSample sample = shared->telemetry.sample();
      lock.lock();
      shared->latest = sample;
      shared->changed.wait_for(lock, interval, [&] { return shared->stop; });
    }
  });
  ended_ = sampling.get_future();
  thread_ = std::thread(std::move(sampling));
}

GpuSampler::~GpuSampler() {
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->changed.notify_all();
  constexpr std::chrono::seconds timeout{2};
  const bool has_ended = !ended_.valid() || ended_.wait_for(timeout) == std::future_status::ready;
  has_ended ? thread_.join() : thread_.detach();
}

std::optional<GpuSample> GpuSampler::take_latest() {
  const auto now = std::chrono::seconds(0);
  if (ended_.valid() && ended_.wait_for(now) == std::future_status::ready) ended_.get();  // throws
  const std::scoped_lock lock(shared_->mutex);
  return std::exchange(shared_->latest, std::nullopt);
}

}  // namespace wallheat
