// The GPU back end on a "GPU" of ordinary threads: what its kernels compute, how their threads wait
// for each other, and what its host side makes of it. None of this needs a GPU; what does is in
// test_gpu.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <thread>

#include "core/generator.hpp"
#include "solve/gpu/kernel_proofs.hpp"
#include "solve/gpu/solver.hpp"
#include "solve/gpu/tiling.hpp"
#include "support/host_stream.hpp"
#include "support/refusal.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

std::unique_ptr<Solver> host_solver(
    Kernel kernel, std::shared_ptr<MemoryPool> pool = std::make_shared<MemoryPool>(),
    HostStream::FreeBytes free = nullptr) {
  return make_stream_solver(std::make_unique<HostStream>(std::move(free)), std::move(pool),
                            only(kernel));
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

TEST_P(EveryKernel, gives_the_bits_of_the_reference_with_sources_and_either_norm) {
  const auto reference = make_reference_solver();
  const auto solver = host_solver(GetParam());
  std::mt19937 random(5);
  for (int number = 0; number < 12; ++number) {
    FloorPlan plan = random_plan_with_sources(random);
    if (number % 4 == 0) plan.source = {};
    const Limits limits{.tolerance = std::array{1e-2, 20.0}[random() % 2],
                        .max_iterations = 1 + static_cast<std::int64_t>(random() % 90),
                        .norm = number % 2 == 0 ? Norm::l2 : Norm::max,
                        .spacing = 0.25 + static_cast<double>(random() % 100) / 77};
    expect_same_bits(*solver, *reference, plan, limits, std::to_string(number));
  }
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
    GroupKind kind;
    int blocks;  // of 32 tiles; 0: streamed
  };
  // Clusters have 1, 2, 4 or 5 blocks, of which there are 4, 2, 1 and 1 at once, and grids up
  // to 12.
  for (const auto& [side, kind, blocks] : {Case{20, GroupKind::cluster, 1},
                                           {40, GroupKind::cluster, 1},
                                           {48, GroupKind::cluster, 2},
                                           {72, GroupKind::cluster, 5},
                                           {104, GroupKind::grid, 11},
                                           {120, GroupKind::grid, 0}}) {
    auto owned = std::make_unique<HostStream>();
    const HostStream& stream = *owned;
    const auto pool = std::make_shared<MemoryPool>();
    for (int other = 0; other < 3; ++other) (void)pool->begin_plan();
    const auto solver = make_stream_solver(std::move(owned), pool);
    const FloorPlan plan = random_plan(side, side, 100, 1);
    expect_same_bits(*solver, *make_reference_solver(), plan, {1e-4, 12}, std::to_string(side));
    EXPECT_EQ(stream.streaming_launches > 0, blocks == 0) << side;
    EXPECT_EQ(stream.resident_launches > 0, blocks > 0) << side;
    EXPECT_EQ(stream.last_group.blocks, blocks) << side;
    EXPECT_TRUE(blocks == 0 || stream.last_group.kind == kind) << side;
  }
}

TEST(Tiling, deals_the_tiles_row_by_row) {
  Tiling tiling(TileMask(random_plan(64, 64, 100, 1).interior, cluster_tile));
  ASSERT_EQ(tiling.deal(3), 32);  // 22 tiles of 64 in each of two blocks, 20 in the last
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
}

TEST(GpuSolver, spreads_a_plan_over_the_blocks_that_others_leave) {
  const FloorPlan plan = random_plan(40, 40, 100, 1);  // one block would do
  auto owned = std::make_unique<HostStream>();
  const HostStream& stream = *owned;
  const auto pool = std::make_shared<MemoryPool>();
  const auto solver = make_stream_solver(std::move(owned), pool);
  for (const int blocks : {5, 2, 1, 1}) {  // beside 0, 1, 2, 3 others
    expect_same_bits(*solver, *make_reference_solver(), plan, {1e-4, 12}, "spread");
    EXPECT_EQ(stream.last_group.blocks, blocks);
    EXPECT_EQ(pool->out(), 0);
    (void)pool->begin_plan();
  }
}

