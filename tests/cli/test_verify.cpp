#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "cli/in_process.hpp"
#include "io/deflate.hpp"
#include "isolation/task_runner.hpp"
#include "store/field_codec.hpp"
#include "store/result_store.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "view/json.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

/// Four plans (one without an interior cell), their correct results, and a result file.
class VerifyCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    save("a", room(20, 30));
    save("b", room(24, 24));
    save("wall", random_plan(8, 8, 0, 1));
    save("c", room(20, 31));
    solve_by(SolverKind::jacobi);
  }
  void solve_by(SolverKind kind) {
    solver_.kind = kind;
    settings_ = solver_.settings();
    results_.clear();
    for (const std::string& id : ids_) results_.push_back(solve(results_.size(), id));
  }

  [[nodiscard]] PlanResult solve(std::size_t index, const std::string& id) const {
    const TaskRunner job =
        open_device({directory_.path(), solver_, true, "host", "cpu"}).make_runner({});
    PlanResult result = decode_result(job({{}, id}, {}).encoded_result);
    result.index = static_cast<std::uint32_t>(index);
    return result;
  }

  void save(const std::string& id, const FloorPlan& plan) {
    save_floor_plan(directory_.path(), id, plan);
  }
  [[nodiscard]] std::string file() const { return (directory_ / "results.h5").string(); }

  /// Writes a valid file of the current results, except pending ones.
  void write(bool close = true) {
    const ResultFileSpec plan{StringList(ids_), settings_, true};
    ResultStore store({file(), OpenMode::overwrite}, plan, {});
    std::vector<PlanResult> known;
    for (const PlanResult& result : results_) {
      if (result.status != PlanStatus::pending) known.push_back(result);
    }
    store.store(known);
    if (close) store.close({});
  }
  /// Adds to one cell of a stored field.
  static void change_field(PlanResult& result, std::size_t row, std::size_t col, double by) {
    Grid<double> field = decompress_field(result.field, {result.rows, result.cols});
    field(row, col) += by;
    attach_field(result, field);
  }
  /// Flips the bits of one byte of the first occurrence of `bytes` in the file.
  void damage(const std::string& bytes, std::size_t offset) const {
    std::string text = file_text(file());
    char& byte = text.at(text.find(bytes) + offset);
    byte = static_cast<char>(~byte);
    std::ofstream(file(), std::ios::binary) << text;
  }

  /// A change of a correct result, and the facts of the finding that reports it: the first is the
  /// check that finds it.
  struct Corruption {
    Facts facts;
    std::function<void(PlanResult&)> apply;
  };
  /// Expects that verify finds each corruption of a plan, and nothing wrong with other plans.
  void expect_findings(const std::vector<Corruption>& corruptions, std::size_t plan,
                       const Arguments& more) {
    const std::vector<PlanResult> correct = results_;
    for (const auto& [facts, apply] : corruptions) {
      results_ = correct;
      apply(results_[plan]);
      write();
      const Outcome outcome = verify(more);
      EXPECT_EQ(outcome.status, exit_failed) << testing::PrintToString(facts);
      EXPECT_THAT(outcome.findings(),
                  AllOf(Contains(Mentions(facts)), Each(Mentions("plan " + ids_[plan]))));
      EXPECT_NE(outcome.check(facts.front()).second, 0) << testing::PrintToString(facts);
    }
    results_ = correct;
  }

  struct Outcome : Finished {  ///< as JSON
    [[nodiscard]] Json json() const { return Json::parse(out); }
    /// Returns the numbers of examined plans and of findings of a check; null if it was not made.
    [[nodiscard]] std::pair<Json, Json> check(const std::string& name) const {
      const Json report = json();
      for (const Json& check : report["checks"])
        if (check["check"] == name) return {check["examined"], check["findings"]};
      return {};
    }
    /// Returns each finding after the name of its check: "physics: plan a: ...".
    [[nodiscard]] std::vector<std::string> findings() const {
      const Json report = json();
      std::vector<std::string> findings;
      for (const Json& row : report["wrong"])
        findings.push_back(row["check"].get<std::string>() + ": " +
                           row["finding"].get<std::string>());
      return findings;
    }
    /// Returns the numbers of plans that are done, failed and pending.
    [[nodiscard]] std::vector<int> plans() const {
      const Json report = json();
      return {report["done"], report["failed"], report["pending"]};
    }
  };
  [[nodiscard]] Outcome verify_alone(Arguments more) const {
    more.insert(more.begin(), {"verify", file(), "--json"});
    return {run_here(more)};
  }
  [[nodiscard]] Outcome verify(Arguments more = {"--all"}) const {
    more.insert(more.begin(), {"--data", directory_.path().string()});
    return verify_alone(more);
  }

  TemporaryDirectory directory_;
  SolverOptions solver_;
  Attributes settings_;
  std::vector<std::string> ids_{"a", "b", "wall", "c"};
  std::vector<PlanResult> results_;
};

