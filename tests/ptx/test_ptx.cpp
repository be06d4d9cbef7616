// What nvcc makes of the GPU's kernels, executed: the bits of the reference solver, for each kernel
// that ships. A launch that does what no kernel may do throws (see Violation in machine.hpp).
#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/generator.hpp"
#include "ptx/ptx_stream.hpp"
#include "solve/gpu/solver.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"
#include "support/shared_plans.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat::gpu {
namespace {

/// A kernel that ships, and a device that has no other of its kind.
struct Shipped {
  std::string name;
  Kernel kernel = Kernel::automatic;
  std::vector<ClusterShape> shapes;
};

std::vector<Shipped> shipped() {
  std::vector<Shipped> all;
  for (const ClusterShape& shape : every_cluster_shape())
    all.push_back({"cluster_" + std::to_string(shape.threads), Kernel::cluster, {shape}});
  all.push_back({"grid", Kernel::grid, {}});
  all.push_back({"streaming", Kernel::streaming, {}});
  return all;
}
void PrintTo(const Shipped& kernel, std::ostream* out) { *out << kernel.name; }

class EveryShippedKernel : public testing::TestWithParam<Shipped> {
 protected:
  /// On a device where a plan is alone, and so is spread, or beside others.
  [[nodiscard]] std::unique_ptr<Solver> solver(int plans = 1) {
    const Shipped& kernel = GetParam();
    auto stream = std::make_unique<PtxStream>(++seed_, kernel.shapes);
    stream_ = stream.get();
    const auto pool = std::make_shared<MemoryPool>();
    while (--plans > 0) (void)pool->begin_plan();
    return make_stream_solver(std::move(stream), pool, only(kernel.kernel));
  }
  static Solution reference(const FloorPlan& plan, const Limits& limits) {
    return *make_jacobi_solver(available_isas().back())->solve(plan, limits, {});
  }

  std::uint64_t seed_ = 0;
  const PtxStream* stream_ = nullptr;
};

TEST_P(EveryShippedKernel, gives_the_bits_of_the_reference_for_every_shape) {
  const bool is_streamed = GetParam().kernel == Kernel::streaming;
  for (const int plans : {1, 1000}) {
    if (is_streamed && plans > 1) break;  // it would make no difference
    const auto emulated = solver(plans);
    for (const auto& [name, plan] : awkward_plans()) {
      for (const double tolerance : {1e-2, 3.0}) {
        const Limits limits{tolerance, is_streamed ? 20 : 70};
        expect_same_bits(*emulated->solve(plan, limits, {}), reference(plan, limits), name);
      }
    }
    EXPECT_GT(stream_->machine().launches, 0);
  }
}

TEST_P(EveryShippedKernel, gives_the_bits_of_the_reference_at_every_size) {
  const auto emulated = solver();
  for (const std::size_t side : {31U, 64U, 100U, 129U, 200U})
    for (const FloorPlan& plan :
         {generate_floor_plan(3, 0, side), random_plan(side, side + side / 16, 100, 5)})
      expect_same_bits(*emulated->solve(plan, {1e-4, 23}, {}), reference(plan, {1e-4, 23}),
                       std::to_string(side));
  if (GetParam().kernel != Kernel::streaming) {
    EXPECT_GT(stream_->last_group.blocks, 1);
  }
}

TEST_P(EveryShippedKernel, gives_the_bits_of_the_reference_on_a_plan_of_real_size) {
  const FloorPlan plan = generate_floor_plan(3, 1, 512);
  const auto emulated = solver();
  expect_same_bits(*emulated->solve(plan, {1e-4, 40}, {}), reference(plan, {1e-4, 40}),
                   "real size");
  EXPECT_EQ(stream_->last_group.blocks > 0, GetParam().kernel != Kernel::streaming);
}

TEST_P(EveryShippedKernel, gives_the_bits_of_the_reference_on_the_real_plans) {
  if (!std::filesystem::exists(shared_plans)) GTEST_SKIP() << "needs " << shared_plans;
  for (const std::string id : {"10000", "1948", "7636"}) {
    const FloorPlan plan = load_floor_plan(shared_plans, id);
    const Limits limits{1e-4, 40};
    // Beside so many others that a cluster has no more blocks than it must.
    expect_same_bits(*solver(1000)->solve(plan, limits, {}), reference(plan, limits), id);
  }
}

TEST_P(EveryShippedKernel, gives_the_bits_in_whatever_order_blocks_and_edges_arrive) {
  if (GetParam().kernel != Kernel::cluster) return;  // the others' blocks meet at a barrier
  const FloorPlan plan = random_plan(120, 110, 97, 8);
  const Limits limits{1e-4, 37};
  const Solution expected = reference(plan, limits);
  for (const int blocks : {2, 3, 5, 8, 11, 16}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      auto stream = std::make_unique<PtxStream>(
          seed, std::vector<ClusterShape>{{GetParam().shapes[0].threads, {{blocks, 1}}}});
      const PtxStream& used = *stream;
      const auto emulated = make_stream_solver(std::move(stream), std::make_shared<MemoryPool>(),
                                               only(Kernel::cluster));
      expect_same_bits(*emulated->solve(plan, limits, {}), expected, std::to_string(blocks));
      EXPECT_EQ(used.last_group.blocks, blocks);
      EXPECT_GT(used.machine().asynchronous_stores, 0);
    }
  }
}

