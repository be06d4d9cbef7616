#pragma once

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "store/field_codec.hpp"
#include "store/result_store.hpp"
#include "store/row.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store_test {

/// An empty directory that goes with the test.
class TestDirectory : public testing::Test {
 protected:
  TestDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "wallheat-store-XXXXXX").string();
    directory = ::mkdtemp(name.data());
    file = directory / "results.h5";
    journal = directory / "results.h5.wal0";
    lock = directory / "results.h5.lock";
  }
  ~TestDirectory() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }

  std::filesystem::path directory, file, journal, lock;
};

inline TextList make_ids(std::size_t count) {
  TextList ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back("plan " + std::to_string(i));
  return ids;
}

/// With the shapes of the plans' fields; without, none are saved.
struct TestPlan : StorePlan {
  std::vector<GridShape> shapes;
};

inline TestPlan make_plan(std::size_t count, std::vector<GridShape> shapes = {}) {
  TestPlan plan;
  plan.ids = make_ids(count);
  plan.settings = {{"solver", "jacobi"}, {"tolerance", "0.0001"}};
  plan.save_fields = !shapes.empty();
  for (std::size_t i = 0; plan.save_fields && i < count; ++i) {
    plan.shapes.push_back(shapes[i % shapes.size()]);
  }
  return plan;
}

/// A smooth field that differs from plan to plan and version to version.
inline Grid<double> make_field(std::size_t index, GridShape shape, int version = 0) {
  Grid<double> field(shape.rows, shape.cols);
  for (std::size_t i = 0; i < field.cells.size(); ++i) {
    field.cells[i] = 5 + std::sin(0.01 * static_cast<double>(i + 7 * index)) + 0.3 * version;
  }
  return field;
}

inline PlanResult make_result(const TestPlan& plan, std::size_t index, int version = 0) {
  PlanResult result;
  result.index = static_cast<std::uint32_t>(index);
  result.id = plan.ids[index];
  result.status = index % 3 == 0 ? PlanStatus::max_iterations : PlanStatus::converged;
  const auto number = static_cast<double>(index);
  result.statistics = {17 + 1 / (number + 1), 2.5, index % 5 == 0 ? std::nan("") : 61.25,
                       0.1 * version};
  result.iterations = static_cast<std::int64_t>(1000 + index);
  result.last_delta = 1e-5 / (number + 3);
  result.interior_cells = 77;
  result.rows = 4;
  result.cols = 5;
  result.seconds = 0.125;
  result.thread = static_cast<std::int32_t>(index % 4);
  result.started_s = 0.5 * number;
  result.predicted_s = 0.25F;
  result.phases = {0.01F, 0.02F, 0.03F, 0.04F, 0.05F, 0.07F};
  result.attempts = 1 + version;
  result.failures = static_cast<std::int32_t>(index % 4);
  result.fell_back = static_cast<std::int32_t>(index % 2);
  result.error_bound = 1e-9 * (number + 1);
  result.error_estimate = 0.1;
  result.cpu_s = 0.03;
  result.peak_memory = 23'000'000 + 4096 * static_cast<std::int64_t>(index);
  result.cells_in_doubt = static_cast<std::uint32_t>(index);
  result.pct_above_18_least = 61;
  result.pct_above_18_most = 61.5;
  result.pct_below_15_least = 0.25 * number;
  result.pct_below_15_most = 0.5 * number;
  result.rank = static_cast<std::int32_t>(index % 7);
  result.host = "node" + std::to_string(index % 3);
  result.device = "cpu";
  result.solver = "jacobi 0.1";
  result.input_hash = 0xfeedfacecafebeefULL + index;
  result.input_stamp = 0x0123456789abcdefULL + index;
  if (plan.save_fields) {
    result.rows = static_cast<std::uint32_t>(plan.shapes[index].rows);
    result.cols = static_cast<std::uint32_t>(plan.shapes[index].cols);
    put_field(result, make_field(index, plan.shapes[index], version));
  }
  return result;
}

inline std::vector<PlanResult> make_results(const TestPlan& plan, std::size_t begin,
                                            std::size_t end, int version = 0) {
  std::vector<PlanResult> results;
  for (auto i = begin; i < end; ++i) results.push_back(make_result(plan, i, version));
  return results;
}

inline PlanResult pending(const StorePlan& plan, std::size_t index) {
  PlanResult result;
  result.index = static_cast<std::uint32_t>(index);
  result.id = plan.ids[index];
  return result;
}

