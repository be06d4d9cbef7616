// Tests that need a GPU; machine/test_gpu_solver.cpp has the others. Without a GPU these tests are
// skipped with a reason.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/generator.hpp"
#include "solve/gpu/device.hpp"
#include "solve/gpu/solver.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

using gpu::Kernel;

// The program calls this, too, before any use of CUDA.
const bool queues_are_set = (use_all_gpu_queues(), true);

void ignore(const std::string&) {}

TEST(GpuSupport, GivesReasonWhenNoGpuIsUsable) {
  const GpuSupport support = gpu_support();
  EXPECT_NE(support.gpus.empty(), support.reason.empty()) << support.reason;
  EXPECT_THROW((void)open_gpu(4711, ignore), RunError);
}

class GpuKernelTest : public testing::TestWithParam<Kernel> {
 protected:
  void SetUp() override {
    const GpuSupport support = gpu_support();
    if (support.gpus.empty()) GTEST_SKIP() << support.reason;
    device_ = std::dynamic_pointer_cast<gpu::DeviceWithKernels>(open_gpu(0, ignore));
    ASSERT_TRUE(device_);
    if (GetParam() == Kernel::cluster && !device_->has_clusters())
      GTEST_SKIP() << "this GPU has no clusters";
  }
  [[nodiscard]] std::unique_ptr<Solver> solver() const { return device_->make_solver(GetParam()); }

  std::shared_ptr<gpu::DeviceWithKernels> device_;
};

TEST_P(GpuKernelTest, MatchesReferenceForEveryShape) {
  const auto reference = make_reference_solver();
  const auto on_gpu = solver();
  for (const auto& [name, plan, limits] : iteration_cases(3000))
    expect_same_bits(*on_gpu, *reference, plan, limits, name);
}

TEST_P(GpuKernelTest, MatchesCpuAtEverySize) {
  const auto cpu = make_jacobi_solver(available_isas().back());
  const auto on_gpu = solver();
  // From one block to more blocks than fit on the chip, and with rooms up to the edges.
  for (const std::size_t side : {31U, 64U, 127U, 128U, 129U, 250U, 480U, 1000U})
    for (const unsigned percent : {60U, 100U})
      expect_same_bits(*on_gpu, *cpu, random_plan(side, side + side / 16, percent, 5), {1e-4, 777},
                       std::to_string(side));
  for (const std::uint64_t index : {0, 1, 2})
    for (int repeat = 0; repeat < 3; ++repeat)
      expect_same_bits(*on_gpu, *cpu, generate_floor_plan(3, index, 512), {},
                       "plan " + std::to_string(index) + " to its end");
}

// Short enough for compute-sanitizer.
TEST_P(GpuKernelTest, MatchesCpuInSeveralBlocks) {
  const auto cpu = make_jacobi_solver(available_isas().back());
  const auto on_gpu = solver();
  for (const std::size_t side : {127U, 200U, 512U})
    expect_same_bits(*on_gpu, *cpu, generate_floor_plan(5, side, side), {1e-4, 40},
                     std::to_string(side));
}

TEST_P(GpuKernelTest, MatchesCpuWithHeatSourcesInEitherNorm) {
  const auto cpu = make_jacobi_solver(available_isas().back());
  const auto on_gpu = solver();
  for (const std::uint64_t index : {0, 1, 2})
    for (const FloorPlan& plan :
         {generate_poisson_plan(1, index, 256), generate_floor_plan(1, index, 256)})
      for (const Norm norm : {Norm::max, Norm::l2})
        expect_same_bits(
            *on_gpu, *cpu, plan,
            {.tolerance = 1e-4, .max_iterations = 3000, .norm = norm, .spacing = 1.0 / 256},
            std::to_string(index));
}

TEST_P(GpuKernelTest, MatchesCpuWithConcurrentPlans) {
  const auto cpu = make_jacobi_solver(available_isas().back());
  const SolveParameters limits{1e-4, 2000};
  std::vector<FloorPlan> plans;
  std::vector<Solution> expected;
  for (const std::size_t side : {40U, 96U, 200U, 330U, 64U, 150U, 256U}) {
    plans.push_back(generate_floor_plan(9, side, side));
    expected.push_back(*cpu->solve(plans.back(), limits, {}));
  }
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < device_->plans_at_once(); ++thread) {
    threads.emplace_back([&, thread] {
      const auto own = solver();
      for (std::size_t turn = 0; turn < plans.size(); ++turn) {
        const std::size_t plan = (thread + turn) % plans.size();
        expect_same_bits(*own->solve(plans[plan], limits, {}), expected[plan],
                         "plan " + std::to_string(plan) + " in thread " + std::to_string(thread));
      }
    });
  }
}

TEST_P(GpuKernelTest, StopsOnRequest) {
  std::stop_source stop;
  const SolveControl control{stop.get_token(), [&](std::int64_t, double) { stop.request_stop(); }};
  EXPECT_FALSE(solver()->solve(room(400, 400), {0, 1'000'000'000}, control));
}

INSTANTIATE_TEST_SUITE_P(EveryKernel, GpuKernelTest, testing::ValuesIn(gpu::every_kernel),
                         [](const auto& test) { return to_string(test.param); });

}  // namespace
}  // namespace wallheat
