#include "support/shell_test.hpp"

// Error messages: each is one message that names the facts, comes with the documented exit status,
// and means that no file was changed.

namespace wallheat {
namespace {

struct ErrorCase {
  int status;
  std::string command;
  Facts facts;
};

class ErrorMessagesTest : public ShellTest {
 protected:
  void expect_errors(const std::vector<ErrorCase>& cases) const {
    const auto before = all_files();
    for (const auto& [status, command, facts] : cases) expect_error(command, status, facts);
    EXPECT_EQ(all_files(), before);
  }
  /// Makes plans, r.h5 with fields and rooms, bare.h5 without them, and other.h5, which has fewer
  /// plans and another tolerance.
  void solve() const {
    generate(3);
    shell(
        "run() { wallheat run --data plans --log-level error --out $*; };"
        "run r.h5 --rooms --save-fields --threads 1; run bare.h5; run other.h5 --first 2 --threads "
        "1 --tolerance 1;"
        "cp r.h5 a:b.h5; wallheat export r.h5 --out r.csv; echo 'something precious' > text;"
        "cp '" WALLHEAT_TEST_DATA "/killed.h5' k.h5; cp '" WALLHEAT_TEST_DATA
        "/killed.h5.wal0' k.h5.wal0");
  }
};

TEST_F(ErrorMessagesTest, NamesInvalidArgument) {
  expect_errors({
      {2, "sumary r.h5", {"sumary", "summary", "wallheat help"}},
      {2, "help rnu", {"rnu", "run"}},
      {2, "help run --most", {"help", "--most"}},
      {2, "run --threads two", {"--threads", "0", "two", "wallheat help run"}},
      {2, "generate plans", {"--out", "plans", "wallheat help generate"}},
      {2, "solve", {"ID", "--data"}},
      {2, "solve 00001 --data . --png plan.jpg", {"--png", ".png", ".svg", ".pdf", "plan.jpg"}},
      {2, "completion tcsh", {"bash", "zsh", "fish", "tcsh"}},
      {2, "bench --solver steady", {"--solver", "--solvers", "jacobi"}},
      {2, "bench --plot b.svg", {"--plot", "--device gpu", "--solvers"}},
      {1, "queue --sacct /dev/null", {"listing"}},
      {2, "scaling", {"--replay", "--times"}},
      {2, "scaling --times 2=140", {"--times", "1=SECONDS"}},
      {2, "scaling --times 1=212,2=fast", {"--times", "SLOTS=SECONDS", "2=fast"}},
      {2, "scaling --replay r.h5 --schedule dinamic", {"--schedule", "dinamic", "'dynamic'"}},
      {2, "compare r.h5", {"wallheat help compare"}},
      {2, "compare r.h5 numpy=fast", {"numpy=fast", "seconds", "0"}},
      {2, "compare a=1 a=2 --timed-plans 3", {"'a'", "name"}},
      {2, "compare x=1 y=2", {"--timed-plans", "result file"}},
      {2, "compare r.h5 bare.h5 --timed-plans 3", {"--timed-plans", "NAME=SECONDS"}},
      {2, "compare r.h5 x=1 --require-equal", {"--require-equal", "two"}},
      {2, "monitor --interval 0.001", {"--interval", "0.01 s", "0.001"}},
      {2, "monitor --processes --csv x.csv", {"--csv", "--processes"}},
      {2, "monitor --interval soon", {"--interval", "0.01 s", "soon"}},
      {2, "monitor --format csv", {"--format", "FILE"}},
      {2, "monitor --plot x.png", {"--plot", "FILE"}},
      {2, "monitor '" WALLHEAT_TEST_DATA "/dmon.txt' --interval 1", {"FILE", "--interval"}},
      {1, "monitor /dev/zero", {"/dev/zero", "text"}},
  });
}

TEST_F(ErrorMessagesTest, NamesInvalidInputBeforeWorkBegins) {
  generate(3);
  shell(
      "echo 'something precious' > text; : > empty; cp -r plans unlisted;"
      "rm unlisted/building_ids.txt; cp text x.zip");
  expect_errors({
      {1, "run --data none --out x.h5", {"--data", "none", "zip archive"}},
      {1, "run --data text --out x.h5", {"text", "zip archive"}},
      {1, "run --data plans --ids none --out x.h5", {"none", "No such file"}},
      {1, "run --data plans --ids empty --out x.h5", {"empty", "plan"}},
      {1, "run --data plans --out text", {path("text"), "--resume", "--overwrite"}},
      {1, "run --data plans --out text --resume", {path("text"), "HDF5"}},
      {1, "run --data plans --out x.h5 --device gpu", {"--device gpu"}},
      {1, "run --data plans --out x.h5 --events none/e", {"none/e", "No such file"}},
      {1,
       "run --data plans --out x.h5 --wall 7=21",
       {"--wall", "plans", "7.0", "0.0", "5.0", "25.0"}},
      {1, "solve 00001 --data plans --wall 7=21", {"--wall", "00001", "7.0", "0.0", "5.0", "25.0"}},
      {1, "monitor text", {"text", "wallheat monitor", "nvidia-smi dmon", "nvidia-smi stats"}},
      {2, "run --data plans --out x.h5 --json", {"--json", "--check"}},
      {2, "run --data plans --out x.csv", {"--out", "x.csv", ".h5", "wallheat export"}},
      {2, "run --data plans --out x.h5 --check=job:4", {"--check", "'job:4'"}},
      {2, "run --data plans --out x.h5 --check=job:nodes=0", {"--check", "job:nodes=0"}},
      {2, "run --data plans --out x.h5 --check=job:cores=x", {"--check", "job:cores=x"}},
      {2, "run --data plans --out x.h5 --check=job:racks=1", {"--check", "job:racks=1"}},
      {2, "run --data plans --out x.h5 --check=job:gpus=9999999", {"--check", "job:gpus=9999999"}},
      {1, "generate --out plans", {"plans/building_ids.txt", "--out", "--overwrite"}},
      {1,
       "generate --out unlisted --count 3",
       {"unlisted/00001_domain.npy", "--out", "--overwrite"}},
      {1, "generate --out x.zip --overwrite", {"x.zip", "--overwrite"}},
      {2, "generate --out x --size 3", {"--size", "16", "16384", "'3'"}},
      {1, "whatif --data plans --wall 20=22", {"--wall", "plans", "20.0", "0.0", "5.0", "25.0"}},
      {2, "whatif --data plans --wall 25", {"--wall 25=22"}},
      {2, "whatif --data plans --wall 25=1:900:1 --wall 5=1:2:1", {"--wall", "1000"}},
      {2, "whatif --data plans --wall 25=22 --wall 25=23", {"--wall", "25", "more than once"}},
      {1,
       "need --data plans --wall 20 --room-mean 18",
       {"--wall", "plans", "20.0", "0.0", "5.0", "25.0"}},
      {2, "need --data plans --wall 25=20 --room-mean 18", {"--wall", "temperature"}},
      {2, "need --data plans --wall 25", {"--room-mean", "--area-above", "--area-share"}},
      {2, "advise --sinfo text", {"wallheat run", "--"}},
  });
}

TEST_F(ErrorMessagesTest, NamesProblemOfDrawing) {
  shell("cp '" WALLHEAT_CONFIGS "/../jobs/examples/flat.png' .");
  const std::string generate = "generate --out drawn --from flat.png --wall '#ff0000=25' ";
  expect_errors({
      {2, generate + "--wall black=5", {"--wall", "COLOUR=DEGREES", "black=5"}},
      {2, generate + "--wall '#ff0000=5'", {"--wall", "#ff0000", "more than once"}},
      {2, generate + "--wall '#ffffff=5'", {"--wall", "#ffffff", "white"}},
      {2, generate + "--scale 1/0", {"--scale", "1000", "1/1000", "'1/0'"}},
      {2, generate + "--from ./flat.png", {"two", "flat"}},
      {1,
       generate,
       {"flat.png", "x 16", "y 14", "#000000", "2292", "--wall", "--colour-tolerance"}},
      {2, "generate --from flat.png --out drawn", {"--from", "--wall"}},
      {1, "generate --from no.png --wall '#000000=5' --out drawn", {"no.png"}},
  });
}

TEST_F(ErrorMessagesTest, NamesDataMissingFromResultFile) {
  solve();
  expect_errors({
      {2, "list r.h5 --columns ids", {"--columns", "'ids'", "'id'", "pct_below"}},
      {2, "list r.h5 --columns id,store_s", {"--columns", "'store_s'", "'store_wait_s'"}},
      {2, "list r.h5 --where 'pct_below_15 > 50'", {"--where", "'pct_below'"}},
      {2, "list r.h5 --sort -cells_in_doubt", {"--sort", "'uncertain_cells'"}},
      {2, "summary r.h5 --where 'pct_above_18 > 50'", {"--where", "'pct_above'"}},
      {2, "list r.h5 --rooms --where 'pct_below_15 > 50'", {"--where", "'pct_below'"}},
      {1, "list r.h5 --where 'mean_temp > 99'", {"mean_temp > 99", "3 plans", "r.h5"}},
      {1, "list r.h5 --rooms --where 'mean_temp > 99'", {"mean_temp > 99", "room", "r.h5"}},
      {1, "list bare.h5 --rooms", {"bare.h5", "rooms", "--rooms"}},
      {1, "list r.h5 00001 2", {"r.h5", "'2'", "00002"}},
      {1, "summary bare.h5 --above 20", {"00001", "field", "--save-fields"}},
      {2, "summary r.h5 --plot h.gif", {"--plot", ".png", ".svg", ".pdf", "h.gif"}},
      {2, "plot r.h5 00003 --show start -o x.png", {"--show start", "--data"}},
      {2, "plot r.h5 00003 --show difference -o x.png", {"--show difference", "--minus"}},
      {2, "plot r.h5 00003 -o x.png --range 5:1", {"--range", "LOW:HIGH", "5:1"}},
      {2, "plot r.h5 00003 -o x.png --size 63x64", {"--size", "64", "20000", "63x64"}},
      {2, "plot r.h5 00003 -o x.svg --dpi 300", {"--dpi", "PNG"}},
      {1, "plot r.h5 00003 --data plans --show source -o x.png", {"00003", "heat source"}},
      {1, "plot bare.h5 00003 -o x.svg", {"bare.h5", "00003", "--data", "--save-fields"}},
      {2, "export r.h5 --field 00002", {"--field", "--out"}},
      {2, "export r.h5 --field 00002 -o x.csv", {"--field", "NAME.npy", "x.csv"}},
      {2, "export r.h5 -o x.json", {"NAME.csv", "NAME.xdmf", "--field", "NAME.npy", "x.json"}},
      {1, "export bare.h5 --field 00002 -o x.npy", {"bare.h5", "00002", "--save-fields"}},
      {1, "export bare.h5 -o x.xdmf", {"bare.h5", "fields", "--save-fields"}},
      {1, "export a:b.h5 -o x.xdmf", {"XDMF", "a:b.h5", "':'"}},
      {1, "export k.h5 -o x.xdmf", {"k.h5", "wallheat repair", "wallheat merge"}},
      {1, "export text", {path("text"), "HDF5"}},
      {1, "compare r.csv bare.h5 --data plans", {"bare.h5", "HDF5", "CSV"}},
      {1,
       "compare plans/00001_domain.npy --data plans",
       {"00001_domain.npy", "NumPy array", "CSV"}},
      {1, "compare r.h5 text", {"text", "building_id"}},
      {1, "compare none.csv --data plans", {"none.csv", "No such file"}},
      {1, "scaling r.h5 other.h5", {"r.h5", "other.h5", "settings", "wallheat compare"}},
      {1, "merge r.h5 part.h5 --out x.h5", {path("part.h5")}},
      {1,
       "run --data plans --out r.h5 --resume --save-fields",
       {path("r.h5"), "--rooms", "auto", "none"}},
  });
}

TEST_F(ErrorMessagesTest, NamesFolderOrCsvGivenAsResultFile) {
  solve();
  shell("mkdir empty");
  for (const std::string command :
       {"summary FILE", "list FILE", "export FILE -o x.xdmf", "trace FILE --out x",
        "verify FILE --data plans", "status FILE", "repair FILE", "plot r.h5 --minus FILE -o x.png",
        "compare FILE r.h5", "merge r.h5 FILE --out x.h5", "scaling FILE r.h5",
        "scaling --replay FILE"}) {
    const Facts plans{"plans", "wallheat run --data plans --out results.h5"};
    for (const auto& [file, facts] : {std::pair{std::string("plans"), plans},
                                      {"empty", {"empty", "result file"}},
                                      {"r.csv", {"r.csv", "CSV", "wallheat compare"}}}) {
      if (command.starts_with("compare") && file == "r.csv") continue;
      std::string line = command;
      expect_error(line.replace(line.find("FILE"), 4, file), 1, facts);
    }
  }
  // No message suggests to remove or to replace a folder.
  for (const std::string command : {"run --data plans --out empty", "merge r.h5 --out empty"})
    for (const std::string more : {"", " --overwrite"})
      EXPECT_THAT(shell("wallheat " + command + more, 1).err,
                  AllOf(Mentions(path("empty")), Not(HasSubstr("remove"))));
}

TEST_F(ErrorMessagesTest, SuggestsPlanIdForSimilarId) {
  solve();
  shell("python3 -m zipfile -c plans.zip plans/; printf '00002\\n0001\\n' > ids");
  const auto before = all_files();
  for (const auto& [command, owner] : {
           std::pair{std::string("run 00002 0001 --data plans --out x.h5"), std::string("plans")},
           {"run --ids ids --data plans --out x.h5", "plans"},
           {"run 1 --data plans.zip --out x.h5", "plans.zip"},
           {"run 0001 --data plans --out r.h5 --overwrite", "plans"},
           {"solve 1 --data plans --npy x.npy", "plans"},
           {"bench --reference 0001 --data plans", "plans"},
           {"whatif 0001 --data plans --wall 25=22 --out x.csv", "plans"},
           {"need --ids ids --data plans --wall 25 --room-mean 18 --out x.csv", "plans"},
           {"plot r.h5 00002 0001 --data plans --out x.png", "r.h5"},
           {"export r.h5 --field 1 --out x.npy", "r.h5"},
       }) {
    const std::string id = command.find(" 1 ") != std::string::npos ? "1" : "0001";
    expect_error(command, 1, {owner, "'" + id + "'", "'00001'"});
  }
  EXPECT_EQ(all_files(), before);
  EXPECT_THAT(shell("wallheat run 0001 --data plans --out x.h5 --check", 1).out,
              Mentions({"problem", "'0001'", "'00001'"}));
  // A plan exists even if no ID list names it, and even if it cannot be read.
  shell("cd plans; mv 00003_domain.npy new_domain.npy; mv 00003_interior.npy new_interior.npy");
  shell("echo > plans/00003_domain.npy; wallheat run new --data plans --out new.h5");
  EXPECT_THAT(shell("wallheat run 00003 --data plans --out new.h5 --overwrite", 3).err,
              Mentions({"00003", "failed", "plans/00003_interior.npy"}));
}

TEST_F(ErrorMessagesTest, AppearsOnceUnderMpirun) {
  generate(2);
  const std::string ranks = "$mpirun 3 run --data plans --out results.h5 ";
  const auto messages = lines_of(shell(ranks + "--threads -1", 2).err);
  EXPECT_THAT(messages, Contains(AllOf(StartsWith("wallheat: "), Mentions({"--threads", "-1"}))));
  EXPECT_EQ(std::ranges::count_if(messages,
                                  [](const auto& line) { return line.starts_with("wallheat: "); }),
            1)
      << testing::PrintToString(messages);
  shell(ranks + "--ids none", 1);
}

TEST_F(ErrorMessagesTest, NamesFileInDirectoryThatUserMayNotEnter) {
  generate(2);
  // Root may enter every directory.
  const std::string user =
      ::geteuid() == 0 ? "setpriv --reuid 4323 --regid 4323 --clear-groups " : "";
  for (const std::string command : {"run --out out/r.h5", "solve 00001"}) {
    const Finished failed =
        shell("export program; chmod 755 .; mkdir -pm 777 out; chmod 744 plans; " + user +
                  "\"$program\" " + command + " --data plans",
              1);
    EXPECT_THAT(failed.err, AllOf(Mentions({"plans/", "Permission denied"}),
                                  Not(HasSubstr("filesystem error")), Not(HasSubstr("[plans"))))
        << command;
  }
  shell("chmod 755 plans");
}

}  // namespace
}  // namespace wallheat
