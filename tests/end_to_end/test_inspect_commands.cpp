// The commands that inspect results: list, summary, compare, scaling.

#include "support/shell_test.hpp"
#include "view/json.hpp"

namespace wallheat {
namespace {

class InspectCommandsTest : public ShellTest {
 protected:
  /// Makes r.h5, and coarse.h5 with another tolerance.
  void solve() const {
    generate(6);
    shell(
        "run() { wallheat run --data plans --device cpu --threads 1 --log-level error --out $*; };"
        "run r.h5 && run coarse.h5 --tolerance 0.1");
  }
};

TEST_F(InspectCommandsTest, ListsPlansSelectedByConditionOrId) {
  solve();
  const std::string listed =
      shell("wallheat list r.h5 --where 'iterations > 0' --sort -mean_temp -n 2 --format csv").out;
  EXPECT_THAT(listed, StartsWith("id,status,mean_temp,"));
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 3);
  const auto json = Json::parse(shell("wallheat list r.h5 --columns id,host --json").out);
  EXPECT_EQ(json.at("plans").at(5).at("id"), "00006");
  EXPECT_THAT(shell("wallheat list r.h5").out, Mentions({"pct_below", "00006"}));
  const std::string list = "wallheat list r.h5 --columns id -f csv ";
  EXPECT_EQ(shell(list + "00005 00002 00005").out, "id\n00005\n00002\n");
  EXPECT_EQ(shell(list + "00005 00002 --first 1").out, "id\n00005\n");
  EXPECT_EQ(shell(list + "--sort -id --first 2").out, "id\n00006\n00005\n");
}

TEST_F(InspectCommandsTest, WritesSelfContainedReportPage) {
  solve();
  // The wall time of a run is not that of the plans that a condition selects.
  EXPECT_THAT(shell("wallheat summary r.h5").out, Mentions({"°C", "plans/s"}));
  EXPECT_THAT(shell("wallheat summary r.h5 --where 'mean_temp > 0' --plot h.svg").out,
              AllOf(Mentions("°C"), Not(Mentions("plans/s"))));
  EXPECT_THAT(bytes("h.svg"), Mentions("6 plans"));
  shell("wallheat summary r.h5 --page run.html");
  const std::string page = bytes("run.html");
  EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), HasSubstr("default-src 'none'"),
                          HasSubstr("wallheat run --data plans"), HasSubstr("<svg")));
  for (const char* outside : {"<script src", "src=\"http", "href=\"http", "url("})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  // A killed session has no end, neither a time nor a reason.
  shell("cp '" WALLHEAT_TEST_DATA "'/killed.h5* .; wallheat summary killed.h5 --page killed.html");
  EXPECT_THAT(bytes("killed.html"),
              HasSubstr("<td class=r>-<td class=r>-<td>wallheat run --data plans"));
  EXPECT_THAT(shell("PATH=. \"$program\" summary r.h5 --page bare.html").err,
              Mentions({"warning", "bare.html", "gnuplot"}));
  shell("wallheat summary r.h5 --json > r.json");
  EXPECT_THAT(shell("PATH=. \"$program\" page r.json --out page.html").err,
              Mentions({"warning", "page.html", "gnuplot"}));
  EXPECT_THAT(bytes("bare.html"), AllOf(Mentions({"gnuplot", "mean temperature", "00006"}),
                                        HasSubstr("<table"), Not(HasSubstr("<svg"))));
}

TEST_F(InspectCommandsTest, ComparesResultsWithTimesOrReference) {
  solve();
  EXPECT_THAT(
      lines_of(shell("wallheat compare r.h5 coarse.h5 numpy=79 --plans 4571 --plot c.svg").out),
      AllOf(Contains(Mentions({"tolerance", "0.0001", "0.1"})), Contains(Mentions("4571 plans"))));
  EXPECT_THAT(bytes("c.svg"), Mentions("coarse.h5"));
  EXPECT_THAT(shell("wallheat compare r.h5 coarse.h5 --require-equal", 1).err,
              Mentions({"--require-equal", "r.h5", "coarse.h5", "0 of 6 plans"}));
  shell("wallheat export r.h5 -o r.csv");
  EXPECT_THAT(lines_of(shell("wallheat compare r.h5 r.csv --require-equal").out),
              Contains(Mentions({"r.h5", "r.csv", "6 plans"})));
  EXPECT_THAT(lines_of(shell("wallheat compare r.csv --data plans").out).front(),
              Mentions("6 of 6 plans"));
}

