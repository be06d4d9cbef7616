#include <sys/fsuid.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <new>
#include <system_error>

#include "isolation/task_runner.hpp"
#include "plans/plan_source.hpp"
#include "store/field_codec.hpp"
#include "support/matchers.hpp"
#include "support/shapes.hpp"
#include "support/sparse_array.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

class TaskRunnerTest : public testing::Test {
 protected:
  PlanResult solve(const std::string& id, bool save_fields = false) {
    const SolveConfig settings{directory_.path(), solver_, save_fields, "host", "cpu"};
    return decode_result(open_device(settings).make_runner({})({{}, id}, {}).encoded_result);
  }
  void save(const std::string& id, const FloorPlan& plan) {
    save_floor_plan(directory_.path(), id, plan);
  }

  TemporaryDirectory directory_;
  SolverOptions solver_;
};

TEST_F(TaskRunnerTest, ReportsEveryColumnOfResult) {
  const FloorPlan plan = room(20, 30);
  save("7", plan);
  const PlanResult result = solve("7", true);
  const Solution expected = *make_reference_solver()->solve(plan, {}, {});
  EXPECT_EQ(result.status, PlanStatus::converged);
  EXPECT_EQ(result.iterations, expected.iterations);
  EXPECT_EQ(result.last_delta, expected.last_delta);
  EXPECT_EQ(result.statistics.mean_temp, statistics(expected.field, plan.interior).mean_temp);
  EXPECT_EQ(result.interior_cells, count_interior(plan));
  EXPECT_EQ(result.rows, 20U);
  EXPECT_EQ(result.cols, 30U);
  EXPECT_EQ(result.input_hash, plan_hash(plan));
  EXPECT_EQ(result.input_stamp, directory_source(directory_.path())->stamp("7"));
  EXPECT_EQ(decompress_field(result.field, {20, 30}), expected.field);
}

TEST_F(TaskRunnerTest, ReportsErrorBoundOfSteadyState) {
  // Symmetric about the middle column, where it is exactly 15 °C: these cells are uncertain.
  FloorPlan plan{Grid<double>(30, 31), Grid<std::uint8_t>(30, 31)};
  for (std::size_t row = 0; row < 30; ++row) {
    for (std::size_t col = 0; col < 31; ++col) {
      const bool inside = row > 0 && row < 29 && col > 0 && col < 30;
      plan.interior(row, col) = inside ? 1 : 0;
      if (!inside) plan.domain(row, col) = col < 15 ? 5 : col == 15 ? 15 : 25;
    }
  }
  save("7", plan);
  solver_.kind = SolverKind::steady;
  const PlanResult result = solve("7");
  EXPECT_EQ(result.solver, "steady 4");
  EXPECT_EQ(result.status, PlanStatus::converged);
  EXPECT_GT(result.error_bound, 0);
  EXPECT_LE(result.error_bound, 1e-8);
  EXPECT_EQ(result.uncertain_cells, 28U);
  const double uncertain_pct = 100.0 * 28 / (28 * 29);
  EXPECT_NEAR(result.pct_below_upper - result.pct_below_lower, uncertain_pct, 1e-12);
  EXPECT_NEAR(result.pct_below_lower, 100.0 * 14 / 29, 1e-12);
  EXPECT_EQ(result.pct_above_lower, result.pct_above_upper);
  EXPECT_EQ(result.pct_above_lower, result.statistics.pct_above);
}

TEST_F(TaskRunnerTest, BoundsShareOfCellsWithItsOwnRounding) {
  // Three cells apart from each other, one of which is warm. 100 * 1 / 3 exceeds 1 / 3 * 100 by one
  // unit in the last place.
  FloorPlan plan{Grid<double>(3, 7, 5.0), Grid<std::uint8_t>(3, 7)};
  for (const std::size_t col : {1U, 3U, 5U}) plan.interior(1, col) = 1;
  for (const std::size_t row : {0U, 2U}) plan.domain(row, 1) = 100;
  save("7", plan);
  solver_.kind = SolverKind::steady;
  const PlanResult result = solve("7");
  EXPECT_EQ(result.uncertain_cells, 0U);
  EXPECT_EQ(result.statistics.pct_above, 1.0 / 3 * 100);
  EXPECT_EQ(result.pct_above_lower, result.statistics.pct_above);
  EXPECT_EQ(result.pct_above_upper, result.statistics.pct_above);
  EXPECT_EQ(result.pct_below_lower, result.statistics.pct_below);
  EXPECT_EQ(result.pct_below_upper, result.statistics.pct_below);
}

TEST_F(TaskRunnerTest, ReportsFailureWhenAccuracyIsUnreachable) {
  save("7", room(20, 30));
  solver_.kind = SolverKind::steady;
  solver_.limits.accuracy = 1e-16;
  const PlanResult result = solve("7");
  EXPECT_EQ(result.status, PlanStatus::failed);
  EXPECT_THAT(result.error, Mentions({"accuracy", "1e-16"}));
}

