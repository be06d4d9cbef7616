#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "cli/in_process.hpp"
#include "io/deflate.hpp"
#include "isolation/plan_job.hpp"
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

/// Four plans (one without rooms), their true results, and a file of what became of them.
class VerifyTest : public testing::Test {
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
    const PlanJob job = open_jobs({directory_.path(), solver_, true, "host", "cpu"}).make_job({});
    return decode_result(job({static_cast<std::uint32_t>(index), id}, {}).record);
  }

  void save(const std::string& id, const FloorPlan& plan) {
    save_floor_plan(directory_.path(), id, plan);
  }
  [[nodiscard]] std::string file() const { return (directory_ / "results.h5").string(); }

  /// Writes a sound file of what the results now are; pending ones are left out.
  void write(bool close = true) {
    const StorePlan plan{TextList(ids_), settings_, true};
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
    put_field(result, field);
  }
  /// Flips the bits of a byte somewhere in the first place where the file holds `bytes`.
  void damage(const std::string& bytes, std::size_t offset) const {
    std::string text = file_text(file());
    char& byte = text.at(text.find(bytes) + offset);
    byte = static_cast<char>(~byte);
    std::ofstream(file(), std::ios::binary) << text;
  }

  using Lies = std::vector<std::pair<std::string, std::function<void(PlanResult&)>>>;
  /// Each lie alone about a plan: verify finds it, and says this.
  void expect_found(const Lies& lies, std::size_t plan, const Arguments& more,
                    const testing::Matcher<std::string>& also = testing::_) {
    const std::vector<PlanResult> truth = results_;
    for (const auto& [sentence, lie] : lies) {
      results_ = truth;
      lie(results_[plan]);
      write();
      const Outcome outcome = verify(more);
      EXPECT_EQ(outcome.status, exit_failed) << sentence;
      EXPECT_THAT(outcome.out, AllOf(HasSubstr(sentence), also));
    }
  }

  struct Outcome : Finished {  ///< as JSON
    [[nodiscard]] Json json() const { return Json::parse(out); }
    /// How many plans a check has looked at, and what it found; null if it was not made.
    [[nodiscard]] std::pair<Json, Json> check(const std::string& name) const {
      const Json answer = json();
      for (const Json& check : answer["checks"])
        if (check["check"] == name) return {check["examined"], check["findings"]};
      return {};
    }
    /// Plans that are done, failed and pending.
    [[nodiscard]] std::vector<int> plans() const {
      const Json answer = json();
      return {answer["done"], answer["failed"], answer["pending"]};
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

TEST_F(VerifyTest, finds_nothing_wrong_with_a_true_file_however_its_fields_are_compressed) {
  const Grid<double> field = decompress_field(results_[0].field, {20, 30});
  results_[0].field = deflate(shuffle(field.cells), Effort::best);
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
  EXPECT_EQ(alone.check("inputs").first, Json()) << "there are no plans to compare with";
  EXPECT_EQ(verify_alone({}).status, exit_usage);
}

TEST_F(VerifyTest, takes_infinite_statistics_where_sums_overflow_and_only_there) {
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
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("plan c: std_temp is nan"),
                                 HasSubstr("plan a: std_temp is inf °C, too much"),
                                 HasSubstr("plan b: mean_temp is inf °C, but no temperature")));
}

TEST_F(VerifyTest, finds_nothing_wrong_with_files_of_the_other_solvers) {
  for (const SolverKind kind : {SolverKind::fastforward, SolverKind::steady}) {
    solve_by(kind);
    write();
    const Outcome outcome = verify();
    EXPECT_EQ(outcome.status, exit_done) << outcome.out;
    EXPECT_EQ(outcome.check("answers"), std::pair(Json(4), Json(0)));
    EXPECT_THAT(verify({"--solver-backend", "reference"}).err,
                HasSubstr("there is no reference back end"));
  }
}

TEST_F(VerifyTest, proves_the_bound_of_a_steady_state_from_its_field) {
  solve_by(SolverKind::steady);
  const Lies lies{
      {"plan a: error_bound is 1e-13 °C in the file, but the field beside it proves ",
       [](PlanResult& row) { row.error_bound = 1e-13; }},
      {"but the field beside it proves ", [](PlanResult& row) { change_field(row, 5, 7, 1e-7); }},
      {"called converged, but error_bound is 1e-07",
       [](PlanResult& row) { row.error_bound = 1e-7; }},
      {"called converged, but error_bound is nan",
       [](PlanResult& row) { row.error_bound = std::nan(""); }},
      {"it took -1 iterations", [](PlanResult& row) { row.iterations = -1; }},
  };
  expect_found(lies, 0, {"--sample", "0"});
}

