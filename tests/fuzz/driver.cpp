// A short test in place of libFuzzer: the seeds of a target and mutations of them, the same ones in
// every run.
//
//   fuzz TARGET

#include <cstdio>
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

/// False if there is a finding.
bool test(const Target& target) {
  const auto seeds = target.seeds();
  Mutator mutator(seeds);
  for (std::size_t number = 0; number < seeds.size() + target.mutations; ++number) {
    const std::string input = number < seeds.size() ? seeds[number] : mutator.next();
    try {
      target.read(input);
    } catch (const std::exception& error) {
      std::printf("input %zu: %s; its bytes in hex:\n", number, error.what());
      for (const char byte : input) std::printf("%02x", static_cast<unsigned char>(byte));
      std::printf("\n");
      return false;
    }
  }
  std::printf("%zu inputs, no finding\n", seeds.size() + target.mutations);
  return true;
}

}  // namespace
}  // namespace wallheat::fuzz

int main(int argc, char** argv) try {
  return wallheat::fuzz::test(wallheat::fuzz::target_of(argc == 2 ? argv[1] : "")) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 2;
}
