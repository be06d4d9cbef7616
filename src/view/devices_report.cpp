#include "view/devices_report.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "bench/solver_bench.hpp"
#include "core/version.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"

namespace wallheat {
namespace {

constexpr double tera = 1e12;

std::string binary_size(std::size_t bytes) {
  if (bytes >= std::size_t{1} << 20) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

void print_device_fact(const char* name, const std::string& text) { print_fact(name, text, 18); }

void print_processor(const DevicesReport& report) {
  const Processor& processor = report.processor;
  if (!processor.model.empty()) print_device_fact("processor", processor.model);
  std::string caches;
  if (processor.first_cache_bytes > 0)
    caches += binary_size(processor.first_cache_bytes) + " and " +
              binary_size(processor.second_cache_bytes) + " a core";
  if (processor.third_cache_bytes > 0)
    caches += ", " + binary_size(processor.third_cache_bytes) + " shared";
  if (!caches.empty()) print_device_fact("caches", caches);
}

void print_peak(const DevicesReport& report) {
  print_device_fact("vectors",
                    fmt::format("{} bits, {} doubles", 64 * report.lanes(), report.lanes()));
  if (report.processor.clock_hz > 0)
    print_device_fact(
        "peak FP64",
        fmt::format("{:.3g} TFLOP/s: {} cores x {:.2f} GHz x {} doubles x 2, for one vector "
                    "unit a core (many have two)",
                    report.fp64_per_second() / tera, report.machine.cores.size(),
                    report.processor.clock_hz * 1e-9, report.lanes()));
}

void print_gpu(const DevicesReport::GpuEntry& entry) {
  const auto& [gpu, properties] = entry;
  print_device_fact(
      "", fmt::format("{}: {}, {}, {:.0f} GiB, NUMA node {}", gpu.ordinal, gpu.name, gpu.uuid,
                      static_cast<double>(gpu.memory_bytes) / (1 << 30), gpu.numa));
  if (properties.multiprocessors == 0) return;
  print_device_fact(
      "", fmt::format("   compute capability {}.{}, {} multiprocessors, {:.2f} GHz, memory "
                      "{:.2f} TB/s",
                      properties.capability / 10, properties.capability % 10,
                      properties.multiprocessors, properties.clock_hz * 1e-9,
                      properties.memory_bytes_per_second / tera));
}

void print_solvers(const DevicesReport& report) {
  std::string rates;
  for (const auto& [kind, plans_per_s] : report.solvers)
    rates += fmt::format("{}{} {:.3g}", rates.empty() ? "" : ", ", to_string(kind), plans_per_s);
  print_device_fact("plans/s", fmt::format("{0} on {2} thread(s), for plans of {1} x {1} cells "
                                           "(measured on one); GPUs have jacobi alone",
                                           rates, sample_side, report.threads));
}

/// null for what is not known.
template <class Number>
Json known(Number number) {
  return number == 0 ? Json(nullptr) : Json(number);
}

}  // namespace

std::size_t DevicesReport::sockets() const {
  std::set<int> sockets;
  for (const Core& core : machine.cores) sockets.insert(core.socket);
  return sockets.size();
}

int DevicesReport::lanes() const {
  switch (isas.back()) {
    case Isa::avx512:
      return 8;
    case Isa::avx2:
      return 4;
    case Isa::baseline:
      break;
  }
  return 2;  // SSE2, NEON
}

double DevicesReport::fp64_per_second() const {
  return 2.0 * static_cast<double>(machine.cores.size()) * processor.clock_hz * lanes();
}

void print_text(const DevicesReport& report) {
  const Machine& machine = report.machine;
  print_device_fact("host", machine.host);
  print_device_fact("wallheat", std::string(version()));
  print_device_fact("MPI", report.mpi);
  print_processor(report);
  print_device_fact("cores",
                    fmt::format("{}, {} socket(s)", machine.cores.size(), report.sockets()));
  if (static_cast<int>(machine.cores.size()) < machine.host_cores)
    fmt::print("  of {}: this process was bound to them\n", machine.host_cores);
  std::map<std::pair<int, int>, std::string> places;
  for (const Core& core : machine.cores)
    places[{core.socket, core.numa}] += fmt::format(" {}", core.cpu);
  constexpr std::size_t indent = 18;
  for (const auto& [place, cpus] : places)
    print_line(fmt::format("  socket {}, NUMA node {}: cpu{}", place.first, place.second, cpus),
               indent);
  print_device_fact("threads", fmt::format("{}", report.threads));
  if (!report.thread_limit.empty()) fmt::print("  {}\n", report.thread_limit);
  std::string isas;
  for (const Isa isa : report.isas) isas += fmt::format("{} ", to_string(isa));
  print_device_fact("instruction sets",
                    fmt::format("{}(used: {})", isas, to_string(report.isas.back())));
  print_peak(report);
  print_solvers(report);
  print_device_fact(
      "GPUs",
      fmt::format("{}{}", report.gpus.size(),
                  report.gpu_driver.empty() ? "" : ", driver for CUDA " + report.gpu_driver));
  for (const DevicesReport::GpuEntry& entry : report.gpus) print_gpu(entry);
  if (!report.no_gpu.empty()) print_line("  not used: " + report.no_gpu, indent);
}

void print_json(const DevicesReport& report) {
  const Machine& machine = report.machine;
  const Processor& processor = report.processor;
  Json json{{"host", machine.host}, {"wallheat", version()}, {"mpi", report.mpi}};
  Json cpu{{"model", processor.model},
           {"sockets", report.sockets()},
           {"host_cores", known(machine.host_cores)},
           {"threads", report.threads},
           {"clock_hz", known(processor.clock_hz)},
           {"first_cache_bytes", known(processor.first_cache_bytes)},
           {"second_cache_bytes", known(processor.second_cache_bytes)},
           {"third_cache_bytes", known(processor.third_cache_bytes)},
           {"vector_doubles", report.lanes()},
           {"fp64_per_second_of_one_vector_unit_a_core", known(report.fp64_per_second())}};
  for (const Isa isa : report.isas) cpu["instruction_sets"].push_back(to_string(isa));
  for (const Core& core : machine.cores)
    cpu["cores"].push_back({{"cpu", core.cpu}, {"socket", core.socket}, {"numa", core.numa}});
  cpu["sample_side"] = sample_side;
  for (const auto& [kind, plans_per_s] : report.solvers)
    cpu["plans_per_s"][std::string(to_string(kind))] = plans_per_s;
  json["cpu"] = std::move(cpu);
  json["gpus"] = Json::array();
  for (const auto& [gpu, properties] : report.gpus) {
    json["gpus"].push_back(
        {{"ordinal", gpu.ordinal},
         {"name", gpu.name},
         {"uuid", gpu.uuid},
         {"memory_bytes", gpu.memory_bytes},
         {"numa", gpu.numa},
         {"compute_capability",
          properties.capability == 0
              ? Json(nullptr)
              : Json(fmt::format("{}.{}", properties.capability / 10, properties.capability % 10))},
         {"multiprocessors", known(properties.multiprocessors)},
         {"clock_hz", known(properties.clock_hz)},
         {"memory_bytes_per_second", known(properties.memory_bytes_per_second)}});
  }
  json["gpu_driver_cuda"] = report.gpu_driver.empty() ? Json(nullptr) : Json(report.gpu_driver);
  json["no_gpu"] = report.no_gpu.empty() ? Json(nullptr) : Json(report.no_gpu);
  fmt::print("{}", json_text(json));
}

}  // namespace wallheat
