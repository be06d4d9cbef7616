// The fuzzer of libFuzzer, which has a main of its own. WALLHEAT_FUZZ_TARGET names the target; its
// seeds are written into the directory WALLHEAT_FUZZ_SEEDS before the corpus is read.

#include <cstdint>
#include <cstdlib>

#include "support/results.hpp"
#include "target.hpp"

namespace {

using namespace wallheat;

const fuzz::Target& chosen() {
  static const fuzz::Target& target = fuzz::target_of(std::getenv("WALLHEAT_FUZZ_TARGET"));
  return target;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::size_t number = 0;
  if (const char* directory = std::getenv("WALLHEAT_FUZZ_SEEDS"))
    for (const std::string& seed : chosen().seeds())
      write_bytes(std::filesystem::path(directory) / ("seed-" + std::to_string(number++)), seed);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().read({reinterpret_cast<const char*>(data), size});
  return 0;
}