TEST_F(TaskRunnerTest, ReportsFallbackOfFastForward) {
  save("large", room(120, 120));
  save("small", room(20, 30));
  solver_.kind = SolverKind::fastforward;
  const PlanResult large = solve("large");
  EXPECT_EQ(large.solver, "fastforward 4");
  EXPECT_EQ(large.fell_back, 0);
  EXPECT_TRUE(std::isnan(large.error_bound));
  EXPECT_FALSE(std::isnan(large.pct_above_lower));
  const PlanResult small = solve("small");
  EXPECT_EQ(small.fell_back, 1);
  solver_.kind = SolverKind::jacobi;
  const PlanResult exact = solve("small");
  EXPECT_EQ(exact.fell_back, 0);
  EXPECT_EQ(exact.uncertain_cells, 0U);
  EXPECT_EQ(exact.statistics.mean_temp, small.statistics.mean_temp);
  EXPECT_EQ(solve("large").iterations, large.iterations);
}

TEST_F(TaskRunnerTest, ReportsFailureForInvalidInput) {
  save("7", room(20, 30));
  for (const auto& [id, cause] : std::vector<std::pair<std::string, std::string>>{
           {"missing", "missing_domain.npy"}, {"../7", "'/'"}, {"a..b", "'..'"}}) {
    const PlanResult result = solve(id);
    EXPECT_EQ(result.status, PlanStatus::failed);
    EXPECT_EQ(result.id, id);
    EXPECT_THAT(result.error, Mentions(cause));
  }
}

TEST_F(TaskRunnerTest, ReportsFailureWhenFieldIsTooLarge) {
  save("7", room(20, 30));
  save_sparse(directory_ / "7_domain.npy", "<f8", 8, 30000);
  const PlanResult result = solve("7", true);
  EXPECT_EQ(result.status, PlanStatus::failed);
  EXPECT_THAT(result.error, Mentions({"30000", "4 GiB", "--save-fields"}));
}

class SolverWithoutMemory final : public Solver {
 public:
  std::optional<Solution> solve(const FloorPlan&, const SolveParameters&,
                                const SolveControl&) override {
    throw std::bad_alloc();
  }
};

TEST_F(TaskRunnerTest, ReportsRetryableFailureWhenMemoryIsExhausted) {
  save("7", room(20, 30));
  const TaskRunner job = make_task_runner({directory_.path(), solver_, false, "host", "cpu"},
                                          directory_source(directory_.path()),
                                          std::make_shared<SolverWithoutMemory>(), {});
  const TaskResult result = job({{}, "7"}, {});
  EXPECT_EQ(result.kind, TaskResult::Kind::retryable);
  EXPECT_THAT(decode_result(result.encoded_result).error, Mentions("memory"));
}

TEST_F(TaskRunnerTest, ThrowsSourceUnavailableWhenDirectoryIsMissing) {
  const auto missing = directory_ / "missing";
  const TaskRunner job =
      make_task_runner({missing, solver_, false, "host", "cpu"}, directory_source(missing),
                       std::shared_ptr(make_reference_solver()), {});
  EXPECT_THAT(
      [&] {
        (void)job({{}, "7"}, {});
      },
      testing::ThrowsMessage<SourceUnavailable>(Mentions(missing.string())));
}

TEST_F(TaskRunnerTest, ReportsHostErrorWhenFileOfPlanCannotBeOpened) {
  save("7", room(20, 30));
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(directory_ / "7_domain.npy", std::filesystem::perms::none);
  const TaskRunner job =
      open_device({directory_.path(), solver_, false, "host", "cpu"}).make_runner({});
  ::setfsuid(65534);  // of this thread: root may open every file
  const TaskResult result = job({{}, "7"}, {});
  ::setfsuid(::geteuid());
  EXPECT_EQ(result.kind, TaskResult::Kind::host_error);
  EXPECT_THAT(result.error, Mentions({"7_domain.npy", "Permission denied"}));
  EXPECT_EQ(decode_result(result.encoded_result).error, result.error);
}

TEST_F(TaskRunnerTest, ReportsHostErrorWhenThreadCannotStart) {
  save("7", room(20, 30));
  struct SolverWithoutThreads final : Solver {
    std::optional<Solution> solve(const FloorPlan&, const SolveParameters&,
                                  const SolveControl&) override {
      throw std::system_error(EAGAIN, std::generic_category(), "thread");
    }
  };
  const TaskRunner job = make_task_runner({directory_.path(), solver_, false, "host", "cpu"},
                                          directory_source(directory_.path()),
                                          std::make_shared<SolverWithoutThreads>(), {});
  EXPECT_EQ(job({{}, "7"}, {}).kind, TaskResult::Kind::host_error);
}

TEST_F(TaskRunnerTest, ThrowsSourceUnavailableWhenDirectoryIsEmpty) {
  const TaskRunner job =
      open_device({directory_.path(), solver_, false, "host", "cpu"}).make_runner({});
  EXPECT_THAT(
      [&] {
        (void)job({{}, "7"}, {});
      },
      testing::ThrowsMessage<SourceUnavailable>(Mentions({directory_.path().string(), "empty"})));
}

}  // namespace
}  // namespace wallheat
