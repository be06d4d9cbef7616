#include <gtest/gtest.h>

#include "wallheat/error.hpp"
#include "wallheat/gpu.hpp"

namespace wallheat {
namespace {

TEST(GpuSupport, says_why_where_it_cannot_solve) {
  const GpuSupport support = gpu_support();
  EXPECT_NE(support.can_solve, !support.reason.empty()) << support.reason;
}

TEST(GpuSupport, opening_a_gpu_that_is_not_there_is_refused) {
  EXPECT_THROW((void)open_gpu(4711), RunError);
}

}  // namespace
}  // namespace wallheat
