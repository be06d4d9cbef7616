// The GPU back end on a "GPU" of ordinary threads: what its kernels compute, how their threads wait
// for each other, and what its host side makes of it. None of this needs a GPU; what does is in
// test_gpu.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/generator.hpp"
#include "solve/gpu/solver.hpp"
#include "solve/gpu/tiling.hpp"
#include "support/host_stream.hpp"
#include "support/refusal.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

std::unique_ptr<GpuSolver> host_solver(Kernel kernel, HostStream::FreeBytes free = nullptr) {
  return make_gpu_solver(std::make_unique<HostStream>(std::move(free)), kernel);
}

/// The same, with a look at what it gives its stream.
struct WatchedSolver {
  explicit WatchedSolver(Kernel kernel = Kernel::cluster) {
    auto owned = std::make_unique<HostStream>();
    stream = owned.get();
    solver = make_gpu_solver(std::move(owned), kernel);
  }
  const HostStream* stream;
  std::unique_ptr<GpuSolver> solver;
};

class EveryKernel : public testing::TestWithParam<Kernel> {};

TEST_P(EveryKernel, gives_the_bits_of_the_reference) {
  const auto reference = make_reference_solver();
  const auto solver = host_solver(GetParam());
  for (const auto& [name, plan, limits] : iteration_cases(70))
    expect_same_bits(*solver, *reference, plan, limits, name);
  expect_same_bits(*solver, *reference, generate_floor_plan(7, 0, 64), {1e-4, 300}, "generated");
}

TEST_P(EveryKernel, leaves_nothing_of_a_plan_to_the_next) {
  const auto solver = host_solver(GetParam());
  const FloorPlan plan = random_plan(37, 41, 80, 7);
  const auto expected = *make_reference_solver()->solve(plan, {1e-4, 100}, {});
  for (int repeat = 0; repeat < 2; ++repeat) {
    expect_same_bits(*solver->solve(plan, {1e-4, 100}, {}), expected, "repeat");
    (void)solver->solve(room(48, 52), {1e-2, 20}, {});
  }
}

TEST_P(EveryKernel, tells_how_far_it_is) {
  std::int64_t last = 0;
  const SolveControl control{{}, [&](std::int64_t iterations, double delta) {
                               EXPECT_GT(iterations, last);
                               EXPECT_GT(delta, 0);
                               last = iterations;
                             }};
  const auto solution = host_solver(GetParam())->solve(room(20, 20), {1e-3, 500}, control);
  EXPECT_EQ(last, solution->iterations);
}

INSTANTIATE_TEST_SUITE_P(On_host_threads, EveryKernel, testing::ValuesIn(every_kernel),
                         [](const auto& test) { return to_string(test.param); });

TEST(GpuSolver, takes_the_fewest_blocks_that_hold_a_plan_and_streams_what_is_too_large) {
  struct Case {
    std::size_t side;
    int blocks;  // of 32 tiles, at most 5; 0: streamed
  };
  for (const auto& [side, blocks] : {Case{20, 1}, {40, 1}, {48, 2}, {72, 3}, {96, 5}, {104, 0}}) {
    const WatchedSolver watched;
    const FloorPlan plan = random_plan(side, side, 100, 1);
    expect_same_bits(*watched.solver, *make_reference_solver(), plan, {1e-4, 12},
                     std::to_string(side));
    EXPECT_EQ(watched.stream->last_blocks, blocks) << side;
    EXPECT_EQ(watched.stream->streaming_launches > 0, blocks == 0) << side;
  }
}

