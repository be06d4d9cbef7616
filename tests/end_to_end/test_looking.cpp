// The commands that look at results: list, summary, plot, export of a field.
#include <nlohmann/json.hpp>

#include "core/npy.hpp"
#include "support/shell_test.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

class Looking : public ShellTest {
 protected:
  void SetUp() override {
    shell(
        "wallheat generate --out plans --count 6 --size 32 &&"
        "wallheat run --data plans --out r.h5 --save-fields &&"
        "wallheat run --data plans --out coarse.h5 --save-fields --tolerance 0.1 &&"
        "wallheat run --data plans --out bare.h5 &&"
        "cp '" WALLHEAT_TEST_DATA "/killed.h5' k.h5; cp '" WALLHEAT_TEST_DATA
        "/killed.h5.wal0' k.h5.wal0");
  }
};

TEST_F(Looking, lists_the_plans_that_a_formula_holds_for) {
  const std::string listed =
      shell("wallheat list r.h5 --where 'iterations > 0' --sort -mean_temp -n 2 --format csv").out;
  EXPECT_THAT(listed, StartsWith("id,status,mean_temp,"));
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 3);
  const auto json = nlohmann::json::parse(shell("wallheat list r.h5 --columns id,host --json").out);
  EXPECT_EQ(json.at("plans").at(5).at("id"), "00006");
  EXPECT_THAT(shell("wallheat list r.h5").out,
              AllOf(HasSubstr("pct_below_15"), HasSubstr("00006")));
  expect_refusal("list r.h5 --where 'mean_tmp > 3'", 2, "did you mean 'mean_temp'?");
  expect_refusal("list r.h5 --where 'mean_temp > 99'", 1, "holds for none of the 6 plans");
  expect_refusal("list r.h5 --where \"status = 'convergd'\"", 2, "did you mean 'converged'?");
  expect_refusal("list r.h5 --columns ids", 2, "did you mean 'id'?");
  // Or those that are named.
  const std::string list = "wallheat list r.h5 --columns id -f csv ";
  EXPECT_EQ(shell(list + "00005 00002 00005").out, "id\n00005\n00002\n");
  EXPECT_EQ(shell(list + "00005 00002 --first 1").out, "id\n00005\n");
  EXPECT_EQ(shell(list + "--sort -id --first 2").out, "id\n00006\n00005\n");
  expect_refusal("list r.h5 00005 2", 1, "r.h5 has no plan '2'; did you mean '00002'?");
  expect_refusal("list r.h5 00005 --sort id", 2, "ID and --sort exclude each other");
}

TEST_F(Looking, draws_the_histogram_of_a_selection) {
  EXPECT_THAT(shell("wallheat summary r.h5 --where 'mean_temp > 0' --plot h.svg").out,
              AllOf(HasSubstr("of the means"), Not(HasSubstr("wall time"))));
  EXPECT_THAT(bytes("h.svg"), HasSubstr("6 plans"));
  EXPECT_THAT(shell("wallheat summary r.h5 --json").out, HasSubstr("\"std_of_means\""));
  shell("wallheat compare r.h5 coarse.h5 --plot c.svg --title 'Two runs'");
  EXPECT_THAT(bytes("c.svg"), HasSubstr("Two runs"));
  expect_refusal("summary r.h5 --plot h.gif", 2, ".png, .svg or .pdf");
}

TEST_F(Looking, draws_stored_fields_without_solving) {
  EXPECT_EQ(shell("wallheat plot r.h5 00003 -o one.png").err, "");
  EXPECT_THAT(bytes("one.png"), StartsWith("\x89PNG"));
  shell("wallheat plot r.h5 --first 4 --sort mean_temp -o sheet.pdf");
  EXPECT_THAT(bytes("sheet.pdf"), StartsWith("%PDF-"));
  shell("wallheat plot r.h5 00003 --minus coarse.h5 -o difference.svg");
  EXPECT_THAT(bytes("difference.svg"), HasSubstr("r.h5 minus coarse.h5"));
  EXPECT_EQ(shell("wallheat plot r.h5 00003 --range -5:60 --title 'A title' -o one.svg").err, "");
  shell(
      "wallheat plot r.h5 00003 00004 --data plans --show start,mask,field "
      "--cmap viridis -o panels.svg");
  EXPECT_THAT(bytes("panels.svg"),
              AllOf(HasSubstr("00003 start"), HasSubstr("00004 interior cells")));
  EXPECT_THAT(bytes("one.svg"),
              AllOf(HasSubstr("iterations of jacobi"), HasSubstr("A title"), HasSubstr(" 60<")));
  shell("wallheat plot r.h5 -n 2 -o some.svg");
  EXPECT_THAT(bytes("some.svg"), HasSubstr("2 of 6 plans, jacobi"));
  expect_refusal("plot r.h5 00003 --show start -o x.png", 2, "name them by --data");
  expect_refusal("plot r.h5 00003 --show difference -o x.png", 2, "name it by --minus");
  expect_refusal("plot r.h5 00003 --where 'mean_temp > 3' -o x.png", 2, "ID and --where exclude");
  expect_refusal("plot r.h5 00003 -o x.png --range 5:1", 2, "--range must be LOW:HIGH");
  expect_refusal("plot r.h5 00003 -o x.png --size 63x64", 2, "--size must be WIDTHxHEIGHT");
  expect_refusal("plot r.h5 00003 -o x.svg --dpi 300", 2, "--dpi is for PNG");
  expect_refusal("plot r.h5 00003 --data plans --show source -o x.png", 1, "no heat source");
}