TEST_F(VerifyCommandTest, AcceptsCorrectFileWithAnyFieldCompression) {
  const Grid<double> field = decompress_field(results_[0].field, {20, 30});
  results_[0].field = deflate(shuffle(field.cells), CompressionLevel::best);
  results_[0].field_crc32 = crc32_of(results_[0].field);
  write();
  const Outcome outcome = verify();
  EXPECT_EQ(outcome.status, exit_done) << outcome.out;
  EXPECT_THAT(outcome.plans(), ElementsAre(4, 0, 0));
  for (const char* check : {"rows", "fields", "inputs", "physics", "answers"})
    EXPECT_EQ(outcome.check(check), std::pair(Json(4), Json(0))) << check;
  EXPECT_EQ(outcome.json()["findings"], 0);
  EXPECT_EQ(verify({"--all", "--solver-backend", "reference"}).status, exit_done);
  const Outcome alone = verify_alone({"--sample", "0"});
  EXPECT_EQ(alone.status, exit_done);
  EXPECT_EQ(alone.check("inputs").first, Json()) << "the check requires --data";
  EXPECT_EQ(verify_alone({}).status, exit_usage);
}

TEST_F(VerifyCommandTest, AcceptsInfiniteStatisticsOnlyWhenSumsOverflow) {
  FloorPlan hot = room(20, 31);
  for (std::size_t cell = 0; cell < hot.domain.cells.size(); ++cell) {
    if (hot.interior.cells[cell] == 0) hot.domain.cells[cell] = 1e300;
  }
  save("c", hot);
  results_[3] = solve(3, "c");
  ASSERT_TRUE(std::isinf(results_[3].statistics.std_temp));
  write();
  const Outcome right = verify();
  EXPECT_EQ(right.status, exit_done) << right.out;
  results_[3].statistics.std_temp = std::nan("");
  results_[0].statistics.std_temp = INFINITY;
  results_[1].statistics.mean_temp = INFINITY;
  write();
  const Outcome outcome = verify({"--sample", "0"});
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_THAT(outcome.findings(),
              AllOf(Contains(Mentions({"physics", "plan c", "std_temp", "nan"})),
                    Contains(Mentions({"physics", "plan a", "std_temp", "inf"})),
                    Contains(Mentions({"physics", "plan b", "mean_temp", "inf"}))));
}

TEST_F(VerifyCommandTest, AcceptsFilesOfOtherSolvers) {
  for (const SolverKind kind : {SolverKind::fastforward, SolverKind::steady}) {
    solve_by(kind);
    write();
    const Outcome outcome = verify();
    EXPECT_EQ(outcome.status, exit_done) << outcome.out;
    EXPECT_EQ(outcome.check("answers"), std::pair(Json(4), Json(0)));
    const Outcome reference = verify({"--solver-backend", "reference"});
    EXPECT_EQ(reference.status, exit_failed);
    EXPECT_THAT(reference.err,
                Mentions({"results.h5", std::string(to_string(kind)), "--solver-backend"}));
  }
}

