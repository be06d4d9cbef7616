// A short test without libFuzzer: the seeds of a target and mutations of them, identical in every
// run.
//
//   fuzz TARGET

#include <algorithm>
#include <cstdio>
#include <random>

#include "target.hpp"

namespace wallheat::fuzz {
namespace {

std::mt19937 random_number(20);

std::size_t below(std::size_t end) { return random_number() % end; }

void edit(std::string& input, const std::string& other) {
  const std::size_t at = below(input.size() + 1);
  const std::size_t length = std::min(input.size() - at, 1 + below(16));
  const std::size_t how = below(6);
  if (how == 0 && length > 0) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
  if (how == 1 && length > 0) input[at] = static_cast<char>(below(256));
  if (how == 2) input.replace(at, length, length, below(2) == 0 ? '\0' : '\xff');
  if (how == 3) input.erase(at, length);
  if (how == 4) input.resize(at);
  if (how == 5) input.insert(at, other.substr(below(other.size() + 1), 1 + below(64)));
}

/// Returns false if there is a finding.
bool test(const Target& target) {
  const auto seeds = target.seeds();
  for (std::size_t number = 0; number < seeds.size() + target.mutations; ++number) {
    std::string input = seeds[number < seeds.size() ? number : below(seeds.size())];
    if (number >= seeds.size())
      for (std::size_t edits = 1 + below(6); edits > 0; --edits)
        edit(input, seeds[below(seeds.size())]);
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
