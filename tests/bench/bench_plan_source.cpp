// Floor plans a second that come out of a directory or a pack.
//
//   bench_plan_source PLANS [THREADS [ROUNDS]]

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

#include "store/packs/plan_pack.hpp"

int main(int argc, char** argv) {
  using namespace wallheat;
  using Clock = std::chrono::steady_clock;
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: bench_plan_source PLANS [THREADS [ROUNDS]]\n");
    return 2;
  }
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  try {
    const auto start = Clock::now();
    const auto source = open_plan_source(argv[1]);
    const auto ids = source->ids().ids;
    const std::chrono::duration<double> opening = Clock::now() - start;
    std::printf("opened in %.4f s: %zu plans\n", opening.count(), ids.size());
    for (int round = 0; round < rounds; ++round) {
      std::atomic<std::size_t> next = 0, cells = 0;
      const auto begin = Clock::now();
      {
        std::vector<std::jthread> workers;
        for (int thread = 0; thread < threads; ++thread) {
          workers.emplace_back([&] {
            try {
              for (std::size_t i = next++; i < ids.size(); i = next++)
                cells += source->load(ids[i]).domain.cells.size();
            } catch (const std::exception& error) {
              std::fprintf(stderr, "%s\n", error.what());
              std::exit(1);
            }
          });
        }
      }
      const std::chrono::duration<double> seconds = Clock::now() - begin;
      std::printf("%d thread(s): %.0f plans/s, %.2f G cells/s\n", threads,
                  static_cast<double>(ids.size()) / seconds.count(),
                  static_cast<double>(cells) / seconds.count() * 1e-9);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