TEST_F(VerifyTest, finds_each_value_that_is_not_what_solving_again_gives) {
  const auto next = [](double& value) { value = std::nextafter(value, 100.0); };
  const Lies lies{
      {"mean_temp", [&](PlanResult& row) { next(row.statistics.mean_temp); }},
      {"std_temp", [&](PlanResult& row) { next(row.statistics.std_temp); }},
      {"pct_above_18", [&](PlanResult& row) { next(row.statistics.pct_above_18); }},
      {"pct_below_15", [&](PlanResult& row) { next(row.statistics.pct_below_15); }},
      {"last_delta", [](PlanResult& row) { row.last_delta = std::nextafter(row.last_delta, 0.0); }},
      {"iterations", [](PlanResult& row) { ++row.iterations; }},
      {"error_estimate", [](PlanResult& row) { row.error_estimate /= 2; }},
      {"status", [](PlanResult& row) { row.status = PlanStatus::max_iterations; }},
      {"interior_cells", [](PlanResult& row) { --row.interior_cells; }},
      {"field in 1 cell, the first in row 5, column 7, is",
       [](PlanResult& row) { change_field(row, 5, 7, 1e-13); }},
  };
  expect_found(
      lies, 1, {"--all"},
      AllOf(HasSubstr("plan b: "), HasSubstr(" solved again"), Not(HasSubstr("plan a: "))));
}

TEST_F(VerifyTest, finds_the_impossible_without_solving) {
  const Lies lies{
      {"mean_temp is 25.1", [](PlanResult& row) { row.statistics.mean_temp = 25.1; }},
      {"mean_temp is nan", [](PlanResult& row) { row.statistics.mean_temp = std::nan(""); }},
      {"std_temp is 12.6", [](PlanResult& row) { row.statistics.std_temp = 12.6; }},
      {"std_temp is -1.0", [](PlanResult& row) { row.statistics.std_temp = -1; }},
      {"pct_above_18 is 100.5", [](PlanResult& row) { row.statistics.pct_above_18 = 100.5; }},
      {"pct_below_15 is nan", [](PlanResult& row) { row.statistics.pct_below_15 = std::nan(""); }},
      {"called converged, but last_delta is 0.0001",
       [](PlanResult& row) { row.last_delta = 1e-4; }},
      {"it took 20001 iterations", [](PlanResult& row) { row.iterations = 20001; }},
      {"called empty", [](PlanResult& row) { row.status = PlanStatus::empty; }},
      {"outside of the possible", [](PlanResult& row) { change_field(row, 5, 7, 30); }},
      {"outside of the possible", [](PlanResult& row) { change_field(row, 5, 7, std::nan("")); }},
      {"1 fixed cell of", [](PlanResult& row) { change_field(row, 0, 0, -1); }},
  };
  expect_found(lies, 0, {"--sample", "0"}, HasSubstr("{\"check\": \"physics\", \"ok\": false"));
  expect_found(
      {{"by the field beside it", [](PlanResult& row) { row.statistics.mean_temp += 1e-6; }}}, 0,
      {"--sample", "0"});
}

TEST_F(VerifyTest, calls_a_changed_input_changed_and_not_the_answer_wrong) {
  write();
  FloorPlan plan = room(24, 24);
  plan.domain(0, 3) = 24;
  save("b", plan);
  std::filesystem::remove(directory_ / "c_interior.npy");
  const Outcome outcome = verify();
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("plan b: its input in "),
                                 HasSubstr("has changed since it was solved"),
                                 HasSubstr("plan c: its input cannot be read any more: "),
                                 HasSubstr("c_interior.npy: no such file")));
  EXPECT_EQ(outcome.check("answers"), std::pair(Json(2), Json(0)));
}

TEST_F(VerifyTest, names_rows_and_fields_that_are_damaged_on_disk) {
  write();
  const double mean = results_[1].statistics.mean_temp;
  damage(std::string(reinterpret_cast<const char*>(&mean), sizeof mean), 1);
  const auto& field = results_[3].field;
  damage(std::string(reinterpret_cast<const char*>(field.data()), field.size()), field.size() / 2);
  const Outcome outcome = verify({"--sample", "0"});
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_EQ(outcome.json()["damaged"], Json::parse(R"([{"row": 1, "id": "b"}])"));
  EXPECT_THAT(outcome.out, HasSubstr("damaged field of plan c"));
  for (const char* check : {"rows", "fields"}) EXPECT_EQ(outcome.check(check).second, 1) << check;
  EXPECT_EQ(outcome.json()["findings"], 2);
}

TEST_F(VerifyTest, says_by_its_exit_status_that_plans_failed_or_are_left) {
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
  EXPECT_EQ(outcome.status, exit_work_left) << outcome.out;
  EXPECT_THAT(outcome.plans(), ElementsAre(2, 1, 1));
}

TEST_F(VerifyTest, reads_a_file_whose_run_was_killed) {
  results_[0].status = PlanStatus::pending;
  results_[1].iterations += 2;
  write(false);
  const Outcome outcome = verify();
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_THAT(outcome.plans(), ElementsAre(3, 0, 1));
  EXPECT_EQ(outcome.json()["closed_well"], false);
  EXPECT_THAT(outcome.out, HasSubstr("plan b: iterations is "));
}

TEST_F(VerifyTest, solves_as_many_plans_as_asked_and_the_same_for_the_same_seed) {
  results_[0].last_delta /= 2;  // only solving again can see it
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

TEST_F(VerifyTest, refuses_to_compare_with_another_solver) {
  settings_["solver_version"] = "0";
  write();
  EXPECT_THAT(verify({}).err, HasSubstr("was solved by jacobi 0, and this wallheat has jacobi"));
  EXPECT_EQ(verify({"--sample", "0"}).status, exit_done);
}

}  // namespace
}  // namespace wallheat