TEST(Tiling, deals_the_tiles_row_by_row) {
  const FloorPlan plan = random_plan(64, 64, 100, 1);
  const Tiling tiling(plan.interior, 24);  // 22 tiles of 64 in each of two blocks, 20 in the last
  ASSERT_EQ(tiling.blocks(), 3U);
  ASSERT_EQ(tiling.threads(), 32U);
  std::vector<std::int32_t> neighbours(tiling.slots() * sides);
  tiling.load_neighbours(neighbours.data());
  const auto neighbour = [&](std::size_t slot, Side side) {
    return neighbours[slot * sides + side];
  };
  for (const std::size_t slot : {0U, 6U, 20U, 32U}) EXPECT_EQ(neighbour(slot, right), slot + 1);
  EXPECT_EQ(neighbour(0, left), no_tile);
  EXPECT_EQ(neighbour(0, down), 8);
  EXPECT_EQ(neighbour(21, right), 32) << "in the next block";
  EXPECT_EQ(neighbour(22, left), no_tile) << "a slot without a tile";
  const Tiling in_one(plan.interior, 128);
  EXPECT_EQ(in_one.blocks(), 1U);
  EXPECT_EQ(in_one.threads(), 64U) << "no more warps than the tiles need";
}

TEST(GpuSolver, refuses_a_field_that_is_not_finite_before_it_is_on_the_device) {
  const WatchedSolver watched;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    FloorPlan plan = room(20, 20);
    plan.domain(3, 7) = value;
    EXPECT_THAT(refusal_of<InputError>([&] { (void)watched.solver->solve(plan, {}, {}); }),
                testing::HasSubstr("the value in row 3, column 7 is "));
  }
  EXPECT_EQ(watched.stream->last_blocks, 0);
}

TEST(GpuSolver, goes_on_where_a_launch_left_off) {
  // More sweeps than one launch makes.
  const FloorPlan plan = room(9, 9);
  const Limits limits{0, 700};
  std::vector<std::int64_t> looks;
  const SolveControl control{{},
                             [&](std::int64_t iterations, double) { looks.push_back(iterations); }};
  expect_same_bits(*host_solver(Kernel::cluster)->solve(plan, limits, control),
                   *make_reference_solver()->solve(plan, limits, {}), "in several launches");
  EXPECT_GT(looks.size(), 1U);
}

TEST(GpuSolver, calls_an_answer_that_cannot_be_a_fault_of_the_device) {
  for (const double spoilt : {25.001, -0.001, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    auto stream = std::make_unique<HostStream>();
    stream->after_cluster = [=](const ResidentPlan& plan) {
      for (int cell = 0; cell < cluster_tile.cells(); ++cell)
        if ((plan.interior[0] >> cell & 1U) != 0) plan.cells[cell] = spoilt;
    };
    EXPECT_THROW((void)make_gpu_solver(std::move(stream))->solve(room(20, 20), {1e-3, 50}, {}),
                 DeviceFault)
        << spoilt;
  }
}

TEST_P(EveryKernel, leaves_nothing_on_its_way_if_told_to_stop) {
  std::stop_source stop;
  stop.request_stop();  // seen after the plan is on its way to the device
  const WatchedSolver watched(GetParam());
  EXPECT_FALSE(watched.solver->solve(room(20, 20), {}, {stop.get_token(), {}}));
  EXPECT_FALSE(watched.stream->work_is_out);
}

TEST_P(EveryKernel, marks_the_moments_between_which_its_time_lies) {
  const WatchedSolver watched(GetParam());
  (void)watched.solver->solve(room(20, 20), {1e-3, 20}, {});
  std::vector<Moment> marks = watched.stream->marks;
  EXPECT_TRUE(std::ranges::is_sorted(marks));
  marks.erase(std::ranges::unique(marks).begin(), marks.end());
  EXPECT_THAT(marks, testing::ElementsAre(begun, uploaded, computed, downloaded));
  EXPECT_EQ(watched.solver->times().kernel, to_string(GetParam()));
  EXPECT_GT(watched.solver->times().blocks, 0);
  EXPECT_EQ(watched.solver->times().threads, 32);
}

TEST_P(EveryKernel, takes_memory_before_its_first_plan_alone) {
  const WatchedSolver watched(GetParam());
  const int before = watched.stream->allocations;
  for (const std::size_t side : {40, 68, 512})
    (void)watched.solver->solve(room(side, side), {1e-4, 2}, {});
  EXPECT_EQ(watched.stream->allocations, before);
}

/// Which kernel may be used if solvers of `wrong` give wrong answers, or their device fails.
class Proofs : public testing::Test {
 protected:
  Kernel proven(std::optional<Kernel> wrong, const char* fault = nullptr) {
    return proven_kernel(
        [=, this](Kernel kernel) -> std::unique_ptr<Solver> {
          tried_.push_back(kernel);
          if (kernel != wrong) return make_reference_solver();
          if (fault != nullptr) throw DeviceFault(fault);
          return std::make_unique<Wrong>();
        },
        [this](const std::string& warning) { warning_ += warning; });
  }

  /// Its last bit of one cell is wrong.
  class Wrong final : public Solver {
    std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                  const SolveControl& control) override {
      auto solution = make_reference_solver()->solve(plan, limits, control);
      double& cell = solution->field.cells[solution->field.cells.size() / 2];
      cell = std::nextafter(cell, 100.0);
      return solution;
    }
  };
  std::vector<Kernel> tried_;
  std::string warning_;
};

