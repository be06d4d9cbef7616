// The program on a host with four fake GPUs: number 2 fails for each plan, and number 3 fails its
// verification. As with CUDA, CUDA_VISIBLE_DEVICES may select one of them. WALLHEAT_GO names a file
// for which the solver processes of rank 2 wait before they load, and all GPUs with a patient plan.

#include <cstdlib>
#include <fstream>
#include <string>

#include "cli/commands.hpp"
#include "mpi/mpi_environment.hpp"
#include "support/fake_gpu.hpp"
#include "support/process.hpp"

namespace wallheat {
namespace {

constexpr int gpus = 4;
constexpr const char* broken = "GPU-fake-2";
constexpr const char* unfit = "GPU-fake-3";

std::string file_to_wait_for() {
  const char* file = std::getenv("WALLHEAT_GO");
  return file == nullptr ? "" : file;
}

}  // namespace

GpuSupport gpu_support() {
  GpuSupport support;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  for (int number = 0; number < gpus; ++number) {
    if (visible != nullptr && std::to_string(number) != visible) continue;
    support.gpus.push_back({.ordinal = static_cast<int>(support.gpus.size()),
                            .name = "Fake GPU",
                            .uuid = "GPU-fake-" + std::to_string(number),
                            .memory_bytes = 3ULL << 30,
                            .numa = 0});
  }
  return support;
}

GpuProperties gpu_properties(int) {
  return {
      .capability = 90, .multiprocessors = 132, .clock_hz = 2e9, .memory_bytes_per_second = 4.8e12};
}

std::string gpu_driver() { return "12.4"; }

std::shared_ptr<GpuDevice> open_gpu(int ordinal, const std::function<void(const std::string&)>&) {
  const Gpu gpu = gpu_support().gpus.at(static_cast<std::size_t>(ordinal));
  if (const char* file = std::getenv("WALLHEAT_FAKE_GPU_QUEUES")) {
    const char* queues = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    std::ofstream(file) << (queues == nullptr ? "" : queues);
  }
  if (gpu.uuid == unfit) throw DeviceFault("the fake GPU does not know the known answer");
  return std::make_shared<FakeGpu>(file_to_wait_for(), gpu.uuid == broken);
}

}  // namespace wallheat

int main(int argc, char** argv) {
  using namespace wallheat;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (launched_rank() == 2 && !file_to_wait_for().empty() && words.at(0) == "solver-process")
    wait_until("the file of WALLHEAT_GO",
               [] { return std::filesystem::exists(file_to_wait_for()); });
  return app_main(words);
}
