#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>

#include "core/threads.hpp"

namespace wallheat {
namespace {

using testing::ThrowsMessage;

TEST(ParallelFor, RethrowsExceptionOfLowestStep) {
  constexpr std::chrono::seconds long_time{60};
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::promise<void> second_failed;
    const auto run = [&] {
      parallel_for(2, 3, [&] {
        return [&](std::size_t i) {
          if (i == 1) second_failed.set_value();
          if (i == 0 && second_failed.get_future().wait_for(long_time) != std::future_status::ready)
            throw std::runtime_error("the steps were not in different threads");
          throw std::runtime_error("step " + std::to_string(i));
        };
      });
    };
    EXPECT_THAT(run, ThrowsMessage<std::runtime_error>("step 0"));
  }
}

}  // namespace
}  // namespace wallheat
