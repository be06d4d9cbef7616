// Tests of the GPU kernels and their host side on an emulator that executes the source of the
// kernels. Results must be bit-identical to the reference for every order of threads and of
// asynchronous stores. A launch that violates the rules of CUDA throws Violation (machine.hpp).
// test_gpu.cpp has the tests that need a GPU.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/generator.hpp"
#include "solve/gpu/machine/machine_stream.hpp"
#include "solve/gpu/solver.hpp"
#include "solve/gpu/tiling.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

/// A solver on its own emulator, with access to the emulated stream.
struct OnMachine {
  explicit OnMachine(Kernel kernel = Kernel::cluster, std::uint64_t seed = 1,
                     std::size_t free_bytes = ~std::size_t{0}) {
    auto owned = std::make_unique<MachineStream>(seed);
    stream = owned.get();
    stream->free_bytes = free_bytes;
    solver = make_gpu_solver(std::move(owned), kernel);
  }
  void expect_bits_of_the_cpu(const FloorPlan& plan, const SolveParameters& limits,
                              const std::string& what) const {
    expect_same_bits(*solver, *make_jacobi_solver(available_isas().back()), plan, limits, what);
  }
  MachineStream* stream;
  std::unique_ptr<GpuSolver> solver;
};

class EmulatedKernelTest : public testing::TestWithParam<Kernel> {
 protected:
  [[nodiscard]] static bool is_streamed() { return GetParam() == Kernel::streaming; }
  OnMachine gpu_{GetParam()};
};

TEST_P(EmulatedKernelTest, MatchesReferenceForEveryShape) {
  const auto reference = make_reference_solver();
  for (const auto& [name, plan, limits] : iteration_cases(is_streamed() ? 20 : 70))
    expect_same_bits(*gpu_.solver, *reference, plan, limits, name);
  EXPECT_EQ(gpu_.stream->last_blocks > 0, !is_streamed());
  EXPECT_GT(gpu_.stream->streaming_launches, 0) << "heat sources and the 2-norm are streamed";
}

TEST_P(EmulatedKernelTest, MatchesCpuAtEverySize) {
  for (const std::size_t side : {31U, 64U, 100U, 129U, 200U})
    for (const FloorPlan& plan :
         {generate_floor_plan(3, 0, side), random_plan(side, side + side / 16, 100, 5)})
      gpu_.expect_bits_of_the_cpu(plan, {1e-4, 23}, std::to_string(side));
  EXPECT_EQ(gpu_.stream->last_blocks, is_streamed() ? 0 : 6);
  gpu_.expect_bits_of_the_cpu(generate_floor_plan(3, 1, 512), {1e-4, 40}, "real size");
  EXPECT_EQ(gpu_.stream->last_blocks > 6, !is_streamed());
}

TEST(ClusterKernel, MatchesCpuForAnyArrivalOrder) {
  struct Case {
    std::size_t side;
    int threads;
    int blocks;
  };
  for (const auto& [side, threads, blocks] : {Case{120, 128, 2},
                                              {120, 96, 3},
                                              {160, 96, 5},
                                              {120, 32, 8},
                                              {140, 32, 11},
                                              {176, 32, 16}}) {
    for (std::uint64_t order = 0; order < 3; ++order) {
      const OnMachine gpu(Kernel::cluster, order);
      gpu.stream->device.block_threads = threads;
      gpu.expect_bits_of_the_cpu(random_plan(side, side, 97, 8), {1e-4, 37},
                                 std::to_string(blocks));
      EXPECT_EQ(gpu.stream->last_blocks, blocks);
      EXPECT_GT(gpu.stream->machine.asynchronous_stores, 0);
    }
  }
}

TEST(ClusterKernel, SendsEdgesForOtherBlocksFirst) {
  const OnMachine gpu;
  gpu.expect_bits_of_the_cpu(random_plan(120, 120, 97, 8), {1e-4, 5}, "two blocks");
  EXPECT_GT(gpu.stream->machine.asynchronous_stores, 0);
  EXPECT_EQ(gpu.stream->machine.delayed_stores, 0);
}

TEST_P(EmulatedKernelTest, KeepsPlansIndependent) {
  const FloorPlan plan = random_plan(37, 41, 80, 7);
  for (int repeat = 0; repeat < 2; ++repeat) {
    gpu_.expect_bits_of_the_cpu(plan, {1e-4, 60}, "repeat");
    (void)gpu_.solver->solve(room(48, 52), {1e-2, 20}, {});
  }
}