TEST(GpuSolver, refuses_a_field_that_is_not_finite_before_it_is_on_the_device) {
  auto owned = std::make_unique<HostStream>();
  const HostStream& stream = *owned;
  const auto solver = make_stream_solver(std::move(owned), std::make_shared<MemoryPool>());
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    FloorPlan plan = room(20, 20);
    plan.domain(3, 7) = value;
    EXPECT_THAT(refusal_of<InputError>([&] { (void)solver->solve(plan, {}, {}); }),
                testing::HasSubstr("the value in row 3, column 7 is "));
  }
  EXPECT_EQ(stream.resident_launches, 0);
}

TEST(GpuSolver, goes_on_where_a_launch_left_off) {
  // More sweeps than one launch makes.
  const FloorPlan plan = room(9, 9);
  const Limits limits{0, 17000};
  std::vector<std::int64_t> told;
  const SolveControl control{{},
                             [&](std::int64_t iterations, double) { told.push_back(iterations); }};
  expect_same_bits(*host_solver(Kernel::cluster)->solve(plan, limits, control),
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
    for (int cell = 0; cell < tile_of(group.kind).cells(); ++cell)
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
                                           std::make_shared<MemoryPool>(), only(Kernel::cluster));
    EXPECT_THROW((void)solver->solve(room(20, 20), {1e-3, 50}, {}), DeviceFault) << spoilt;
  }
}

TEST(GpuSolver, waits_for_its_stream_before_it_gives_memory_back) {
  std::stop_source stop;
  stop.request_stop();  // seen after the plan is on its way to the device
  for (const Kernel kernel : {Kernel::cluster, Kernel::streaming}) {
    auto owned = std::make_unique<HostStream>();
    const HostStream& stream = *owned;
    const auto pool = std::make_shared<MemoryPool>();
    const auto solver = make_stream_solver(std::move(owned), pool, only(kernel));
    EXPECT_FALSE(solver->solve(room(20, 20), {}, {stop.get_token(), {}}));
    EXPECT_EQ(pool->out(), 0);
    EXPECT_FALSE(stream.work_is_out) << to_string(kernel);
  }
}

TEST(GpuSolver, takes_pinned_memory_seldom) {
  auto owned = std::make_unique<HostStream>();
  const HostStream& stream = *owned;
  const auto solver =
      make_stream_solver(std::move(owned), std::make_shared<MemoryPool>(), only(Kernel::grid));
  for (const std::size_t side : {40, 44, 48, 52, 56, 60, 64, 68})
    (void)solver->solve(room(side, side), {1e-4, 2}, {});
  EXPECT_LE(stream.pinned_allocations, 3);
}

/// Solvers of which one kernel's give wrong answers, or whose device fails at it.
class Proofs : public testing::Test {
 protected:
  static constexpr KernelShape one_block{Kernel::cluster, 128, false};
  static constexpr KernelShape several_blocks{Kernel::cluster, 128, true};
  static constexpr KernelShape large_blocks{Kernel::cluster, 256, true};

  KernelProofs proofs(const KernelShape& wrong, bool fails = false, bool lives = true) {
    return {[=, this](const KernelShape& shape) -> std::unique_ptr<Solver> {
              tried_.push_back(shape);
              if (shape != wrong) return make_reference_solver();
              if (fails) throw DeviceFault("it is broken");
              return make_stream_solver(std::make_unique<SpoiltStream>(17.0),
                                        std::make_shared<MemoryPool>(), only(Kernel::cluster));
            },
            [=] { return lives; }, [this](const std::string& warning) { warning_ += warning; }};
  }
  std::vector<KernelShape> tried_;
  std::string warning_;
};