TEST_F(VerifyCommandTest, ChecksErrorBoundAgainstField) {
  solve_by(SolverKind::steady);
  const std::vector<Corruption> corruptions{
      {{"physics", "plan a", "error_bound", "1e-13", "field"},
       [](PlanResult& row) { row.error_bound = 1e-13; }},
      {{"physics", "error_bound", "field"}, [](PlanResult& row) { change_field(row, 5, 7, 1e-7); }},
      {{"physics", "converged", "error_bound", "1e-07"},
       [](PlanResult& row) { row.error_bound = 1e-7; }},
      {{"physics", "converged", "error_bound", "nan"},
       [](PlanResult& row) { row.error_bound = std::nan(""); }},
      {{"physics", "iterations", "-1"}, [](PlanResult& row) { row.iterations = -1; }},
  };
  expect_findings(corruptions, 0, {"--sample", "0"});
}

TEST_F(VerifyCommandTest, FindsEveryDifferenceBySolvingAgain) {
  const auto next = [](double& value) { value = std::nextafter(value, 100.0); };
  const std::vector<Corruption> corruptions{
      {{"answers", "mean_temp"}, [&](PlanResult& row) { next(row.statistics.mean_temp); }},
      {{"answers", "std_temp"}, [&](PlanResult& row) { next(row.statistics.std_temp); }},
      {{"answers", "pct_above"}, [&](PlanResult& row) { next(row.statistics.pct_above); }},
      {{"answers", "pct_below"}, [&](PlanResult& row) { next(row.statistics.pct_below); }},
      {{"answers", "last_delta"},
       [](PlanResult& row) { row.last_delta = std::nextafter(row.last_delta, 0.0); }},
      {{"answers", "iterations"}, [](PlanResult& row) { ++row.iterations; }},
      {{"answers", "error_estimate"}, [](PlanResult& row) { row.error_estimate /= 2; }},
      {{"answers", "status"}, [](PlanResult& row) { row.status = PlanStatus::max_iterations; }},
      {{"physics", "interior_cells"}, [](PlanResult& row) { --row.interior_cells; }},
      {{"answers", "field", "1 cell", "row 5", "column 7"},
       [](PlanResult& row) { change_field(row, 5, 7, 1e-13); }},
  };
  expect_findings(corruptions, 1, {"--all"});
}

TEST_F(VerifyCommandTest, FindsImpossibleValuesWithoutSolving) {
  const std::vector<Corruption> corruptions{
      {{"physics", "mean_temp", "25.1"}, [](PlanResult& row) { row.statistics.mean_temp = 25.1; }},
      {{"physics", "mean_temp", "nan"},
       [](PlanResult& row) { row.statistics.mean_temp = std::nan(""); }},
      {{"physics", "std_temp", "12.6"}, [](PlanResult& row) { row.statistics.std_temp = 12.6; }},
      {{"physics", "std_temp", "-1.0"}, [](PlanResult& row) { row.statistics.std_temp = -1; }},
      {{"physics", "pct_above", "100.5"},
       [](PlanResult& row) { row.statistics.pct_above = 100.5; }},
      {{"physics", "pct_below", "nan"},
       [](PlanResult& row) { row.statistics.pct_below = std::nan(""); }},
      {{"physics", "converged", "last_delta", "0.0001"},
       [](PlanResult& row) { row.last_delta = 1e-4; }},
      {{"physics", "iterations", "20001", "20000"},
       [](PlanResult& row) { row.iterations = 20001; }},
      {{"physics", "empty"}, [](PlanResult& row) { row.status = PlanStatus::empty; }},
      {{"physics", "field", "1 cell"}, [](PlanResult& row) { change_field(row, 5, 7, 30); }},
      {{"physics", "field", "1 cell", "nan"},
       [](PlanResult& row) { change_field(row, 5, 7, std::nan("")); }},
      {{"physics", "field", "1 fixed cell"}, [](PlanResult& row) { change_field(row, 0, 0, -1); }},
      {{"fields", "mean_temp", "field"}, [](PlanResult& row) { row.statistics.mean_temp += 1e-6; }},
  };
  expect_findings(corruptions, 0, {"--sample", "0"});
}

