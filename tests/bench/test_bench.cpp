#include "bench/bench.hpp"
#include "core/generator.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// A fake GPU that uses the CPU solver; its result for one plan may be wrong.
class FakeDevice final : public GpuDevice {
 public:
  std::unique_ptr<GpuSolver> make_solver() override { return std::make_unique<FakeSolver>(*this); }
  std::size_t plans_at_once() const override { return 6; }

  const FloorPlan* wrong_plan = nullptr;
  bool fails = false;

 private:
  class FakeSolver final : public GpuSolver {
   public:
    explicit FakeSolver(const FakeDevice& device) : device_(device) {}
    std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                  const SolveControl& control) override {
      if (device_.fails) throw DeviceFault("the GPU has fallen off its bus");
      auto solution = solver_->solve(plan, limits, control);
      if (device_.wrong_plan == &plan) solution->field.cells.front() += 1e-15;
      return solution;
    }

   private:
    const FakeDevice& device_;
    std::unique_ptr<Solver> solver_ = make_jacobi_solver(Isa::baseline);
  };
};

class MeasureGpuTest : public testing::Test {
 protected:
  MeasureGpuTest() {
    settings_.limits = {1e-4, 20};
    settings_.plans = generate_floor_plans(4, 16);
    settings_.cpu_cores = 2;
    settings_.cpu_solver = [](std::size_t) { return make_jacobi_solver(Isa::baseline); };
    settings_.sides = {16, 24};
    settings_.min_seconds = 0;
    settings_.log = [](const std::string&) {};
  }

  FakeDevice device_;
  GpuBenchSettings settings_;
};

TEST_F(MeasureGpuTest, MeasuresSeveralNumbersOfPlansInFlight) {
  const GpuBench bench = measure_gpu(device_, settings_);
  EXPECT_EQ(bench.compared, 4U);
  std::vector<std::size_t> in_flight;
  for (const Throughput& flow : bench.flows) {
    in_flight.push_back(flow.in_flight);
    EXPECT_GE(flow.plans, flow.in_flight);
  }
  EXPECT_THAT(in_flight, ElementsAre(1, 2, 4, 6));
  EXPECT_EQ(bench.flows[0].plans, 1U);
  EXPECT_EQ(bench.flows[0].updates, 20.0 * static_cast<double>(count_interior(settings_.plans[0])));
  ASSERT_EQ(bench.sides.size(), 2U);
  EXPECT_EQ(bench.sides[1].side, 24U);
}

TEST_F(MeasureGpuTest, RejectsGpuWithWrongResults) {
  device_.wrong_plan = &settings_.plans.back();
  EXPECT_THAT(error_message_of<RunError>([&] { (void)measure_gpu(device_, settings_); }),
              Mentions({"plan", "3"}));
}

TEST_F(MeasureGpuTest, ThrowsFaultOfGpu) {
  device_.fails = true;
  EXPECT_THROW((void)measure_gpu(device_, settings_), DeviceFault);
}

TEST(MeasureFirstGpu, RequiresGpu) {
  if (!gpu_support().gpus.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THROW((void)measure_first_gpu({}), RunError);
}

/// A solver that records the masks of its plans.
class RecordingSolver final : public Solver {
 public:
  std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& /*limits*/,
                                const SolveControl& /*control*/) override {
    masks.push_back(plan.interior);
    return Solution{plan.domain};
  }
  std::vector<Grid<std::uint8_t>> masks;
};

TEST(MeasureSamplePlan, ChangesMaskBeforeEachRun) {
  RecordingSolver solver;
  (void)measure_sample_plan_s(solver);
  const Grid<std::uint8_t> mask = generate_floor_plan(1, 0, sample_grid_size).interior;
  EXPECT_GE(std::ranges::count(solver.masks, mask), 3) << "the sample plan itself";
  for (std::size_t i = 0; i < solver.masks.size(); ++i) {
    EXPECT_EQ(solver.masks[i].rows, mask.rows);
    if (solver.masks[i] == mask) {
      ASSERT_GT(i, 0U);
      EXPECT_NE(solver.masks[i - 1], mask) << "steady would reuse its set-up";
    }
  }
}

TEST(ReferenceProfile, CountsEachStepInEveryIteration) {
  const FloorPlan plan = generate_floor_plan(1, 0, 64);
  for (const SolveParameters limits : {SolveParameters{1e-4, 20000}, SolveParameters{1e-4, 7}}) {
    SolverOptions solver;
    solver.limits = limits;
    const auto expected = make_reference_solver()->solve(plan, limits, {});
    const ReferenceProfile profile = profile_reference(plan, solver);
    EXPECT_EQ(profile.iterations, expected->iterations);
    EXPECT_EQ(profile.converged, expected->converged);
    ASSERT_EQ(profile.steps.size(), 5U);
    EXPECT_THAT(profile.steps, Each(Field(&ProfiledStep::hits, expected->iterations)));
    double seconds = 0;
    for (const ProfiledStep& step : profile.steps) seconds += step.seconds;
    EXPECT_EQ(seconds, profile.total_seconds);
    EXPECT_GT(profile.speedup(), 0);
  }
}

TEST(ReferenceProfile, RejectsPlanWithoutInteriorCells) {
  const FloorPlan wall{Grid<double>(4, 4, 5.0), Grid<std::uint8_t>(4, 4)};
  EXPECT_THROW((void)profile_reference(wall, {}), InputError);
}

}  // namespace
}  // namespace wallheat
