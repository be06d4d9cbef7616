// What nvcc makes of the GPU's kernels, executed: the bits of the reference solver, for each kernel
// that ships. A launch that does what no kernel may do throws (see Violation in machine.hpp).
#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <string>
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

class EveryKernel : public testing::TestWithParam<Kernel> {
 protected:
  EveryKernel() { emulate(); }
  /// On a device of its own, with the threads of another order.
  void emulate(int block_threads = cluster_threads) {
    auto stream = std::make_unique<PtxStream>(++seed_, block_threads);
    stream_ = stream.get();
    solver_ = make_gpu_solver(std::move(stream), GetParam());
  }
  void expect_bits_of_the_cpu(const FloorPlan& plan, const Limits& limits,
                              const std::string& what) {
    expect_same_bits(*solver_, *make_jacobi_solver(available_isas().back()), plan, limits, what);
  }
  [[nodiscard]] static bool is_streamed() { return GetParam() == Kernel::streaming; }

  std::uint64_t seed_ = 0;
  const PtxStream* stream_ = nullptr;
  std::unique_ptr<Solver> solver_;
};

TEST_P(EveryKernel, gives_the_bits_of_the_reference_for_every_shape) {
  for (const auto& [name, plan, limits] : iteration_cases(is_streamed() ? 20 : 70))
    expect_bits_of_the_cpu(plan, limits, name);
  EXPECT_GT(stream_->machine().launches, 0);
}

TEST_P(EveryKernel, gives_the_bits_of_the_reference_at_every_size) {
  for (const std::size_t side : {31U, 64U, 100U, 129U, 200U})
    for (const FloorPlan& plan :
         {generate_floor_plan(3, 0, side), random_plan(side, side + side / 16, 100, 5)})
      expect_bits_of_the_cpu(plan, {1e-4, 23}, std::to_string(side));
  EXPECT_EQ(stream_->last_blocks, is_streamed() ? 0 : 6);
}

TEST_P(EveryKernel, gives_the_bits_of_the_reference_on_plans_of_real_size) {
  expect_bits_of_the_cpu(generate_floor_plan(3, 1, 512), {1e-4, 40}, "real size");
  EXPECT_EQ(stream_->last_blocks > 4, !is_streamed());
  if (!std::filesystem::exists(shared_plans)) GTEST_SKIP() << "needs " << shared_plans;
  for (const std::string id : {"10000", "1948", "7636"})
    expect_bits_of_the_cpu(load_floor_plan(shared_plans, id), {1e-4, 40}, id);
}

class Cluster : public EveryKernel {};

TEST_P(Cluster, gives_the_bits_in_whatever_order_blocks_and_edges_arrive) {
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
    for (int order = 0; order < 3; ++order) {
      emulate(threads);
      expect_bits_of_the_cpu(random_plan(side, side, 97, 8), {1e-4, 37}, std::to_string(blocks));
      EXPECT_EQ(stream_->last_blocks, blocks);
      EXPECT_GT(stream_->machine().asynchronous_stores, 0);
    }
  }
}

class Streaming : public EveryKernel {};

TEST_P(Streaming, gives_the_bits_of_the_reference_on_plates_by_the_2_norm) {
  for (const std::uint64_t index : {0, 1, 2})
    expect_bits_of_the_cpu(
        generate_poisson_plan(1, index, 256),
        {.tolerance = 1e-4, .max_iterations = 60, .norm = Norm::l2, .spacing = 1.0 / 256},
        "plate " + std::to_string(index));
}

/// What the machine says of a kernel of two blocks, in many orders of its threads.
std::string complaint(void (*function)(ptx::Thread&)) {
  std::string violations;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    try {
      const ptx::Kernel kernel{"kernel", function, 256};
      ptx::Machine(seed).run({kernel, 2, ptx::warp_threads, 0, true}, {});
    } catch (const ptx::Violation& violation) {
      violations += violation.what();
    }
  }
  return violations;
}

constexpr std::uint64_t arrivals_place = ptx::first_shared_address;
constexpr std::uint64_t edge_place = arrivals_place + 16;

/// Both blocks count arrivals. Block 0 stores so many edges in the same place of block 1, which is
/// told of so many bytes and waits for them, if any.
template <int edges, std::uint32_t bytes>
void store_edges(ptx::Thread& thread) {
  if (thread.tid() == 0) {
    thread.make_arrivals(arrivals_place, 1);
    thread.show_arrivals();
  }
  thread.cluster_arrive();
  thread.cluster_wait();
  if (thread.tid() == 0 && thread.ctaid() == 0)
    for (int edge = 0; edge < edges; ++edge)
      thread.store_later(thread.shared_in_block(edge_place, 1), {},
                         thread.shared_in_block(arrivals_place, 1));
  if (bytes == 0 || thread.ctaid() == 0) return;
  if (thread.tid() == 0) thread.expect_arrivals(arrivals_place, bytes);
  while (!thread.await_arrivals(arrivals_place, 0)) {
  }
  if (thread.tid() == 0) (void)thread.read_shared(edge_place, 16);
}

TEST(Machine, notices_what_goes_wrong_with_stores_on_their_way) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer does not follow exceptions on the stacks of makecontext";
#endif
  EXPECT_THAT(complaint(store_edges<1, 0>),
              testing::HasSubstr("arrives in a block that may have ended"));
  EXPECT_THAT(complaint(store_edges<2, 32>), testing::HasSubstr("overwrites what nobody has read"));
  EXPECT_THAT(complaint(store_edges<1, 32>),
              testing::HasSubstr("wait for ever; 16 bytes do not come"));
  EXPECT_THAT(complaint(store_edges<1, 16>), "");
}

constexpr auto name_of = [](const auto& test) { return to_string(test.param); };
INSTANTIATE_TEST_SUITE_P(Ptx, EveryKernel, testing::ValuesIn(every_kernel), name_of);
INSTANTIATE_TEST_SUITE_P(Ptx, Cluster, testing::Values(Kernel::cluster), name_of);
INSTANTIATE_TEST_SUITE_P(Ptx, Streaming, testing::Values(Kernel::streaming), name_of);

}  // namespace
}  // namespace wallheat::gpu
