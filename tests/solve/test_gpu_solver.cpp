// The GPU back end on a "GPU" of ordinary threads: what its kernels compute, how their threads wait
// for each other, and what its host side makes of it. None of this needs a GPU; what does is in
// test_gpu.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <thread>

#include "core/generator.hpp"
#include "solve/gpu/kernel_proofs.hpp"
#include "solve/gpu/solver.hpp"
#include "solve/gpu/tiling.hpp"
#include "support/host_stream.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

std::unique_ptr<Solver> host_solver(
    Kernel kernel, std::shared_ptr<MemoryPool> pool = std::make_shared<MemoryPool>(),
    HostStream::FreeBytes free = nullptr) {
  return make_stream_solver(std::make_unique<HostStream>(std::move(free)), std::move(pool), kernel);
}

class EveryKernel : public testing::TestWithParam<Kernel> {};

TEST_P(EveryKernel, gives_the_bits_of_the_reference_for_every_shape) {
  const auto reference = make_reference_solver();
  const auto solver = host_solver(GetParam());
  for (const auto& [name, plan] : awkward_plans()) {
    for (const double tolerance : {1e-2, 3.0}) {
      const Limits limits{tolerance, 70};
      expect_same_bits(*solver, *reference, plan, limits,
                       name + ", tolerance " + std::to_string(tolerance));
    }
  }
}

TEST_P(EveryKernel, leaves_sources_and_the_2_norm_to_the_cpu) {
  const auto solver = host_solver(GetParam());
  const auto refusal = [&](const FloorPlan& plan, const Limits& limits) -> std::string {
    try {
      (void)solver->solve(plan, limits, {});
    } catch (const DeviceTooSmall& error) {
      return error.what();
    }
    return "not refused";
  };
  EXPECT_THAT(refusal(generate_poisson_plan(1, 0, 16), {}), testing::HasSubstr("has a source"));
  EXPECT_THAT(refusal(room(9, 9), {.norm = Norm::l2}), testing::HasSubstr("2-norm"));
}

TEST_P(EveryKernel, stops_exactly_at_the_limit_of_iterations) {
  const auto reference = make_reference_solver();
  const auto solver = host_solver(GetParam());
  const FloorPlan plan = room(40, 33);
  for (const std::int64_t most : {1, 2, 3, 7, 8, 9, 15, 16, 17, 18, 33, 60}) {
    expect_same_bits(*solver, *reference, plan, {1e-9, most}, std::to_string(most) + " iterations");
  }
}

TEST_P(EveryKernel, finds_the_exact_iteration_for_every_tolerance) {
  const auto reference = make_reference_solver();
  const auto solver = host_solver(GetParam());
  const FloorPlan plan = room(26, 21);
  for (const double tolerance : {5.0, 0.3, 1e-2, 1e-4, 1e-13, 0.0}) {
    const Limits limits{tolerance, 700};
    expect_same_bits(*solver, *reference, plan, limits, std::to_string(tolerance));
  }
}

TEST_P(EveryKernel, gives_the_bits_of_the_reference_on_generated_plans) {
  const auto reference = make_reference_solver();
  const auto solver = host_solver(GetParam());
  for (const std::uint64_t index : {0, 1}) {
    const FloorPlan plan = generate_floor_plan(7, index, 64);
    expect_same_bits(*solver, *reference, plan, {1e-4, 300}, std::to_string(index));
  }
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

TEST_P(EveryKernel, gives_up_when_asked_to) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(host_solver(GetParam())->solve(room(20, 20), {}, {stop.get_token(), {}}));
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
    TileShape tile;
    int blocks;  // of 32 tiles; 0: streamed
  };
  // Clusters of large tiles have 1 or 2 blocks, of small ones 1, 2, 4, 5 or 8, and grids up to 12.
  for (const auto& [side, tile, blocks] : {Case{20, large_tile, 1},
                                           {40, large_tile, 1},
                                           {48, large_tile, 2},
                                           {64, large_tile, 2},
                                           {72, small_tile, 8},
                                           {100, small_tile, 11},
                                           {120, small_tile, 0}}) {
    auto owned = std::make_unique<HostStream>();
    const HostStream& stream = *owned;
    const auto solver = make_stream_solver(std::move(owned), std::make_shared<MemoryPool>());
    const FloorPlan plan = random_plan(side, side, 100, 1);
    expect_same_bits(*solver, *make_reference_solver(), plan, {1e-4, 12}, std::to_string(side));
    EXPECT_EQ(stream.streaming_launches > 0, blocks == 0) << side;
    EXPECT_EQ(stream.resident_launches > 0, blocks > 0) << side;
    EXPECT_EQ(stream.last_group.blocks, blocks) << side;
    EXPECT_TRUE(blocks == 0 || stream.last_group.tile == tile) << side;
  }
}

