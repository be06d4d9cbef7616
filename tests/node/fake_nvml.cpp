// Replaces libnvidia-ml.so.1 in tests. The requested UUID selects the behaviour:
//   GPU-good      reports everything
//   GPU-silent    reports its power (200 W) only
//   GPU-failing   reports once and is lost then
// With OLD_DRIVER, functions of later drivers are missing.

#include <cstdio>
#include <cstring>
#include <iterator>

namespace {

enum Status : int { success = 0, not_supported = 3, not_found = 6, gpu_is_lost = 15 };

struct Device {
  const char* uuid;
  int samples = 0;
};
Device devices[] = {{"GPU-good"}, {"GPU-silent"}, {"GPU-failing"}};
Device* const silent = &devices[1];
Device* const failing = &devices[2];

template <class T, class Value>
Status report(const Device* device, T* target, Value value) {
  if (device == failing && device->samples > 1) return gpu_is_lost;
  if (device == silent) return not_supported;
  *target = value;
  return success;
}

struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct ProcessUtilization {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;
};
struct FieldValue {
  unsigned field, scope;
  long long time_us, latency_us;
  int type;
  Status status;
  union {
    unsigned number;
    double real;
  } value;
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return success; }
int nvmlShutdown() { return success; }
const char* nvmlErrorString(int status) {
  if (status == not_found) return "Not Found";
  return status == gpu_is_lost ? "GPU is lost" : "some other error";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = std::size(devices);
  return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  *device = &devices[index];
  return success;
}
int nvmlDeviceGetUUID(Device* device, char* uuid, unsigned length) {
  (void)std::snprintf(uuid, length, "%s", device->uuid);
  return success;
}
int nvmlDeviceGetName(Device*, char* name, unsigned length) {
  (void)std::snprintf(name, length, "Fake GPU");
  return success;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, Device** device) {
  for (Device& known : devices) {
    if (std::strcmp(known.uuid, uuid) != 0) continue;
    *device = &known;
    return success;
  }
  return not_found;
}
int nvmlDeviceGetUtilizationRates(Device* device, Utilization* utilization) {
  ++device->samples;  // this is the first reading of each sample
  return report(device, utilization, Utilization{97, 40});
}
int nvmlDeviceGetMemoryInfo(Device* device, Memory* memory) {
  return report(device, memory, Memory{150'000'000'000, 147'000'000'000, 3'000'000'000});
}
int nvmlDeviceGetPowerUsage(Device* device, unsigned* milliwatts) {
  if (device != silent) return report(device, milliwatts, 512'500U);
  *milliwatts = 200'000;
  return success;
}
int nvmlDeviceGetTemperature(Device* device, int sensor, unsigned* celsius) {
  return sensor == 0 ? report(device, celsius, 61U) : not_supported;
}
int nvmlDeviceGetClockInfo(Device* device, int type, unsigned* mhz) {
  if (type == 2) return report(device, mhz, 2619U);
  return type == 1 ? report(device, mhz, 1980U) : not_supported;
}
int nvmlDeviceGetEncoderUtilization(Device* device, unsigned* pct, unsigned* interval_us) {
  *interval_us = 167'000;
  return report(device, pct, 3U);
}
int nvmlDeviceGetDecoderUtilization(Device* device, unsigned* pct, unsigned* interval_us) {
  *interval_us = 167'000;
  return report(device, pct, 5U);
}
#ifndef OLD_DRIVER
// Two processes use memory; the amount of the second is unknown.
int nvmlDeviceGetComputeRunningProcesses_v3(Device* device, unsigned* count, ProcessInfo* infos) {
  constexpr unsigned all = 300;
  if (*count < all) return 7;  // too small
  *count = 2;
  infos[1] = {4711, ~0ULL, ~0U, ~0U};
  return report(device, infos, ProcessInfo{4712, 3'000'000'000, ~0U, ~0U});
}
// Two samples of one process, the later first, and one of a process without a context. Two calls
// return new samples.
int nvmlDeviceGetProcessUtilization(Device* device, ProcessUtilization* samples, unsigned* count,
                                    unsigned long long since_us) {
  if (since_us >= 4000) return not_found;
  *count = 4;
  samples[1] = {4712, since_us + 1000, 50, 20, 0, 0};
  samples[2] = {9, since_us + 1500, 4, 0, 3, 5};
  samples[3] = {0, since_us + 1700, 99, 0, 0, 0};
  return report(device, samples, ProcessUtilization{4712, since_us + 2000, 97, 40, 0, 0});
}
int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  if (pid != 4712) return not_found;
  (void)std::snprintf(name, length, "/usr/local/bin/wallheat");
  return success;
}
int nvmlDeviceGetFieldValues(Device* device, int count, FieldValue* fields) {
  if (count != 1) return not_supported;
  fields->type = 1;
  fields->status = fields->field == 82 ? report(device, &fields->value.number, 74U) : not_supported;
  return success;
}
#endif
}
