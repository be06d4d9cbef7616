// What nvcc makes of the GPU's kernels, executed: the bits of the reference solver, for each kernel
// that ships. A launch that does what no kernel may do throws (see Violation in machine.hpp).
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "core/generator.hpp"
#include "ptx/ptx_stream.hpp"
#include "solve/gpu/solver.hpp"
#include "support/same_bits.hpp"
#include "support/shapes.hpp"

namespace wallheat::gpu {
namespace {

/// A kernel that ships, and a device that has no other of its kind.
struct Shipped {
  std::string name;
  Kernel kernel = Kernel::automatic;
  std::vector<ClusterShape> shapes;
  Region region;
};

std::vector<Shipped> shipped() {
  std::vector<Shipped> all;
  for (const ClusterShape& shape : every_cluster_shape()) {
    const bool is_large = shape.tile == large_tile;
    all.push_back(
        {"cluster_8x" + std::to_string(shape.tile.cols) + "_" + std::to_string(shape.threads),
         is_large ? Kernel::cluster_8x8 : Kernel::cluster_8x4,
         {shape},
         {}});
  }
  all.push_back({"grid", Kernel::grid, {}, {}});
  for (const auto& [rows, cols] : every_region())
    all.push_back({"streaming_" + std::to_string(rows) + "x" + std::to_string(cols),
                   Kernel::streaming,
                   {},
                   {rows, cols}});
  return all;
}
void PrintTo(const Shipped& kernel, std::ostream* out) { *out << kernel.name; }

class EveryShippedKernel : public testing::TestWithParam<Shipped> {
 protected:
  /// On a device whose multiprocessors invite to spread a plan, or on one that does not.
  [[nodiscard]] std::unique_ptr<Solver> solver(int multiprocessors = 132) {
    const Shipped& kernel = GetParam();
    auto stream =
        std::make_unique<PtxStream>(++seed_, multiprocessors, kernel.shapes, kernel.region);
    stream_ = stream.get();
    return make_stream_solver(std::move(stream), std::make_shared<MemoryPool>(), kernel.kernel);
  }
  static Solution reference(const FloorPlan& plan, const Limits& limits) {
    return *make_jacobi_solver(available_isas().back())->solve(plan, limits, {});
  }

  std::uint64_t seed_ = 0;
  const PtxStream* stream_ = nullptr;
};

TEST_P(EveryShippedKernel, gives_the_bits_of_the_reference_for_every_shape) {
  const bool is_streamed = GetParam().kernel == Kernel::streaming;
  for (const int multiprocessors : {132, 1}) {
    if (is_streamed && multiprocessors == 1) break;  // it would make no difference
    const auto emulated = solver(multiprocessors);
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
  const auto& shapes = GetParam().shapes;
  const bool has_small_blocks =  // the largest cluster of them holds no plan of 512 x 512
      !shapes.empty() && shapes[0].tile == small_tile && shapes[0].threads < 512;
  const FloorPlan plan = generate_floor_plan(3, 1, has_small_blocks ? 360 : 512);
  const auto emulated = solver();
  expect_same_bits(*emulated->solve(plan, {1e-4, 40}, {}), reference(plan, {1e-4, 40}),
                   "real size");
  EXPECT_EQ(stream_->last_group.blocks > 0, GetParam().kernel != Kernel::streaming);
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

INSTANTIATE_TEST_SUITE_P(Ptx, EveryShippedKernel, testing::ValuesIn(shipped()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace wallheat::gpu