TEST_F(Proofs, keep_a_shape_from_being_used_that_gives_wrong_bits_and_no_other) {
  const std::vector<KernelShape> all{one_block,
                                     several_blocks,
                                     large_blocks,
                                     {Kernel::grid, 256, true},
                                     {Kernel::streaming, 128, false}};
  for (const KernelShape& wrong : all) {
    tried_.clear();
    warning_.clear();
    KernelProofs proven = proofs(wrong);
    for (int again = 0; again < 2; ++again)
      for (const KernelShape& shape : all)
        EXPECT_EQ(proven.admit(shape), shape != wrong) << to_string(shape);
    EXPECT_EQ(tried_, all) << "each once";
    EXPECT_THAT(warning_, testing::StartsWith("the GPU's " + to_string(wrong) + " is not used: "));
  }
}

TEST_F(Proofs, take_what_is_left_where_a_shape_failed) {
  struct Case {
    KernelShape wrong;
    std::size_t side;
    GroupKind kind;
    int blocks;
  };
  constexpr KernelShape one{Kernel::cluster, 32, false};
  constexpr KernelShape several{Kernel::cluster, 32, true};
  for (const auto& [wrong, side, kind, blocks] : {Case{one, 20, GroupKind::cluster, 2},
                                                  {several, 20, GroupKind::cluster, 1},
                                                  {several, 64, GroupKind::grid, 4}}) {
    KernelProofs proven = proofs(wrong);
    auto owned = std::make_unique<HostStream>();
    const HostStream& stream = *owned;
    const auto pool = std::make_shared<MemoryPool>();
    const auto solver = make_stream_solver(
        std::move(owned), pool, [&](const KernelShape& shape) { return proven.admit(shape); });
    expect_same_bits(*solver, *make_reference_solver(), room(side, side), {1e-4, 12}, "left");
    EXPECT_EQ(stream.last_group.kind, kind) << side;
    EXPECT_EQ(stream.last_group.blocks, blocks) << side;
  }
}

TEST_F(Proofs, try_long_windows_and_the_way_back_on_one_block_and_on_several) {
  struct Asked {
    FloorPlan plan;
    Limits limits;
  };
  class Listening final : public Solver {
   public:
    explicit Listening(std::vector<Asked>& asked) : asked_(asked) {}
    std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                  const SolveControl& control) override {
      asked_.push_back({plan, limits});
      return make_reference_solver()->solve(plan, limits, control);
    }

   private:
    std::vector<Asked>& asked_;
  };
  const KernelShape source{Kernel::streaming, 128, true, true};
  for (const KernelShape& shape : {one_block, several_blocks, source}) {
    std::vector<Asked> asked;
    KernelProofs proven([&](const KernelShape&) { return std::make_unique<Listening>(asked); },
                        [] { return true; }, [](const std::string&) {});
    EXPECT_TRUE(proven.admit(shape));
    std::vector<std::int64_t> iterations;
    for (const auto& [plan, limits] : asked) {
      const std::size_t tiles = Tiling(TileMask(plan.interior, cluster_tile)).tiles();
      EXPECT_EQ(tiles > static_cast<std::size_t>(shape.threads), shape.several_blocks);
      EXPECT_EQ(plan.has_source(), shape.has_source);
      iterations.push_back(make_reference_solver()->solve(plan, limits, {})->iterations);
    }
    // The first window has 16 sweeps: a plan that ends in it goes back.
    EXPECT_THAT(iterations, testing::Contains(testing::AllOf(testing::Gt(1), testing::Lt(16))));
    EXPECT_THAT(iterations, testing::Contains(testing::Gt(100)));
  }
}

TEST_F(Proofs, tell_a_kernel_that_fails_from_a_device_that_is_gone) {
  EXPECT_FALSE(proofs(one_block, true, true).admit(one_block));
  EXPECT_THAT(warning_, testing::HasSubstr("it is broken"));
  EXPECT_THROW((void)proofs(one_block, true, false).admit(one_block), DeviceFault);
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
