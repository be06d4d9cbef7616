#include <atomic>
#include <cmath>
#include <mutex>
#include <set>

#include "bench/gpu_bench.hpp"
#include "bench/gpu_crossover.hpp"
#include "core/generator.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

TEST(BreakEven, is_where_the_rates_cross) {
  EXPECT_NEAR(break_even_side({{64, 1, 2}, {256, 2, 1}}), 128, 1e-9);
  EXPECT_EQ(break_even_side({{64, 2, 1}, {256, 2, 1}}), 64) << "ahead everywhere";
  EXPECT_TRUE(std::isnan(break_even_side({{64, 2, 1}, {256, 1, 2}}))) << "behind at the largest";
  EXPECT_NEAR(break_even_side({{32, 2, 1}, {64, 1, 2}, {256, 2, 1}}), 128, 1e-9)
      << "a lead that is lost again does not count";
  EXPECT_TRUE(std::isnan(break_even_side({})));
}

/// Stands for a GPU: the CPU's solver, with a count of its solvers and an answer that may be wrong.
class FakeDevice final : public GpuDevice {
 public:
  std::unique_ptr<Solver> make_solver() override {
    ++solvers;
    return std::make_unique<FakeSolver>(*this);
  }
  std::size_t plans_at_once() const override { return 3; }
  std::vector<GpuKernel> kernels() const override { return {{.name = "a kernel", .launches = 3}}; }

  std::atomic<int> solvers = 0;
  const FloorPlan* lies_about = nullptr;
  bool fails = false;

 private:
  class FakeSolver final : public Solver {
   public:
    explicit FakeSolver(const FakeDevice& device) : device_(device) {}
    std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                  const SolveControl& control) override {
      if (device_.fails) throw DeviceFault("the GPU has fallen off its bus");
      auto solution = solver_->solve(plan, limits, control);
      if (device_.lies_about == &plan) solution->field.cells.front() += 1e-15;
      return solution;
    }

   private:
    const FakeDevice& device_;
    std::unique_ptr<Solver> solver_ = make_jacobi_solver(Isa::baseline);
  };
};

class MeasureGpu : public testing::Test {
 protected:
  MeasureGpu() {
    settings_.limits = {1e-4, 20};
    settings_.plans = generate_floor_plans(4, 16);
    settings_.most_in_flight = 5;
    settings_.cpu_cores = 2;
    settings_.cpu_solver = [](std::size_t) { return make_jacobi_solver(Isa::baseline); };
    settings_.sides = {16, 24};
    settings_.least_s = 0;
    gpu_.name = "a fake";
    gpu_.device = &device_;
    gpu_.baseline = [](std::size_t) { return make_reference_solver(); };
    gpu_.ceiling = {4e9, 16e9};
    gpu_.copies = {10e9, 20e9, 30e9, 60e9, 3e9, 4e9};
    gpu_.kernels = {{"of a kind", [this](std::size_t) { return device_.make_solver(); }}};
  }

  FakeDevice device_;
  GpuUnderTest gpu_;
  GpuBenchSettings settings_;
};

TEST_F(MeasureGpu, measures_every_number_of_plans_in_flight) {
  const GpuBench bench = measure_gpu(gpu_, settings_);
  ASSERT_EQ(bench.flows.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const Flow& flow = bench.flows[i];
    EXPECT_EQ(flow.in_flight, std::size_t{1} << i);
    EXPECT_GE(flow.plans, flow.in_flight);
    EXPECT_GT(flow.updates, 0);
  }
  // Three compare; alone; 1, 2 and 4 in flight; 3 of a kernel; 3 end to end; 3 for each of two
  // sides.
  EXPECT_EQ(device_.solvers, 3 + 1 + 1 + 2 + 4 + 3 + 3 + 3 + 3);
  EXPECT_EQ(bench.compared, 4U);
  EXPECT_EQ(bench.by_kernel.at(0).flow.in_flight, 3U);
  EXPECT_EQ(bench.sides.size(), 2U);
  EXPECT_EQ(bench.alone.size(), 3U);
  EXPECT_GT(bench.speedup_alone(), 0);
}

TEST_F(MeasureGpu, counts_updates_of_interior_cells) {
  settings_.plans.resize(1);
  settings_.most_in_flight = 1;
  const auto interior = static_cast<double>(count_interior(settings_.plans[0]));
  const Flow flow = measure_gpu(gpu_, settings_).flows.at(0);
  EXPECT_EQ(flow.updates, interior * 20 * static_cast<double>(flow.plans));
}

TEST_F(MeasureGpu, takes_every_plan_of_a_data_set_end_to_end) {
  std::mutex mutex;
  std::multiset<std::size_t> loaded;
  settings_.files = {"a folder", 10, [&](std::size_t number) {
                       const std::scoped_lock lock(mutex);
                       loaded.insert(number);
                       return generate_floor_plan(1, number, 16);
                     }};
  const GpuBench bench = measure_gpu(gpu_, settings_);
  EXPECT_EQ(bench.end_to_end.plans, 10U);
  for (std::size_t number = 0; number < 10; ++number) EXPECT_EQ(loaded.count(number), 1U);
  EXPECT_THAT(to_text(bench), HasSubstr("end to end, from a folder"));
}

