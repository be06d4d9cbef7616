#include <gmock/gmock.h>

#include <cmath>

#include "core/generator.hpp"
#include "solve/worth_a_gpu.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

constexpr GridShape small{8, 10};
constexpr GridShape large{512, 512};

/// 15 GB/s, a CPU of 1 and a GPU of 1000 Gflop/s.
constexpr Offload published{.bytes_per_s = 15e9, .cpu_per_s = 1e9, .gpu_per_s = 1e12, .start_s = 0};

TEST(Offload, pays_from_the_published_figures_on) {
  EXPECT_NEAR(break_even_operations(published, 8), 0.534, 0.0005);
  EXPECT_NEAR(break_even_operations(published, 16), 1.068, 0.0005);
  EXPECT_NEAR(break_even_operations(published, 4), 0.267, 0.0005);
}

TEST(Offload, never_pays_on_a_slower_gpu) {
  EXPECT_TRUE(std::isinf(break_even_operations({1e9, 1e9, 1e9, 0}, 8)));
  EXPECT_EQ(break_even_plan_side({1e9, 1e9, 1e8, 0}), 0U);
}

TEST(Offload, breaks_even_where_both_take_as_long) {
  const Offload offload{.bytes_per_s = 2e9, .cpu_per_s = 3e9, .gpu_per_s = 9e9, .start_s = 1e-3};
  const double n = break_even_operations(offload, 1e6);
  EXPECT_NEAR(n / 3e9, 1e-3 + 1e6 / 2e9 + n / 9e9, 1e-12);
}

TEST(Offload, tells_the_size_of_plans) {
  constexpr Offload fast{
      .bytes_per_s = 15e9, .cpu_per_s = 8e10, .gpu_per_s = 2e12, .start_s = 1e-4};
  constexpr std::size_t side = break_even_plan_side(fast);
  EXPECT_GT(side, 100U);
  EXPECT_LT(side, 200U);
  const auto gain = [&](double length) {
    const double cells = length * length;
    return usual_updates(cells) - break_even_operations(fast, 17 * cells);
  };
  EXPECT_GE(gain(side), 0);
  EXPECT_LT(gain(side - 1.0), 0);
  Offload slow = fast;
  slow.start_s *= 10;
  EXPECT_GT(break_even_plan_side(slow), side);
}

TEST(Offload, knows_the_work_of_generated_plans) {
  for (const std::size_t side : {96, 160, 256}) {
    double updates = 0;
    constexpr std::uint64_t plans = 4;
    const auto solver = make_jacobi_solver(available_isas().back());
    for (std::uint64_t index = 0; index < plans; ++index) {
      const FloorPlan plan = generate_floor_plan(1, index, side);
      updates += static_cast<double>(count_interior(plan)) *
                 static_cast<double>(solver->solve(plan, {}, {})->iterations) / plans;
    }
    const double foreseen = usual_updates(static_cast<double>(side * side));
    EXPECT_GT(updates, foreseen / 2) << side;
    EXPECT_LT(updates, foreseen * 2) << side;
  }
}

// What NVIDIA's data sheets say: compute capability, multiprocessors, boost clock.
GpuProperties chip(int capability, int multiprocessors, double clock_hz) {
  GpuProperties properties{
      .capability = capability, .multiprocessors = multiprocessors, .clock_hz = clock_hz};
  properties.set_cores();
  return properties;
}
const GpuProperties t4 = chip(75, 40, 1.59e9);
const GpuProperties rtx_4090 = chip(89, 128, 2.52e9);
const GpuProperties a100 = chip(80, 108, 1.41e9);
const GpuProperties h200 = chip(90, 132, 1.755e9);

DeviceVerdict against(const GpuProperties& gpu, std::size_t cores,
                      const std::vector<GridShape>& shapes = {large}) {
  return compare_devices({.gpu_updates_per_s = expected_gpu_updates_per_s(gpu),
                          .core_updates_per_s = 5e9,
                          .cores = cores},
                         shapes);
}

TEST(WorthAGpu, is_a_matter_of_fp64_cores) {
  EXPECT_NEAR(expected_gpu_updates_per_s(h200), 1.3e12, 0.02e12);
  EXPECT_NEAR(expected_gpu_updates_per_s(a100), 4.3e11, 0.1e11);
  EXPECT_NEAR(expected_gpu_updates_per_s(t4), 1.1e10, 0.1e10);
  EXPECT_NEAR(expected_gpu_updates_per_s(rtx_4090), 5.6e10, 0.1e10);
}

TEST(WorthAGpu, is_a_matter_of_the_cores_that_would_solve_instead) {
  for (const GpuProperties& gpu : {t4, rtx_4090, a100, h200})
    EXPECT_TRUE(against(gpu, 1).takes_gpu()) << gpu.capability;
  for (const std::size_t cores : {16, 64}) {
    EXPECT_FALSE(against(t4, cores).takes_gpu()) << cores;
    EXPECT_FALSE(against(rtx_4090, cores).takes_gpu()) << cores;
    EXPECT_TRUE(against(a100, cores).takes_gpu()) << cores;
    EXPECT_TRUE(against(h200, cores).takes_gpu()) << cores;
  }
}

TEST(WorthAGpu, is_not_what_costs_more_to_start_than_to_solve) {
  EXPECT_FALSE(against(h200, 16, {small}).takes_gpu());
  // The large one takes nearly all of the time.
  EXPECT_TRUE(against(h200, 16, {small, large, small}).takes_gpu());
  EXPECT_TRUE(against(h200, 16, {}).takes_gpu()) << "nothing is known of the plans";
}

TEST(WorthAGpu, goes_by_plans_a_second) {
  const DeviceVerdict verdict = against(h200, 16);
  const double updates = usual_updates(512.0 * 512.0);
  EXPECT_NEAR(verdict.cpu_plans_per_s, 8e10 / updates, 1e-6);
  EXPECT_NEAR(1 / verdict.gpu_plans_per_s, 1e-4 + 17 * 512.0 * 512.0 / 15e9 + updates / 1.297e12,
              1e-6);
  EXPECT_THAT(verdict.why(), testing::HasSubstr("(expected: 1.3e+12 updates/s), 16 cores 68.1 "));
}

TEST(WorthAGpu, believes_what_was_measured) {
  DeviceRates rates = against(rtx_4090, 16).rates;
  rates.gpu_updates_per_s = 1.5e11;
  rates.gpu_measured = true;
  const DeviceVerdict verdict = compare_devices(rates, {large});
  EXPECT_TRUE(verdict.takes_gpu());
  EXPECT_THAT(verdict.why(), testing::HasSubstr("(measured: 1.5e+11 updates/s)"));
}

TEST(WorthAGpu, takes_a_gpu_that_it_does_not_know) {
  const DeviceVerdict verdict = against(chip(0, 0, 0), 64);
  EXPECT_TRUE(verdict.takes_gpu());
  EXPECT_THAT(verdict.why(), testing::HasSubstr("not known"));
}

TEST(WorthAGpu, measures_a_core_and_the_three_solvers) {
  const Isa isa = available_isas().back();
  EXPECT_GT(measure_core_updates_per_s(isa), 1e7);
  const double jacobi_s = measure_sample_plan_s(*make_jacobi_solver(isa));
  EXPECT_LT(measure_sample_plan_s(*make_fastforward_solver(isa)), jacobi_s);
  EXPECT_LT(measure_sample_plan_s(*make_steady_solver(isa)), jacobi_s);
}

}  // namespace
}  // namespace wallheat
