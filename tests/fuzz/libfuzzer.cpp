// What a target needs beside libFuzzer's own main: with WALLHEAT_FUZZ_SEEDS=DIR its seeds are
// written to DIR before the corpus is read.

#include <cstdlib>

#include "target.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* directory = std::getenv("WALLHEAT_FUZZ_SEEDS")) {
    std::size_t number = 0;
    for (const auto& seed : wallheat::fuzz::seeds()) {
      wallheat::fuzz::write_file(
          std::filesystem::path(directory) / ("seed-" + std::to_string(number++)), seed);
    }
  }
  return 0;
}