TEST_F(InspectCommandsTest, ComparesOutputsOfJobsWithPlansAtHand) {
  solve();
  shell("wallheat export r.h5 -o r.csv");
  shell(
      "(echo loading; sed 's/_18, pct/, pct/' r.csv; echo took 3 s) > one.out; "
      "tail -n 2 r.csv > two.out; echo 7, 14.5, 7.0, 39.2, 50.5 >> two.out");
  const Json found = Json::parse(shell("wallheat compare *.out --data plans --json").out);
  EXPECT_EQ(found.at("skipped_lines"), 2);
  EXPECT_EQ(found.at("unavailable"), 1) << "plan 7";
  EXPECT_EQ(found.at("plans"), 6);
  EXPECT_THAT(lines_of(shell("wallheat compare *.out --data plans").out),
              AllOf(Contains(Mentions({"6 of 6 plans", "reference"})),
                    Contains(Mentions({"one.out", "2 lines", "line 1"})),
                    Contains(Mentions({"6 of the 7 plans", "one.out"}))));
  EXPECT_THAT(shell("wallheat compare r.h5 one.out --require-equal").out,
              Mentions({"one.out: 2 lines", "6 plans"}));
  shell("sed 's/^00006, 1/00006, 2/' r.csv > other.out");
  expect_error("compare one.out other.out --data plans", 1,
               {"other.out, line 7", "one.out, line 8", "00006", "mean_temp"});
}

