// A short test in place of libFuzzer: the seeds of a target and COUNT mutations of them, the same
// ones in every run.
//
//   fuzz_NAME COUNT

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "target.hpp"

namespace wallheat::fuzz {
namespace {

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string input = any_seed();
    for (std::size_t edits = 1 + below(6); edits > 0; --edits) edit(input);
    return input;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  const std::string& any_seed() { return seeds_[below(seeds_.size())]; }

  void edit(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = std::min(input.size() - at, 1 + below(16));
    switch (below(7)) {
      case 0:
        if (length > 0) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        if (length > 0) input[at] = static_cast<char>(below(256));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.resize(at);
        break;
      case 4:
        input.insert(at, input.substr(below(input.size() + 1), 1 + below(64)));
        break;
      case 5: {
        const std::string& other = any_seed();
        input.insert(at, other.substr(below(other.size() + 1), 1 + below(64)));
        break;
      }
      case 6:  // the ends of the numbers' ranges
        std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(at), length,
                    static_cast<char>(below(2) == 0 ? 0 : 0xff));
        break;
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937 random_{20};
};

void run_on(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

int drive(std::size_t count) {
  const auto first = seeds();
  Mutator mutator(first);
  for (std::size_t number = 0; number < first.size() + count; ++number) {
    const std::string input = number < first.size() ? first[number] : mutator.next();
    try {
      run_on(input);
    } catch (const std::exception& error) {
      std::printf("input %zu: %s; its bytes in hex:\n", number, error.what());
      for (const char byte : input) std::printf("%02x", static_cast<unsigned char>(byte));
      std::printf("\n");
      return 1;
    }
  }
  std::printf("%zu inputs, no finding\n", first.size() + count);
  return 0;
}

}  // namespace
}  // namespace wallheat::fuzz

int main(int argc, char** argv) {
  if (argc == 2) return wallheat::fuzz::drive(std::strtoul(argv[1], nullptr, 10));
  std::fprintf(stderr, "usage: %s COUNT\n", argv[0]);
  return 2;
}