TEST(Tiling, gathers_the_tiles_without_a_fixed_cell_at_the_head_of_each_block) {
  for (const TileShape shape : {small_tile, large_tile}) {
    const FloorPlan plan = generate_floor_plan(1, 0, 128);
    Tiling tiling(TileMask(plan.interior, shape));
    const auto threads = static_cast<std::size_t>(tiling.deal(3));
    ASSERT_EQ(tiling.slots(), 3 * threads);
    std::vector<CellMask> interior(tiling.slots());
    tiling.load_interior(interior.data());
    for (std::size_t block = 0; block < 3; ++block) {
      const auto first = interior.begin() + static_cast<std::ptrdiff_t>(block * threads);
      const auto last = first + static_cast<std::ptrdiff_t>(threads);
      const auto is_whole = [&](CellMask mask) { return mask == whole_tile(shape); };
      EXPECT_TRUE(std::is_partitioned(first, last, is_whole)) << block;
      EXPECT_GT(std::count_if(first, last, is_whole), 0) << block;
    }
  }
}

TEST(GpuSolver, spreads_a_plan_that_is_alone_over_more_blocks) {
  auto owned = std::make_unique<HostStream>(nullptr, 100);
  const HostStream& stream = *owned;
  const auto solver = make_stream_solver(std::move(owned), std::make_shared<MemoryPool>());
  const FloorPlan plan = random_plan(40, 40, 100, 1);  // one block would do
  expect_same_bits(*solver, *make_reference_solver(), plan, {1e-4, 12}, "alone");
  EXPECT_EQ(stream.last_group.blocks, 2);
}

TEST(GpuSolver, goes_on_where_a_launch_left_off) {
  // More sweeps than one launch makes.
  const FloorPlan plan = room(9, 9);
  const Limits limits{0, 17000};
  std::vector<std::int64_t> told;
  const SolveControl control{{},
                             [&](std::int64_t iterations, double) { told.push_back(iterations); }};
  expect_same_bits(*host_solver(Kernel::cluster_8x8)->solve(plan, limits, control),
                   *make_reference_solver()->solve(plan, limits, {}), "in several launches");
  EXPECT_GT(told.size(), 1U);
}

/// Spoils what comes back from the device.
class SpoiltStream final : public Stream {
 public:
  explicit SpoiltStream(double spoilt) : spoilt_(spoilt) {}
  [[nodiscard]] const Capacity& capacity() const override { return stream_.capacity(); }
  [[nodiscard]] Memory device_memory(std::size_t bytes) override {
    return stream_.device_memory(bytes);
  }
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override {
    return stream_.pinned_memory(bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    stream_.copy(to, from, bytes);
  }
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t row_bytes, std::size_t rows) override {
    stream_.copy_rows(to, to_pitch, from, from_pitch, row_bytes, rows);
  }
  void clear(void* memory, std::size_t bytes) override { stream_.clear(memory, bytes); }
  void run_resident(const GroupSize& group, const ResidentPlan& plan) override {
    stream_.run_resident(group, plan);
    for (int cell = 0; cell < group.tile.cells(); ++cell)
      if ((plan.interior[0] >> cell & 1U) != 0) plan.cells[cell] = spoilt_;
  }
  void run_streaming(std::size_t, const StreamedPlan&, unsigned long long*) override {}
  void wait() override {}

 private:
  HostStream stream_;
  double spoilt_;
};