TEST_P(EmulatedKernelTest, ReportsProgress) {
  std::int64_t last = 0;
  const SolveControl control{{}, [&](std::int64_t iterations, double delta) {
                               EXPECT_GT(iterations, last);
                               EXPECT_GT(delta, 0);
                               last = iterations;
                             }};
  const auto solution = gpu_.solver->solve(room(20, 20), {1e-3, 500}, control);
  EXPECT_EQ(last, solution->iterations);
}

TEST(GpuSolver, UsesFewestBlocksThatHoldPlan) {
  struct Case {
    std::size_t side;
    int blocks;  // number of blocks of 32 tiles, at most 5; 0: the plan is streamed
  };
  for (const auto& [side, blocks] : {Case{20, 1}, {40, 1}, {48, 2}, {72, 3}, {96, 5}, {104, 0}}) {
    const OnMachine gpu;
    gpu.stream->device.block_threads = 32;
    gpu.stream->device.max_cluster_blocks = 5;
    gpu.expect_bits_of_the_cpu(random_plan(side, side, 100, 1), {1e-4, 12}, std::to_string(side));
    EXPECT_EQ(gpu.stream->last_blocks, blocks) << side;
    EXPECT_EQ(gpu.stream->streaming_launches > 0, blocks == 0) << side;
  }
}

TEST(ClusterKernel, MatchesCpuForEveryNumberOfBlocks) {
  std::set<int> counts;
  for (const auto& [name, plan] : {NamedPlan{"square", random_plan(88, 80, 97, 8)},
                                   NamedPlan{"tall", random_plan(320, 24, 97, 8)},
                                   NamedPlan{"wide", random_plan(24, 320, 97, 8)},
                                   NamedPlan{"sparse", random_plan(90, 90, 2, 8)},
                                   NamedPlan{"generated", generate_floor_plan(3, 1, 88)}}) {
    const auto tiles = static_cast<int>(Tiling(plan.interior, 1).blocks());
    for (int blocks = 1; blocks <= max_cluster_blocks; ++blocks) {
      const OnMachine gpu;
      gpu.stream->device.block_threads = (tiles + blocks - 1) / blocks;
      gpu.expect_bits_of_the_cpu(plan, {1e-4, 9}, name + " in " + std::to_string(blocks));
      counts.insert(gpu.stream->last_blocks);
    }
  }
  for (int blocks = 1; blocks <= max_cluster_blocks; ++blocks)
    EXPECT_TRUE(counts.contains(blocks)) << blocks;
}

/// The slots of a tiling, by the tile that is in them.
struct Slots {
  explicit Slots(const Tiling& tiling)
      : count(tiling.slots()), threads(tiling.threads()), neighbours(count * sides) {
    tiling.load_neighbours(neighbours.data());
    std::vector<CellMask> interior(count);
    tiling.load_interior(interior.data());
    for (const CellMask mask : interior) is_tile.push_back(mask != 0);
  }
  [[nodiscard]] std::int32_t neighbour(std::size_t slot, Side side) const {
    return neighbours[slot * sides + side];
  }
  /// Returns the number of tiles of each block.
  [[nodiscard]] std::vector<std::size_t> tiles_of_blocks() const {
    std::vector<std::size_t> tiles(count / threads);
    for (std::size_t slot = 0; slot < count; ++slot) tiles[slot / threads] += is_tile[slot] ? 1 : 0;
    return tiles;
  }
  /// Returns the number of edges that blocks send to other blocks in a sweep.
  [[nodiscard]] std::size_t remote_edges() const {
    std::size_t edges = 0;
    for (std::size_t edge = 0; edge < neighbours.size(); ++edge)
      if (neighbours[edge] != no_tile &&
          static_cast<std::size_t>(neighbours[edge]) / threads != edge / sides / threads)
        ++edges;
    return edges;
  }

  std::size_t count;
  std::size_t threads;
  std::vector<std::int32_t> neighbours;
  std::vector<bool> is_tile{};
};