TEST_F(MeasureGpu, refuses_a_gpu_that_gives_wrong_answers) {
  device_.lies_about = &settings_.plans.back();
  EXPECT_THAT(refusal_of<RunError>([&] { (void)measure_gpu(gpu_, settings_); }),
              HasSubstr("plan number 3"));
}

TEST_F(MeasureGpu, ends_with_what_a_failing_gpu_said) {
  device_.fails = true;
  EXPECT_THROW((void)measure_gpu(gpu_, settings_), DeviceFault);
}

TEST(Offload, of_a_benchmark_is_what_was_measured) {
  GpuBench bench;
  bench.copies = {
      .up_pageable = 10e9, .up_pinned = 20e9, .down_pageable = 30e9, .down_pinned = 60e9};
  bench.alone = {{0, 1, 2, 6e9}, {1, 1, 1, 3e9}};
  bench.cpu_cores = 4;
  bench.flows.resize(2);
  bench.flows[0].seconds = 2;
  bench.flows[0].updates = 2e11;
  bench.flows[1].seconds = 1;
  bench.flows[1].updates = 3e11;
  EXPECT_TRUE(std::isnan(bench.offload(false).start_s));
  bench.sides = {{32, 5000, 9000}, {64, 4000, 1000}};
  const Offload offload = bench.offload(false);
  EXPECT_DOUBLE_EQ(offload.bytes_per_s, 15e9) << "up and down";
  EXPECT_DOUBLE_EQ(bench.offload(true).bytes_per_s, 30e9);
  EXPECT_DOUBLE_EQ(offload.cpu_per_s, 4 * 3e9);
  EXPECT_DOUBLE_EQ(offload.gpu_per_s, 3e11);
  EXPECT_DOUBLE_EQ(offload.start_s, 2e-4);
}

TEST_F(MeasureGpu, says_everything_in_words) {
  const std::string text = to_text(measure_gpu(gpu_, settings_));
  for (const char* part :
       {"a fake", "1.0 G cell updates/s by 0.00 T FP64", "in flight", "end to end, from memory",
        "a plan alone", "compared  4 plans", "the kernel of a kind", "a kernel", "2 core(s)",
        "the GPU is ", "20.0 pinned, 3.0 mapped (by a kernel); down",
        "when a transfer to the GPU pays: B 15.0 GB/s pageable, 30.0 pinned", "operations a double",
        "to start one"})
    EXPECT_THAT(text, HasSubstr(part));
}

GpuModel model_called(const std::string& name) {
  for (GpuModel& model : known_gpu_models())
    if (model.name == name) return model;
  ADD_FAILURE() << name;
  return {};
}

TEST(ModelCrossover, has_the_gpu_behind_small_plans_and_a_slow_one_behind_many_cores) {
  const auto against = [](const char* name, std::size_t cores) {
    return model_crossover(model_called(name), cores, Isa::baseline, {16, 128},
                           [](const std::string&) {});
  };
  const GpuCrossover fast = against("h200", 4);
  ASSERT_EQ(fast.sides.size(), 2U);
  EXPECT_LT(fast.sides[0].jacobi.gpu_plans_per_s, 1e4) << "the start of a plan counts";
  EXPECT_GT(fast.break_even_side, 16);
  EXPECT_LT(fast.break_even_side, 128);
  for (const GpuCrossover::Side& side : fast.sides) {
    EXPECT_GT(side.fastforward, 0);
    EXPECT_GT(side.steady, 0);
  }
  const GpuCrossover slow = against("t4", 4096);
  EXPECT_TRUE(std::isnan(slow.break_even_side));
  EXPECT_LT(slow.rates.gpu_updates_per_s, fast.rates.gpu_updates_per_s / 50);
}

TEST(MeasureGpuHere, needs_a_gpu) {
  if (gpu_support().can_solve) GTEST_SKIP() << "there is a GPU";
  EXPECT_THROW((void)gpu_to_measure(), RunError);
}

/// On a real GPU.
class GpuBaseline : public testing::Test {
 protected:
  void SetUp() override {
    const GpuSupport support = gpu_support();
    if (!support.can_solve) GTEST_SKIP() << support.reason;
  }
};

TEST_F(GpuBaseline, solves_as_the_reference_does) {
  for (std::uint64_t index = 0; index < 4; ++index) {
    const FloorPlan plan = generate_floor_plan(1, index, 96);
    const Solution expected = make_reference_solver()->solve(plan, {}, {}).value();
    const Solution solution = make_gpu_baseline_solver(0)->solve(plan, {}, {}).value();
    EXPECT_EQ(solution.iterations, expected.iterations);
    EXPECT_EQ(solution.last_delta, expected.last_delta);
    EXPECT_EQ(solution.field, expected.field);
  }
}

TEST_F(GpuBaseline, has_a_ceiling) {
  const GpuCeiling ceiling = measure_gpu_ceiling(0);
  EXPECT_GT(ceiling.updates_by_fp64(), 0);
  EXPECT_GT(ceiling.updates_by_shared_memory(), 0);
}

}  // namespace
}  // namespace wallheat