/// Equal to the last bit of every number, NaN included; fields, and in which session it was stored,
/// aside.
inline bool same(const PlanResult& a, const PlanResult& b) {
  auto x = store::to_row(a), y = store::to_row(b);
  x.session = y.session = 0;
  return std::memcmp(&x, &y, sizeof x) == 0;
}

/// Rows [0, stored) hold version `version`, the others are pending, and fields are where they
/// belong.
inline void expect_contents(const std::filesystem::path& file, const TestPlan& plan,
                            std::size_t stored, int version = 0) {
  const ResultReader reader(file);
  ASSERT_EQ(reader.rows().size(), plan.ids.size());
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    const auto expected = i < stored ? make_result(plan, i, version) : pending(plan, i);
    ASSERT_TRUE(same(reader.rows()[i], expected)) << "row " << i;
    const auto field = reader.field(i);
    ASSERT_EQ(field.has_value(), plan.save_fields && i < stored) << "row " << i;
    if (field) {
      ASSERT_EQ(*field, make_field(i, plan.shapes[i], version)) << "row " << i;
    }
  }
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// The sentence of the RunError that `step` throws; "(accepted)" if it throws none.
template <class Step>
std::string refusal(Step step) {
  return refusal_of<RunError>(step);
}

/// Where the row of a stored plan begins in a file's bytes.
inline std::size_t row_at(const std::string& bytes, const TestPlan& plan, std::size_t index) {
  const auto row = store::to_row(make_result(plan, index));
  const auto at = bytes.find(std::string(reinterpret_cast<const char*>(&row),
                                         sizeof(row.index) + sizeof(row.status) + sizeof(row.id)));
  EXPECT_NE(at, std::string::npos);
  return at;
}

/// Runs gtest assertions in a process of their own, which may change its rights, limits or mounts.
/// 77: `work` found that the system does not permit that.
template <class Work>
int in_a_process(Work work) {
  std::fflush(stdout);
  return wait_for(start_child([&] {
    work();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }));
}

/// Runs a script with Debian's Python; h5py is an independent judge of the file.
inline int run_python(const std::string& script, const std::filesystem::path& file) {
  const auto path = file.parent_path() / "script.py";
  write_bytes(path, script);
  const auto command = "/usr/bin/python3 " + path.string() + " " + file.string();
  const int status = std::system(command.c_str());
  std::filesystem::remove(path);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline bool has_h5py() {
  return std::system("/usr/bin/python3 -c 'import h5py' >/dev/null 2>&1") == 0;
}

/// A test's directory with a file in it.
class StoreTest : public TestDirectory {
 protected:
  /// Made and closed by a session.
  void make_closed(const TestPlan& plan, std::size_t stored, const Attributes& session = {}) {
    auto store = ResultStore::create(file, plan, session, true);
    store.store(make_results(plan, 0, stored));
    store.close({});
  }
  /// By a session that was stopped before all was done: its journal is left.
  void make_stopped(const TestPlan& plan, std::size_t stored) {
    auto store = ResultStore::create(file, plan, {}, true);
    store.store(make_results(plan, 0, stored));
    store.close({}, false);
  }
  /// A session that stores the rows [begin, end), and what its resume reported.
  std::vector<std::string> resume_with(const TestPlan& plan, std::size_t begin, std::size_t end) {
    std::vector<std::string> report;
    auto store = ResultStore::resume(file, plan, {}, &report);
    store.store(make_results(plan, begin, end));
    store.close({});
    return report;
  }
  /// Flips a bit of a row that was stored.
  void damage_row(const TestPlan& plan, std::size_t index, std::size_t byte = 140) const {
    auto bytes = read_bytes(file);
    bytes[row_at(bytes, plan, index) + byte] ^= 1;
    write_bytes(file, bytes);
  }
  /// The same of its field.
  void damage_field(const TestPlan& plan, std::size_t index) const {
    auto bytes = read_bytes(file);
    const auto field = compress_field(make_field(index, plan.shapes[index]));
    const auto at =
        bytes.find(std::string(reinterpret_cast<const char*>(field.data()), field.size()));
    ASSERT_NE(at, std::string::npos);
    bytes[at + 9] ^= 1;
    write_bytes(file, bytes);
  }
  /// Batches of one row, in a process that is then killed.
  void make_killed(const TestPlan& plan, std::size_t stored) {
    run_and_kill([&](auto die) {
      auto store = ResultStore::create(file, plan, {}, true);
      for (std::size_t i = 0; i < stored; ++i) store.store(make_results(plan, i, i + 1));
      die();
    });
  }
};

inline std::size_t files_in(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), {}));
}

}  // namespace wallheat::store_test