TEST(Tiling, MakesBlocksCompact) {
  const FloorPlan plan = random_plan(64, 64, 100, 1);
  const Tiling in_four(plan.interior, 16);
  ASSERT_EQ(in_four.blocks(), 4U);
  ASSERT_EQ(in_four.threads(), 32U) << "whole warps";
  const Slots slots(in_four);
  EXPECT_THAT(slots.tiles_of_blocks(), testing::Each(16));
  EXPECT_EQ(slots.remote_edges(), 32U) << "four squares with two sides of four tiles; rows send 48";
  for (const std::size_t slot : {0U, 6U, 14U, 32U})
    EXPECT_EQ(slots.neighbour(slot, right), slot + 1) << "row-major order within a block";
  EXPECT_EQ(slots.neighbour(0, down), 4);
  EXPECT_EQ(slots.neighbour(0, left), no_tile);
  EXPECT_EQ(slots.neighbour(16, left), no_tile) << "a slot without a tile";
  const Tiling in_one(plan.interior, 128);
  EXPECT_EQ(in_one.blocks(), 1U);
  EXPECT_EQ(in_one.threads(), 64U) << "no more warps than the tiles need";
}

TEST(Tiling, BalancesBlocksOfEveryShape) {
  std::vector<NamedPlan> plans = awkward_plans();
  for (const std::uint64_t index : {0, 1, 2})
    plans.push_back({"generated", generate_floor_plan(3, index, 400)});
  std::set<std::size_t> counts;
  for (const auto& [name, plan] : plans) {
    for (const std::size_t max_threads : {1, 3, 7, 32, 128}) {
      const Tiling tiling(plan.interior, max_threads);
      if (tiling.blocks() > max_cluster_blocks) continue;
      counts.insert(tiling.blocks());
      const std::vector<std::size_t> tiles = Slots(tiling).tiles_of_blocks();
      const auto [least, most] = std::ranges::minmax(tiles);
      EXPECT_LE(most - least, 1U) << name;
      EXPECT_LE(most, max_threads) << name;
      EXPECT_TRUE(least > 0 || tiling.blocks() == 1) << name;
    }
  }
  EXPECT_GE(counts.size(), 8U) << "numbers of blocks that were tested";
}

TEST(GpuSolver, RejectsNonFiniteFieldBeforeUpload) {
  const OnMachine gpu;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    FloorPlan plan = room(20, 20);
    plan.domain(3, 7) = value;
    EXPECT_THAT(error_message_of<InputError>([&] { (void)gpu.solver->solve(plan, {}, {}); }),
                Mentions({"row 3", "column 7"}));
  }
  EXPECT_EQ(gpu.stream->last_blocks, 0);
}

TEST(GpuSolver, ContinuesAcrossKernelLaunches) {
  const OnMachine gpu;
  gpu.stream->device.sweeps = 100;  // per launch
  int reports = 0;
  const SolveControl control{{}, [&](std::int64_t, double) { ++reports; }};
  expect_same_bits(*gpu.solver->solve(room(9, 9), {0, 700}, control),
                   *make_reference_solver()->solve(room(9, 9), {0, 700}, {}),
                   "in several launches");
  EXPECT_GT(reports, 1);
}

TEST(GpuSolver, ReplaysWindowsOfStreamedPlans) {
  const OnMachine gpu(Kernel::streaming);
  const MachineStream& stream = *gpu.stream;
  constexpr auto iterations = std::int64_t{256} * 6;
  const auto limits = [](double tolerance, Norm norm = Norm::max) {
    return SolveParameters{.tolerance = tolerance, .max_iterations = iterations, .norm = norm};
  };
  gpu.expect_bits_of_the_cpu(room(40, 33), limits(0), "all windows have the same length");
  EXPECT_EQ(stream.recordings_made, 2) << "for the fields that alternate";
  EXPECT_EQ(stream.replays, 4) << "all windows of 256 sweeps except the first";
  FloorPlan cooler = room(40, 33);
  for (double& value : cooler.domain.cells) value *= 0.7;
  gpu.expect_bits_of_the_cpu(cooler, limits(0), "another plan of the same shape");
  EXPECT_EQ(stream.recordings_made, 2);
  EXPECT_EQ(stream.replays, 8);
  gpu.expect_bits_of_the_cpu(room(33, 40), limits(0), "another shape");
  FloorPlan heated = room(33, 40);
  heated.source = Grid<double>(33, 40, 0.01);
  gpu.expect_bits_of_the_cpu(heated, limits(0), "a heat source");
  EXPECT_EQ(stream.recordings_made, 6);
  gpu.expect_bits_of_the_cpu(room(40, 33), limits(0, Norm::l2), "the 2-norm");
  EXPECT_EQ(stream.recordings_made, 8);
  const int replays = stream.replays;
  // The last windows get shorter, or are rolled back and repeated sweep by sweep.
  for (const double tolerance : {1e-2, 2e-3, 1e-3})
    gpu.expect_bits_of_the_cpu(room(40, 33), limits(tolerance), std::to_string(tolerance));
  EXPECT_GT(stream.replays, replays);
}