TEST(GpuSolver, calls_an_answer_that_cannot_be_a_fault_of_the_device) {
  for (const double spoilt : {25.001, -0.001, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    const auto solver = make_stream_solver(std::make_unique<SpoiltStream>(spoilt),
                                           std::make_shared<MemoryPool>(), Kernel::cluster_8x8);
    EXPECT_THROW((void)solver->solve(room(20, 20), {1e-3, 50}, {}), DeviceFault) << spoilt;
  }
}

TEST(GpuSolver, waits_for_its_stream_before_it_gives_memory_back) {
  std::stop_source stop;
  stop.request_stop();  // seen after the plan is on its way to the device
  for (const Kernel kernel : {Kernel::cluster_8x8, Kernel::streaming}) {
    auto owned = std::make_unique<HostStream>();
    const HostStream& stream = *owned;
    const auto pool = std::make_shared<MemoryPool>();
    const auto solver = make_stream_solver(std::move(owned), pool, kernel);
    EXPECT_FALSE(solver->solve(room(20, 20), {}, {stop.get_token(), {}}));
    EXPECT_EQ(pool->out(), 0);
    EXPECT_FALSE(stream.work_is_out) << to_string(kernel);
  }
}

TEST(GpuSolver, takes_pinned_memory_seldom) {
  auto owned = std::make_unique<HostStream>();
  const HostStream& stream = *owned;
  const auto solver =
      make_stream_solver(std::move(owned), std::make_shared<MemoryPool>(), Kernel::grid);
  for (const std::size_t side : {40, 44, 48, 52, 56, 60, 64, 68})
    (void)solver->solve(room(side, side), {1e-4, 2}, {});
  EXPECT_LE(stream.pinned_allocations, 3);
}

/// Solvers whose cluster kernel gives wrong answers, or whose device fails at it.
class Proofs : public testing::Test {
 protected:
  KernelProofs proofs(bool cluster_fails = false, bool lives = true) {
    return {[=, this](Kernel kernel) -> std::unique_ptr<Solver> {
              ++tried_;
              if (kernel == Kernel::cluster_8x8 && cluster_fails) throw DeviceFault("it is broken");
              if (kernel == Kernel::cluster_8x8)
                return make_stream_solver(std::make_unique<SpoiltStream>(17.0),
                                          std::make_shared<MemoryPool>(), kernel);
              return make_reference_solver();
            },
            [=] { return lives; }, [this](const std::string& warning) { warning_ += warning; }};
  }
  int tried_ = 0;
  std::string warning_;
};

TEST_F(Proofs, keep_a_kernel_from_being_used_that_gives_wrong_bits_and_no_other) {
  KernelProofs proven = proofs();
  for (int again = 0; again < 2; ++again) {
    EXPECT_FALSE(proven.admit(Kernel::cluster_8x8));
    EXPECT_TRUE(proven.admit(Kernel::cluster_8x4));
  }
  EXPECT_EQ(tried_, 2) << "each once";
  EXPECT_THAT(warning_, testing::StartsWith("the GPU's cluster_8x8 kernel is not used: "));

  auto owned = std::make_unique<HostStream>();
  const HostStream& stream = *owned;
  const auto solver =
      make_stream_solver(std::move(owned), std::make_shared<MemoryPool>(), Kernel::automatic,
                         [&](Kernel kernel) { return proven.admit(kernel); });
  const FloorPlan plan = room(64, 64);
  expect_same_bits(*solver, *make_reference_solver(), plan, {1e-4, 12}, "with small tiles");
  EXPECT_EQ(stream.last_group.kind, GroupKind::cluster);
  EXPECT_EQ(stream.last_group.tile, small_tile);
}

TEST_F(Proofs, tell_a_kernel_that_fails_from_a_device_that_is_gone) {
  EXPECT_FALSE(proofs(true, true).admit(Kernel::cluster_8x8));
  EXPECT_THAT(warning_, testing::HasSubstr("it is broken"));
  EXPECT_THROW((void)proofs(true, false).admit(Kernel::cluster_8x8), DeviceFault);
}

TEST(GpuSolver, waits_for_memory_that_another_solver_will_give_back) {
  const FloorPlan plan = room(100, 100);
  const Limits limits{1e-4, 20};
  const auto expected = *make_reference_solver()->solve(plan, limits, {});
  const auto pool = std::make_shared<MemoryPool>();
  // Enough for one of them at a time: a streamed plan of that size takes 3 fields of 80 KB.
  const auto free = std::make_shared<std::atomic<std::int64_t>>(400000);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 5; ++repeat)
        expect_same_bits(*host_solver(Kernel::streaming, pool, free)->solve(plan, limits, {}),
                         expected, "one of three");
    });
  }
}

TEST(GpuSolver, tells_a_plan_too_large_for_the_device_from_memory_that_others_hold) {
  const auto free = std::make_shared<std::atomic<std::int64_t>>(1000);
  EXPECT_THROW((void)host_solver(Kernel::streaming, std::make_shared<MemoryPool>(), free)
                   ->solve(room(100, 100), {}, {}),
               std::bad_alloc);
  const FloorPlan huge = random_plan(2000, 2000, 1, 1);  // three fields are more than 64 MiB
  try {
    (void)host_solver(Kernel::streaming)->solve(huge, {}, {});
    FAIL() << "a plan beyond the device's memory was taken";
  } catch (const DeviceTooSmall& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("GPU memory"));
  }
}

}  // namespace
}  // namespace wallheat::gpu