/// A solver program that returns the initial fields, and fails for plan 3.
constexpr const char* copying_program = R"sh(#!/bin/bash
value() { local rest=${request#*"\"$1\":\""}; echo "${rest%%\"*}"; }
echo '{"ready": true}'
while read -r request; do
  if [ "$(value id)" = 00003 ]; then echo '{"error": "no wall"}'; continue; fi
  cp "$(value domain)" "$(value field)"
  echo '{"done": true, "converged": true}'
done
)sh";

TEST_F(InspectCommandsTest, ComparesResultFileWithItsRequest) {
  generate(6);
  shell(
      "run() { wallheat run --data plans --device cpu --log-level error --out $*; };"
      "run r.h5 --first 4 --wall 5=8 --above 20");
  const std::string compare = "wallheat compare r.h5 --data plans --require-equal";
  const Json found = Json::parse(shell(compare + " --json").out);
  EXPECT_EQ(found.at("as_requested"), true) << "walls and thresholds are those of the file";
  EXPECT_EQ(found.at("answers").size(), 4U) << "plans that were not requested are not missing";
  EXPECT_EQ(found.at("missing"), 0);
  EXPECT_THAT(lines_of(shell(compare).out).back(), Mentions("as requested"));
  shell("wallheat export r.h5 -o r.csv");
  expect_error("compare r.csv --data plans --require-equal", 2, {"--require-equal", "result file"});
  shell(
      "wallheat generate --out heated --kind poisson --count 2 --size 24;"
      "wallheat run --data heated --out heated.h5 --log-level error");
  const Finished heated =
      shell("wallheat compare heated.h5 --data heated --require-equal --json", 1);
  EXPECT_TRUE(Json::parse(heated.out).at("as_requested").is_null());
}

TEST_F(InspectCommandsTest, NamesProgramsPlansAndReasonsOfSolverCommands) {
  generate(6);
  std::ofstream(directory_ / "copy 1") << copying_program;
  shell("chmod +x 'copy 1'; sed 's/no wall/no door/' 'copy 1' > copy2; chmod +x copy2");
  const std::string run =
      "wallheat run --data plans --out r.h5 --log-level error --max-attempts 1 --solver-command ";
  shell(run + "\"'./copy 1'\" --first 4", 3);
  const std::string failed = shell("wallheat summary r.h5").out;
  EXPECT_THAT(failed, Mentions({"no wall", "fixing the program", "--data " + path("plans"),
                                "start of the program", "not measured"}));
  EXPECT_THAT(failed, Mentions(R"(--solver-command ''\''./copy 1'\''')"));
  const Finished compared = shell("wallheat compare r.h5 --data plans --require-equal", 1);
  EXPECT_THAT(compared.out, Mentions({"failed: ", "no wall", "NOT as requested"}));
  EXPECT_THAT(compared.out, Not(Mentions("00005"))) << "was not requested";
  shell(run + "./copy2 --resume --allow-changed-solver", 3);
  const Json summary = Json::parse(shell("wallheat summary r.h5 --json").out);
  ASSERT_EQ(summary.at("solvers").size(), 2U);
  EXPECT_EQ(summary["solvers"][0]["plans"].get<int>() + summary["solvers"][1]["plans"].get<int>(),
            5);
  const Facts programs{"2 programs", "3 plans", "copy 1", "2 plans"};
  for (const char* command : {"summary r.h5", "compare r.h5 --data plans"})
    EXPECT_THAT(shell("wallheat " + std::string(command)).out, Mentions(programs)) << command;
  shell("cp r.h5 other.h5; wallheat run --data plans --out other.h5 --overwrite --log-level error");
  EXPECT_THAT(shell("wallheat compare r.h5 other.h5").out, Mentions(programs));
  const std::string verify = "wallheat verify r.h5 --data plans --all --json --solver-command ";
  EXPECT_EQ(Json::parse(shell(verify + "\"'./copy 1'\"", 3).out).at("other_programs"), 2);
  EXPECT_EQ(Json::parse(shell(verify + "./copy2", 3).out).at("other_programs"), 3);
  shell("(cat copy2; echo true) > copy3; chmod +x copy3");
  expect_error("verify r.h5 --data plans --all --solver-command ./copy3", 1, {"copy 1", "copy3"});
  shell(
      "wallheat run --data plans --out r.h5 --overwrite --log-level off --max-attempts 1 "
      "--solver-command false",
      1);
  expect_error("compare r.h5 --data plans", 1, {"r.h5", "no plan", "wallheat status --why r.h5"});
}

TEST_F(InspectCommandsTest, ListsColumnsThatConcernOnlyTheFile) {
  solve();
  EXPECT_THAT(shell("wallheat list r.h5 --columns index,session -n 1 -f csv").out,
              Mentions({"index,session", "0,0"}));
  EXPECT_THAT(lines_of(shell("wallheat list r.h5 --columns all -n 1 -f csv").out).front(),
              Not(HasSubstr("session")));
}

TEST_F(InspectCommandsTest, MeasuresOrPredictsScaling) {
  solve();
  EXPECT_THAT(shell("wallheat scaling r.h5").out, Mentions({"nodes", "GPUs", "slots", "100.0"}));
  shell("wallheat run --data plans --out few.h5 --first 2 --threads 1 --device cpu");
  const Json sizes = Json::parse(shell("wallheat scaling r.h5 few.h5 --json").out);
  EXPECT_EQ(sizes["workers"], 1);
  ASSERT_EQ(sizes["points"].size(), 2U);
  EXPECT_EQ(sizes["points"][0]["plans"], 2);
  EXPECT_EQ(sizes["points"][1]["plans"], 6);
  const Json replay = Json::parse(shell("wallheat scaling --replay r.h5 --workers 2 --json").out);
  EXPECT_GT(replay["start_s"], 0) << "a run does not start in no time";
  EXPECT_GT(replay["points"][0]["seconds"].get<double>(),
            replay["start_s"].get<double>() + replay["end_s"].get<double>());
  EXPECT_THAT(lines_of(shell("wallheat scaling --times 1=212,2=140,3=110,4=105,8=145").out),
              Contains(Mentions({"4", "105.00", "2.02", "50.5", "0.673", "3.06"})));
}

/// Six small plans and six large ones, L00001 to L00006.
class IncompleteResultsTest : public ShellTest {
 protected:
  void SetUp() override {
    shell(
        "wallheat generate --out plans --count 6 --size 32 &&\n"
        "wallheat generate --out large --count 6 --size 96 &&\n"
        "for f in large/0*; do mv $f plans/L${f#large/}; done\n"
        "sed 's/^/L/' large/building_ids.txt >> plans/building_ids.txt; cp -r plans whole");
  }
  /// Makes r.h5, in which all plans are solved except those whose IDs match a pattern.
  void solve_without(const std::string& missing) const {
    shell("rm -rf plans r.h5; cp -r whole plans; for f in plans/" + missing +
          "_domain.npy; do echo > $f; done; wallheat run --data plans --out r.h5 || true");
  }
};

TEST_F(IncompleteResultsTest, EstimatesWorkOfMissingPlans) {
  for (const bool large : {true, false}) {
    solve_without(large ? "L*" : "0*");
    const Json answer = Json::parse(shell("wallheat summary r.h5 --json").out);
    EXPECT_EQ(answer["missing"], 6);
    EXPECT_EQ(answer["missing_work_pct"] > 90, large);
    EXPECT_EQ(answer["missing_work_pct"] < 10, !large);
    EXPECT_EQ(answer["missing_size_ratio"] > 5, large);
    EXPECT_EQ(answer["missing_size_ratio"] < 0.2, !large);
  }
  const auto first_line = [&](const std::string& more) {
    return lines_of(shell("wallheat summary r.h5" + more).out).front();
  };
  EXPECT_THAT(first_line(""), Mentions({"6 of 12 plans", "%"}));
  shell("mv plans elsewhere");
  EXPECT_THAT(first_line(""), AllOf(Mentions({"6 of 12 plans", "--data"}), Not(Mentions("%"))));
  EXPECT_THAT(first_line(" --data elsewhere"), Mentions({"6 of 12 plans", "%"}));
}

TEST_F(IncompleteResultsTest, StatesWhichPlansAveragesCover) {
  solve_without("L00001");
  const Finished found = shell("wallheat summary r.h5 --where \"id = '00002'\"");
  EXPECT_THAT(lines_of(found.out).front(),
              AllOf(Mentions({"1 of 12 plans", "id = '00002'"}), Not(Mentions("11 of 12 plans"))));
  const Json json = Json::parse(shell("wallheat summary r.h5 --where 'rows = 32' --json").out);
  EXPECT_EQ(json["plans"], 6);
  EXPECT_EQ(json["plans_of_file"], 12);
  EXPECT_EQ(json["missing"], 1) << "plans of the file without a result";
}

TEST_F(IncompleteResultsTest, ComparesNothingIfNoPlanIsSolvedInBoth) {
  solve_without("?0*");
  shell("mv r.h5 a.h5; cp a.h5 b.h5");
  shell("rm -rf r.h5; wallheat run --data whole --out solved.h5");
  for (const std::string command :
       {"compare a.h5 b.h5", "compare a.h5 b.h5 --require-equal", "compare a.h5 solved.h5"})
    EXPECT_THAT(shell("wallheat " + command, 1).err, Mentions({"a.h5", "result in both"}));
}

TEST_F(IncompleteResultsTest, FailsWhenCompleteResultsAreRequired) {
  solve_without("L00001");
  EXPECT_THAT(shell("wallheat summary r.h5 --require-complete", 3).err,
              Mentions({"r.h5", "11 of 12 plans", "%"}));
  shell("wallheat run --data whole --out r.h5 --overwrite");
  shell("cp '" WALLHEAT_TEST_DATA "'/killed.h5* .; wallheat summary killed.h5 --require-complete",
        75);
  EXPECT_THAT(lines_of(shell("wallheat summary r.h5 --require-complete").out).front(),
              Not(Mentions("of 12 plans")));
}

}  // namespace
}  // namespace wallheat