TEST_P(EveryShippedKernel, stops_exactly_at_the_limit_of_iterations) {
  const auto emulated = solver();
  const FloorPlan plan = room(40, 33);
  for (const std::int64_t most : {1, 2, 3, 7, 8, 9, 15, 16, 17, 18, 33, 60})
    expect_same_bits(*emulated->solve(plan, {1e-9, most}, {}), reference(plan, {1e-9, most}),
                     std::to_string(most) + " iterations");
}

TEST_P(EveryShippedKernel, goes_back_to_the_exact_iteration_for_every_tolerance) {
  const auto emulated = solver();
  const FloorPlan plan = room(26, 21);
  for (const double tolerance : {5.0, 0.3, 1e-2, 1e-4, 1e-13, 0.0}) {
    const Limits limits{tolerance, GetParam().kernel == Kernel::streaming ? 100 : 700};
    expect_same_bits(*emulated->solve(plan, limits, {}), reference(plan, limits),
                     std::to_string(tolerance));
  }
}

TEST_P(EveryShippedKernel, gives_the_bits_of_the_reference_with_sources_and_either_norm) {
  if (GetParam().kernel != Kernel::streaming) return;  // solves these, whatever is asked for
  const auto emulated = solver();
  std::mt19937 random(6);
  for (int number = 0; number < 24; ++number) {
    FloorPlan plan = random_plan_with_sources(random);
    if (number % 4 == 0) plan.source = {};
    const Limits limits{.tolerance = std::array{1e-2, 20.0}[random() % 2],
                        .max_iterations = 1 + static_cast<std::int64_t>(random() % 40),
                        .norm = number % 2 == 0 ? Norm::l2 : Norm::max,
                        .spacing = 0.25 + static_cast<double>(random() % 100) / 77};
    expect_same_bits(*emulated->solve(plan, limits, {}), reference(plan, limits),
                     std::to_string(number));
  }
  const Limits of_the_course{
      .tolerance = 1e-4, .max_iterations = 60, .norm = Norm::l2, .spacing = 1.0 / 256};
  for (const std::uint64_t index : {0, 1, 2}) {
    const FloorPlan plan = generate_poisson_plan(1, index, 256);
    expect_same_bits(*emulated->solve(plan, of_the_course, {}), reference(plan, of_the_course),
                     "plate " + std::to_string(index));
  }
}

/// What the machine says of a kernel of two blocks, in many orders of its threads.
std::string complaint(void (*function)(ptx::Thread&)) {
  std::string said;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    try {
      const ptx::Kernel kernel{"kernel", function, 256};
      ptx::Machine(seed).run({kernel, 2, ptx::warp_threads, 0, ptx::Together::cluster}, {});
    } catch (const ptx::Violation& violation) {
      said += violation.what();
    }
  }
  return said;
}

constexpr std::uint64_t arrivals_place = ptx::first_shared_address;
constexpr std::uint64_t edge_place = arrivals_place + 16;

/// Both blocks count arrivals, and block 0 stores that many edges in the same place of block 1.
void store_edges(ptx::Thread& thread, int edges) {
  if (thread.tid('x') == 0) {
    thread.make_arrivals(arrivals_place, 1);
    thread.show_arrivals();
  }
  thread.cluster_arrive();
  thread.cluster_wait();
  if (thread.tid('x') != 0 || thread.ctaid('x') != 0) return;
  const std::array<double, 2> edge{};
  for (; edges > 0; --edges)
    thread.store_later(thread.shared_in_block(edge_place, 1), edge.data(), 16,
                       thread.shared_in_block(arrivals_place, 1));
}

TEST(Machine, notices_what_goes_wrong_with_stores_on_their_way) {
  EXPECT_THAT(complaint([](ptx::Thread& thread) { store_edges(thread, 1); }),
              testing::HasSubstr("arrives in a block that may have ended"));
  EXPECT_THAT(complaint([](ptx::Thread& thread) {
                store_edges(thread, 2);
                if (thread.tid('x') == 0) thread.expect_arrivals(arrivals_place, 32);
                while (!thread.await_arrivals(arrivals_place, 0)) {
                }
              }),
              testing::HasSubstr("overwrites what nobody has read"));
  EXPECT_THAT(complaint([](ptx::Thread& thread) {
                store_edges(thread, 1);
                if (thread.ctaid('x') == 0) return;
                if (thread.tid('x') == 0) thread.expect_arrivals(arrivals_place, 32);
                while (!thread.await_arrivals(arrivals_place, 0)) {
                }
              }),
              testing::HasSubstr("wait for ever; 16 bytes do not come"));
  EXPECT_THAT(complaint([](ptx::Thread& thread) {
                store_edges(thread, 1);
                if (thread.ctaid('x') == 0) return;
                if (thread.tid('x') == 0) thread.expect_arrivals(arrivals_place, 16);
                while (!thread.await_arrivals(arrivals_place, 0)) {
                }
                if (thread.tid('x') == 0) (void)thread.read_shared(edge_place, 16);
              }),
              "");
}

INSTANTIATE_TEST_SUITE_P(Ptx, EveryShippedKernel, testing::ValuesIn(shipped()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace wallheat::gpu