TEST_F(Proofs, decide_which_kernel_is_used) {
  EXPECT_EQ(proven({}), Kernel::cluster);
  EXPECT_EQ(warning_, "");
  EXPECT_EQ(proven(Kernel::cluster), Kernel::streaming);
  EXPECT_THAT(warning_, testing::HasSubstr("cluster kernel is not used: it does not solve"));
  EXPECT_EQ(proven(Kernel::cluster, "it is broken"), Kernel::streaming);
  EXPECT_THAT(warning_, testing::HasSubstr("it is broken"));
  EXPECT_EQ(tried_.back(), Kernel::streaming) << "asked once more if the device still works";
  EXPECT_THROW((void)proven(Kernel::streaming), DeviceFault);
  EXPECT_THROW((void)proven(Kernel::streaming, "it is broken"), DeviceFault);
}

TEST_F(Proofs, try_one_block_and_several_sources_and_the_way_back) {
  struct Asked {
    bool several_blocks;
    bool source;
    bool goes_back;  ///< a plan that ends in the first window, which has 16 sweeps
    auto operator<=>(const Asked&) const = default;
  };
  class Listening final : public Solver {
   public:
    explicit Listening(std::set<Asked>& asked) : asked_(asked) {}
    std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                  const SolveControl& control) override {
      auto solution = make_reference_solver()->solve(plan, limits, control);
      EXPECT_TRUE(solution->iterations < 16 || solution->iterations > 100);
      asked_.insert({Tiling(plan.interior, cluster_threads).blocks() > 1, plan.has_source(),
                     solution->iterations < 16});
      return solution;
    }

   private:
    std::set<Asked>& asked_;
  };
  std::map<Kernel, std::set<Asked>> asked;
  (void)proven_kernel([&](Kernel kernel) { return std::make_unique<Listening>(asked[kernel]); },
                      [](const std::string&) {});
  EXPECT_EQ(
      asked[Kernel::cluster],
      (std::set<Asked>{
          {false, false, false}, {false, false, true}, {true, false, false}, {true, false, true}}));
  EXPECT_EQ(
      asked[Kernel::streaming],
      (std::set<Asked>{
          {true, false, false}, {true, false, true}, {true, true, false}, {true, true, true}}));
}

TEST(GpuSolver, leaves_to_a_cpu_what_the_device_has_no_memory_for) {
  const auto free = std::make_shared<std::atomic<std::int64_t>>(1000);
  const auto solver = host_solver(Kernel::streaming, free);
  EXPECT_THAT(refusal_of<DeviceTooSmall>([&] { (void)solver->solve(room(100, 100), {}, {}); }),
              testing::HasSubstr("needs 1 MiB of GPU memory, but the GPU has less that is free"));
  *free = 1 << 30;
  EXPECT_TRUE(solver->solve(room(100, 100), {1e-4, 3}, {})) << "once there is some";
  const FloorPlan huge = random_plan(2000, 2000, 1, 1);  // three fields are more than 64 MiB
  EXPECT_THAT(refusal_of<DeviceTooSmall>([&] { (void)solver->solve(huge, {}, {}); }),
              testing::HasSubstr("but the GPU has 64 MiB"));
}

}  // namespace
}  // namespace wallheat::gpu