TEST(GpuSolver, KeepsFieldsApartInEveryWindow) {
  const OnMachine gpu(Kernel::streaming);
  const FloorPlan in_four_regions = room(60, 60);
  for (const Norm norm : {Norm::max, Norm::l2})
    for (const std::int64_t iterations : {1, 7, 8, 9, 15, 16, 17, 18, 25, 26})
      gpu.expect_bits_of_the_cpu(in_four_regions,
                                 {.tolerance = 0, .max_iterations = iterations, .norm = norm},
                                 std::to_string(iterations));
}

TEST(GpuSolver, ForgetsRecordingThatFailed) {
  const OnMachine gpu(Kernel::streaming);
  const SolveParameters limits{0, std::int64_t{256} * 4};
  gpu.expect_bits_of_the_cpu(room(20, 20), limits, "recorded");
  gpu.stream->after_recording = [] { throw std::bad_alloc(); };
  EXPECT_THROW((void)gpu.solver->solve(room(30, 20), limits, {}), std::bad_alloc);
  gpu.stream->after_recording = {};
  gpu.expect_bits_of_the_cpu(room(20, 20), limits, "the plan whose recording was replaced");
}

TEST(GpuSolver, ThrowsDeviceFaultForImpossibleResult) {
  for (const double spoilt : {25.001, -0.001, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    const OnMachine gpu;
    gpu.stream->after_cluster = [=](const ClusterKernelArgs& plan) {
      for (int cell = 0; cell < cluster_tile.cells(); ++cell)
        if ((plan.interior[0] >> cell & 1U) != 0) plan.cells[cell] = spoilt;
    };
    EXPECT_THROW((void)gpu.solver->solve(room(20, 20), {1e-3, 50}, {}), DeviceFault) << spoilt;
  }
}

TEST_P(EmulatedKernelTest, LeavesNoWorkInFlightWhenStopped) {
  std::stop_source stop;
  stop.request_stop();  // detected after the upload of the plan was enqueued
  EXPECT_FALSE(gpu_.solver->solve(room(20, 20), {}, {stop.get_token(), {}}));
  EXPECT_FALSE(gpu_.stream->work_is_out);
}

TEST_P(EmulatedKernelTest, RecordsEventsBetweenPhases) {
  (void)gpu_.solver->solve(room(20, 20), {1e-3, 20}, {});
  std::vector<TimingPoint> marks = gpu_.stream->marks;
  EXPECT_TRUE(std::ranges::is_sorted(marks));
  marks.erase(std::ranges::unique(marks).begin(), marks.end());
  EXPECT_THAT(marks, testing::ElementsAre(begun, uploaded, computed, downloaded));
  EXPECT_EQ(gpu_.solver->times().kernel, to_string(GetParam()));
  EXPECT_EQ(gpu_.solver->times().grid, 1);
  EXPECT_EQ(gpu_.solver->times().block, is_streamed() ? 128 : 32);
}

TEST_P(EmulatedKernelTest, AllocatesOnlyBeforeFirstPlan) {
  const int before = gpu_.stream->allocations;
  for (const std::size_t side : {40, 352, 512})  // the second fills a cluster
    (void)gpu_.solver->solve(room(side, side), {1e-4, 2}, {});
  EXPECT_EQ(gpu_.stream->allocations, before);
}

TEST(GpuSolver, ThrowsDeviceTooSmallWhenMemoryIsShort) {
  const OnMachine gpu(Kernel::streaming, 1, 1000);
  EXPECT_THAT(
      error_message_of<DeviceTooSmall>([&] { (void)gpu.solver->solve(room(100, 100), {}, {}); }),
      Mentions({"1 MiB", "free", "--device cpu"}));
  gpu.stream->free_bytes = std::size_t{1} << 30;
  EXPECT_TRUE(gpu.solver->solve(room(100, 100), {1e-4, 3}, {})) << "after memory becomes free";
  const FloorPlan huge = random_plan(2000, 2000, 1, 1);  // three fields are more than 64 MiB
  EXPECT_THAT(error_message_of<DeviceTooSmall>([&] {
                (void)gpu.solver->solve(huge, {1e-4, 1}, {});
              }),
              Mentions({"64 MiB", "--device cpu"}));
}

/// Selects a kernel while the solvers of kernel `wrong` return wrong results or throw a device
/// fault.
class KernelVerificationTest : public testing::Test {
 protected:
  Kernel proven(std::optional<Kernel> wrong, const char* fault = nullptr) {
    return select_verified_kernel(
        solve_known_plans(),
        [=, this](Kernel kernel) -> std::unique_ptr<Solver> {
          tried_.push_back(kernel);
          if (kernel != wrong) return make_reference_solver();
          if (fault != nullptr) throw DeviceFault(fault);
          return std::make_unique<Wrong>();
        },
        [this](const std::string& warning) { warning_ += warning; });
  }

  /// Returns a solution with a wrong last bit in one cell.
  class Wrong final : public Solver {
    std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
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

TEST_F(KernelVerificationTest, SelectsKernelThatSolvesCorrectly) {
  EXPECT_EQ(proven({}), Kernel::cluster);
  EXPECT_EQ(warning_, "");
  EXPECT_EQ(proven(Kernel::cluster), Kernel::streaming);
  EXPECT_THAT(warning_, Mentions("cluster"));
  warning_.clear();
  EXPECT_EQ(proven(Kernel::cluster, "it is broken"), Kernel::streaming);
  EXPECT_THAT(warning_, Mentions({"cluster", "it is broken"}));
  EXPECT_EQ(tried_.back(), Kernel::streaming)
      << "the last kernel must show that the device still works";
  EXPECT_THROW((void)proven(Kernel::streaming), DeviceFault);
  EXPECT_THROW((void)proven(Kernel::streaming, "it is broken"), DeviceFault);
}

TEST_F(KernelVerificationTest, CoversEachRecordingMoreThanOnce) {
  const OnMachine gpu(Kernel::streaming);
  for (const KnownPlan& known : solve_known_plans())
    if (known.plan.domain.rows < 100)  // the others take long on the emulator
      expect_same_bits(*gpu.solver->solve(known.plan, known.limits, {}), known.solution, "88 rows");
  EXPECT_EQ(gpu.stream->recordings_made, Stream::recordings);
  EXPECT_GE(gpu.stream->replays, 2 * Stream::recordings);
}

TEST_F(KernelVerificationTest, CoversBlocksHeatSourcesRollback) {
  /// Several blocks; with a heat source; rollback within the first check interval of 16 sweeps.
  using Asked = std::tuple<bool, bool, bool>;
  struct Listening final : Solver {
    std::set<Asked>& asked;
    explicit Listening(std::set<Asked>& of_kernel) : asked(of_kernel) {}
    std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                  const SolveControl& control) override {
      auto solution = make_reference_solver()->solve(plan, limits, control);
      EXPECT_TRUE(solution->iterations < 16 || solution->iterations > 100);
      asked.insert({Tiling(plan.interior, cluster_threads).blocks() > 1, plan.has_heat_source(),
                    solution->iterations < 16});
      return solution;
    }
  };
  std::map<Kernel, std::set<Asked>> asked;
  (void)select_verified_kernel(
      solve_known_plans(),
      [&](Kernel kernel) { return std::make_unique<Listening>(asked[kernel]); },
      [](const std::string&) {});
  std::set<Asked> expected{
      {false, false, false}, {false, false, true}, {true, false, false}, {true, false, true}};
  EXPECT_EQ(asked[Kernel::cluster], expected);
  expected.insert({{true, true, false}, {true, true, true}});
  EXPECT_EQ(asked[Kernel::streaming], expected);
}

INSTANTIATE_TEST_SUITE_P(EveryKernel, EmulatedKernelTest, testing::ValuesIn(every_kernel),
                         [](const auto& test) { return to_string(test.param); });

}  // namespace
}  // namespace wallheat::gpu
