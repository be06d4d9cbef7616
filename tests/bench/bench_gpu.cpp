// What `wallheat bench --device gpu` measures, for a machine that has a GPU, a compiler and nothing
// else.
//   bench_gpu [--quick] [PLANS [SIZE [DIR]]]

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string_view>
#include <thread>

#include "bench/gpu_bench.hpp"
#include "core/plan_ids.hpp"
#include "solve/gpu/device.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace {

using namespace wallheat;

constexpr const char* usage =
    "Usage: bench_gpu [--quick] [PLANS [SIZE [DIR]]]\n"
    "Measures the first GPU against its own ceilings, a plain kernel and this machine's cores. "
    "Takes some minutes.\n"
    "  --quick  compares 64 plans bit by bit and measures for seconds, not minutes\n"
    "  PLANS  plans, and the most that are in flight (default: 512, 64 if quick)\n"
    "  SIZE   cells along a side of generated plans, 16 to 16384 (default: 512)\n"
    "  DIR    directory of floor plans to use, with a building_ids.txt (default: generated ones)\n"
    "Exit status: 0 measured, 1 there is no GPU or it failed, 2 wrong usage.\n";

/// False where the text is no number within bounds.
bool parse(std::string_view text, std::size_t least, std::size_t most, std::size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= least &&
         number <= most;
}

void measure(std::size_t count, std::size_t size, const char* directory, bool quick) {
  const Gpu gpu = gpu_to_measure();
  GpuBenchSettings settings;
  if (directory == nullptr) {
    settings.plans = generate_floor_plans(count, size);
  } else {
    const std::filesystem::path data = directory;
    const auto ids = read_ids(data / "building_ids.txt").ids;
    settings.files = {directory, ids.size(), [=](std::size_t number) {
                        return load_floor_plan(data, std::string(ids[number]));
                      }};
    for (std::size_t plan = 0; plan < std::min(count, ids.size()); ++plan)
      settings.plans.push_back(settings.files.load(plan));
  }
  settings.most_in_flight = settings.plans.size();
  settings.cpu_cores = std::max(1U, std::thread::hardware_concurrency());
  settings.cpu_solver = [](std::size_t) { return make_jacobi_solver(available_isas().back()); };
  if (quick) settings.make_quick();
  settings.tell = [](const std::string& what) {
    std::fprintf(stderr, "measuring %s\n", what.c_str());
  };
  std::fputs(to_text(measure_gpu(gpu, settings)).c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  use_all_gpu_queues();
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") {
    std::fputs(usage, stdout);
    return 0;
  }
  const bool quick = first == "--quick";
  if (quick) {
    --argc;
    ++argv;
  }
  std::size_t count = quick ? 64 : 512;
  std::size_t size = 512;
  const bool sound = argc <= 4 && (argc < 2 || parse(argv[1], 1, 1U << 20, count)) &&
                     (argc < 3 || parse(argv[2], 16, 16384, size));
  if (!sound) {
    std::fputs(usage, stderr);
    return 2;
  }
  try {
    measure(count, size, argc > 3 ? argv[3] : nullptr, quick);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu: %s\n", error.what());
    return 1;
  }
}
