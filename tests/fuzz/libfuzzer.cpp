// Entry points of libFuzzer, which has its own main(). WALLHEAT_FUZZ_TARGET names the target; its
// seeds are written to the directory WALLHEAT_FUZZ_SEEDS before the corpus is read.

#include <cstdint>
#include <cstdlib>

#include "support/results.hpp"
#include "target.hpp"

namespace {

const wallheat::fuzz::Target& chosen() {
  static const auto& target = wallheat::fuzz::target_of(std::getenv("WALLHEAT_FUZZ_TARGET"));
  return target;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const std::filesystem::path directory(std::getenv("WALLHEAT_FUZZ_SEEDS"));
  std::size_t number = 0;
  for (const std::string& seed : chosen().seeds())
    wallheat::write_bytes(directory / ("seed-" + std::to_string(number++)), seed);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().read({reinterpret_cast<const char*>(data), size});
  return 0;
}