TEST_F(VerifyCommandTest, ReportsChangedInputsInsteadOfWrongResults) {
  write();
  FloorPlan plan = room(24, 24);
  plan.domain(0, 3) = 24;
  save("b", plan);
  std::filesystem::remove(directory_ / "c_interior.npy");
  const Outcome outcome = verify();
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_THAT(
      outcome.findings(),
      AllOf(Contains(Mentions({"inputs", "plan b", directory_.path().string(), "input_hash"})),
            Contains(Mentions({"inputs", "plan c", "c_interior.npy"}))));
  EXPECT_EQ(outcome.check("answers"), std::pair(Json(2), Json(0)));
}

TEST_F(VerifyCommandTest, NamesPlansWithDamagedRowsOrFields) {
  write();
  const double mean = results_[1].statistics.mean_temp;
  damage(std::string(reinterpret_cast<const char*>(&mean), sizeof mean), 1);
  const auto& field = results_[3].field;
  damage(std::string(reinterpret_cast<const char*>(field.data()), field.size()), field.size() / 2);
  const Outcome outcome = verify({"--sample", "0"});
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_EQ(outcome.json()["damaged"], Json::parse(R"([{"row": 1, "id": "b"}])"));
  EXPECT_THAT(outcome.findings(), Contains(Mentions({"fields", "plan c", "damaged"})));
  for (const char* check : {"rows", "fields"}) EXPECT_EQ(outcome.check(check).second, 1) << check;
  EXPECT_EQ(outcome.json()["findings"], 2);
}

TEST_F(VerifyCommandTest, ReturnsStatusForFailedOrPendingPlans) {
  results_[1].status = PlanStatus::failed;
  results_[1].error = "it broke";
  results_[1].field.clear();
  write();
  Outcome outcome = verify();
  EXPECT_EQ(outcome.status, exit_some_plans_failed) << outcome.out;
  EXPECT_THAT(outcome.plans(), ElementsAre(3, 1, 0));
  results_[0].status = PlanStatus::pending;
  write();
  outcome = verify();
  EXPECT_EQ(outcome.status, exit_incomplete) << outcome.out;
  EXPECT_THAT(outcome.plans(), ElementsAre(2, 1, 1));
}

TEST_F(VerifyCommandTest, ReadsFileOfKilledRun) {
  results_[0].status = PlanStatus::pending;
  results_[1].iterations += 2;
  write(false);
  const Outcome outcome = verify();
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_THAT(outcome.plans(), ElementsAre(3, 0, 1));
  EXPECT_EQ(outcome.json()["closed_well"], false);
  EXPECT_THAT(outcome.findings(), Contains(Mentions({"answers", "plan b", "iterations"})));
}

TEST_F(VerifyCommandTest, SolvesSameSampleForSameSeed) {
  results_[0].last_delta /= 2;  // only solving again can detect it
  results_[1].last_delta /= 2;
  results_[3].last_delta /= 2;
  write();
  EXPECT_EQ(verify({"--sample", "0"}).check("answers").first, Json());
  EXPECT_EQ(verify({}).check("answers").first, 4);
  const Outcome once = verify({"--sample", "2", "--seed", "5"});
  EXPECT_EQ(once.check("answers").first, 2);
  EXPECT_EQ(once.json()["seed"], 5);
  EXPECT_EQ(verify({"--sample", "2", "--seed", "5"}).out, once.out);
}

TEST_F(VerifyCommandTest, RejectsFileOfOtherSolverVersion) {
  settings_["solver_version"] = "0";
  write();
  const Outcome outcome = verify({});
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_THAT(outcome.err,
              Mentions({"results.h5", "jacobi 0", solver_.solver_text(), "--sample 0"}));
  EXPECT_EQ(verify({"--sample", "0"}).status, exit_done);
}

}  // namespace
}  // namespace wallheat