TEST_F(Looking, draws_heat_sources) {
  shell(
      "wallheat generate --kind poisson --out plates --count 1 --size 32 &&"
      "wallheat plot r.h5 00001 --data plates --show mask,source -o p.svg");
  EXPECT_THAT(bytes("p.svg"), AllOf(HasSubstr("heat source"), Not(HasSubstr(" 25<"))));
}

TEST_F(Looking, solves_what_is_not_stored_as_the_file_was_made_and_says_so) {
  expect_refusal("plot bare.h5 00003 -o x.svg", 1, "name the floor plans by --data");
  EXPECT_THAT(shell("wallheat plot bare.h5 00003 --data plans --show field -o x.svg").err,
              HasSubstr("it is solved again"));
  shell(
      "for solver in jacobi steady fastforward; do for fields in '' --save-fields; do "
      "wallheat run --data plans --out $solver$fields.h5 --solver $solver $fields && "
      "wallheat plot ./$solver$fields.h5 00003 --data plans --show field "
      "-o ./$solver$fields.svg || exit 1; done; done");
  for (const std::string solver : {"jacobi", "steady", "fastforward"})
    EXPECT_EQ(bytes(solver + ".svg"), bytes(solver + "--save-fields.svg"));
}

TEST_F(Looking, writes_the_field_that_solve_gives_as_an_array) {
  shell(
      "wallheat export r.h5 --field 00002 -o field.npy &&"
      "wallheat solve 00002 --data plans --npy solved.npy --json > solved.json");
  const auto solved = nlohmann::json::parse(bytes("solved.json"));
  const auto row =
      nlohmann::json::parse(shell("wallheat list r.h5 00002 --columns all --json").out)["plans"][0];
  for (const char* name : {"id", "status", "mean_temp", "std_temp", "pct_above_18", "pct_below_15",
                           "iterations", "last_delta", "interior_cells", "solver"})
    EXPECT_EQ(solved[name], row[name]) << name;
  const ResultReader reader(directory_ / "r.h5");
  EXPECT_EQ(npy::read_float(read_input(directory_ / "field.npy")), reader.field(1));
  EXPECT_EQ(bytes("field.npy"), bytes("solved.npy"));
  expect_refusal("export r.h5 --field 00002", 2, "--out");
  shell("wallheat export r.h5 --field 00002 -o - > piped.npy");
  EXPECT_EQ(bytes("piped.npy"), bytes("field.npy"));
  expect_refusal("export r.h5 --field 00002 -o x.csv", 2, "with --field NAME.npy, not x.csv");
  expect_refusal("export r.h5 -o x.json", 2,
                 "NAME.csv or NAME.xdmf, or with --field NAME.npy, not x.json");
  expect_refusal("export bare.h5 --field 00002 -o x.npy", 1, "--save-fields");
}

TEST_F(Looking, makes_one_page_that_needs_nothing_else) {
  shell("wallheat summary r.h5 --page run.html");
  const std::string page = bytes("run.html");
  EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), HasSubstr("default-src 'none'"),
                          HasSubstr("wallheat run --data plans --out r.h5"),
                          HasSubstr("peak memory of a rank")));
  for (const char* outside : {"<script src", "src=\"http", "href=\"http", "url("})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(shell("wallheat summary r.h5 --json").out,
              HasSubstr("\"command_line\": \"wallheat run --data plans"));
  shell("PATH=. \"$program\" summary r.h5 --page bare.html");
  EXPECT_THAT(
      bytes("bare.html"),
      AllOf(HasSubstr("The figures are missing: gnuplot"), HasSubstr("plans by mean temperature"),
            HasSubstr("average mean temperature"), Not(HasSubstr("<svg"))));
}

TEST_F(Looking, makes_a_page_of_a_killed_run_and_of_one_that_failed) {
  shell(
      "echo rubbish > plans/00002_domain.npy;"
      "wallheat run --data plans --out failed.h5 --max-attempts 1",
      3);
  shell("wallheat summary failed.h5 --page failed.html");
  EXPECT_THAT(bytes("failed.html"),
              AllOf(HasSubstr("wallheat solve 00002"), HasSubstr("00002_domain.npy"),
                    HasSubstr("--out failed.h5 --resume --retry-failed")));
  shell("wallheat summary k.h5 --page killed.html");
  EXPECT_THAT(bytes("killed.html"), HasSubstr("killed, or still running"));
}

TEST_F(Looking, exports_fields_for_paraview_only_of_files_that_others_can_read) {
  shell("mkdir sub; wallheat export r.h5 -o sub/r.xdmf");
  EXPECT_THAT(bytes("sub/r.xdmf"), AllOf(HasSubstr("<Grid Name=\"00006\">\n <Time Value=\"5\"/>"),
                                         HasSubstr(">../r.h5:/fields/00006<")));
  expect_refusal("export bare.h5 -o x.xdmf", 1, "bare.h5 has no field: run with --save-fields");
  shell("mv coarse.h5 a:b.h5");
  expect_refusal("export a:b.h5 -o x.xdmf", 1, "an XDMF file cannot name 'a:b.h5': rename it");
  expect_refusal("export k.h5 -o x.xdmf", 1, "after 'wallheat repair'");
  shell("wallheat repair k.h5", 75);
  shell("wallheat export k.h5 -o x.xdmf", 75);
  shell("wallheat plot k.h5 -o k.svg");  // without the plans that have no field yet
  EXPECT_THAT(bytes("x.xdmf"), HasSubstr(":/fields/"));
}

}  // namespace
}  // namespace wallheat
