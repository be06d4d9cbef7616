#include "support/shell_test.hpp"

// Each mistake is told in one sentence, with the status that scripts go by, and changes nothing.

namespace wallheat {
namespace {

struct Mistake {
  int status;
  std::string command;
  std::string sentence;  ///< a part of it
};

class ErrorMessagesTest : public ShellTest {
 protected:
  void expect_each(const std::vector<Mistake>& mistakes) const {
    const auto before = all_files();
    for (const auto& [status, command, sentence] : mistakes)
      expect_refusal(command, status, sentence);
    EXPECT_EQ(all_files(), before);
  }
  /// Plans, r.h5 with fields and rooms, bare.h5 without, other.h5 of fewer with another tolerance.
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
  expect_each({
      {2, "sumary r.h5",
       "there is no command 'sumary'; did you mean 'summary'? see 'wallheat help'\n"},
      {2, "help rnu", "did you mean 'run'?"},
      {2, "help run --most", "help takes one command"},
      {2, "run --threads two",
       "--threads must be a whole number of at least 0, not 'two'; see 'wallheat help run'"},
      {2, "generate plans", "--out is missing; 'plans' stands without the name of an option; see"},
      {2, "solve", "ID and --data are missing"},
      {2, "solve 00001 --data . --png plan.jpg", "name a file that ends in .png, .svg or .pdf"},
      {2, "completion tcsh", "must be one of bash, zsh, fish"},
      {2, "bench --solver steady", "--solvers shows all"},
      {2, "bench --plot b.svg", "--plot needs --device gpu, or --solvers"},
      {2, "scaling", "give result files"},
      {2, "scaling --times 2=140", "no time is that of one"},
      {2, "scaling --times 1=212,2=fast", "not '2=fast'"},
      {2, "scaling --replay r.h5 --schedule dinamic", "did you mean 'dynamic'?"},
      {2, "compare r.h5", "one thing only"},
      {2, "compare r.h5 numpy=fast", "'numpy=fast' is neither"},
      {2, "compare a=1 a=2 --timed-plans 3", "two things are named 'a'"},
      {2, "compare x=1 y=2", "--timed-plans must tell"},
      {2, "compare r.h5 bare.h5 --timed-plans 3", "needs NAME=SECONDS"},
      {2, "compare r.h5 x=1 --require-equal", "needs two files"},
      {2, "compare r.csv bare.h5 --data plans", "--data goes with one CSV"},
      {2, "monitor --interval 0.001", "--interval must be a time from 0.01 s to a day"},
      {2, "monitor --processes --csv x.csv", "--csv and --processes exclude each other"},
      {2, "monitor --interval soon", "--interval must be a time"},
      {2, "monitor --format csv", "--format goes with FILE"},
      {2, "monitor --plot x.png", "--plot goes with FILE"},
      {2, "monitor '" WALLHEAT_TEST_DATA "/dmon.txt' --interval 1",
       "FILE and --interval exclude each other"},
      {1, "monitor /dev/zero", "/dev/zero is no text"},
  });
}

TEST_F(ErrorMessagesTest, NamesInvalidInputBeforeWorkBegins) {
  generate(3);
  shell(
      "echo 'something precious' > text; : > empty; cp -r plans unlisted;"
      "rm unlisted/building_ids.txt; cp text x.zip");
  expect_each({
      {1, "run --data none --out x.h5", "there is no directory or zip archive"},
      {1, "run --data text --out x.h5", "nor a zip archive"},
      {1, "run --data plans --ids none --out x.h5", "cannot be read"},
      {1, "run --data plans --ids empty --out x.h5", "names no plan"},
      {1, "run --data plans --out text", "--overwrite"},
      {1, "run --data plans --out text --resume", "text"},
      {1, "run --data plans --out x.h5 --device gpu", "--device gpu"},
      {1, "run --data plans --out x.h5 --events none/e", "event log"},
      {1, "run --data plans --out x.h5 --wall 7=21",
       "no plan of plans has a wall of 7.0 °C, which --wall names, but of 0.0, 5.0, 25.0"},
      {1, "solve 00001 --data plans --wall 7=21", "plan 00001 has no wall of 7.0 °C"},
      {1, "monitor text", "text is neither a CSV"},
      {2, "run --data plans --out x.h5 --json", "--json goes with --check"},
      {2, "run --data plans --out x.csv", "'wallheat export' makes CSV"},
      {2, "run --data plans --out x.h5 --check=job:4", "--check"},
      {2, "run --data plans --out x.h5 --check=job:0/1", "--check"},
      {2, "run --data plans --out x.h5 --check=job:4/x", "--check"},
      {2, "run --data plans --out x.h5 --check=job:9999999/1", "--check"},
      {1, "generate --out plans", "exists"},
      {1, "generate --out unlisted --count 3",
       "00001_domain.npy exists; give another --out, or --overwrite"},
      {1, "generate --out x.zip --overwrite", "is not what this command writes"},
      {2, "generate --out x --size 3", "--size must be a whole number from 16 to 16384, not '3'"},
      {1, "whatif --data plans --wall 20=22", "has a wall of 20.0 °C"},
      {2, "whatif --data plans --wall 25", "say what these walls are to be"},
      {2, "whatif --data plans --wall 25=1:900:1 --wall 5=1:2:1", "more than 1000 combinations"},
      {2, "whatif --data plans --wall 25=22 --wall 25=23", "--wall names 25 twice"},
      {1, "need --data plans --wall 20 --room-mean 18", "has a wall of 20.0 °C"},
      {2, "need --data plans --wall 25=20 --room-mean 18", "without a temperature"},
      {2, "need --data plans --wall 25", "give --room-mean, or --area-above"},
      {2, "advise --sinfo text", "they come after --"},
  });
}

TEST_F(ErrorMessagesTest, NamesProblemOfDrawing) {
  shell("cp '" WALLHEAT_CONFIGS "/../jobs/examples/flat.png' .");
  const std::string generate = "generate --out drawn --from flat.png --wall '#ff0000=25' ";
  expect_each({
      {2, generate + "--wall black=5", "as '#ff0000=25', not 'black=5'"},
      {2, generate + "--wall '#ff0000=5'", "--wall names #ff0000 twice"},
      {2, generate + "--wall '#ffffff=5'", "white, which is room"},
      {2, generate + "--scale 1/0", "--scale must be 1 to 1000"},
      {2, generate + "--from ./flat.png", "two pictures are called flat"},
      {1, generate, "flat.png: the pixel at x 16, y 14 is #000000"},
      {2, "generate --from flat.png --out drawn", "--from needs --wall"},
      {1, "generate --from no.png --wall '#000000=5' --out drawn", "no.png"},
  });
}

TEST_F(ErrorMessagesTest, NamesDataMissingFromResultFile) {
  solve();
  expect_each({
      {2, "list r.h5 --columns ids", "did you mean 'id'?"},
      {1, "list r.h5 --where 'mean_temp > 99'", "holds for none of the 3 plans"},
      {1, "list r.h5 --rooms --where 'mean_temp > 99'", "holds for no room of r.h5"},
      {1, "list bare.h5 --rooms", "bare.h5 has no rooms: run with --rooms"},
      {1, "list r.h5 00001 2", "r.h5 has no plan '2'; did you mean '00002'?"},
      {1, "summary bare.h5 --above 20", "has no stored field"},
      {2, "summary r.h5 --plot h.gif", ".png, .svg or .pdf"},
      {2, "plot r.h5 00003 --show start -o x.png", "name them by --data"},
      {2, "plot r.h5 00003 --show difference -o x.png", "name it by --minus"},
      {2, "plot r.h5 00003 -o x.png --range 5:1", "--range must be LOW:HIGH"},
      {2, "plot r.h5 00003 -o x.png --size 63x64", "--size must be WIDTHxHEIGHT"},
      {2, "plot r.h5 00003 -o x.svg --dpi 300", "--dpi is for PNG"},
      {1, "plot r.h5 00003 --data plans --show source -o x.png", "no heat source"},
      {1, "plot bare.h5 00003 -o x.svg", "name the floor plans by --data"},
      {2, "export r.h5 --field 00002", "--out"},
      {2, "export r.h5 --field 00002 -o x.csv", "with --field NAME.npy, not x.csv"},
      {2, "export r.h5 -o x.json", "NAME.csv or NAME.xdmf, or with --field NAME.npy, not x.json"},
      {1, "export bare.h5 --field 00002 -o x.npy", "--save-fields"},
      {1, "export bare.h5 -o x.xdmf", "bare.h5 has no field: run with --save-fields"},
      {1, "export a:b.h5 -o x.xdmf", "an XDMF file cannot name 'a:b.h5': rename it"},
      {1, "export k.h5 -o x.xdmf", "after 'wallheat repair'"},
      {1, "export text", "text"},
      {1, "compare r.h5 --data plans", "r.h5 is no text"},
      {1, "compare r.h5 text", "text"},
      {1, "compare none.csv --data plans", "none.csv"},
      {1, "scaling r.h5 other.h5", "other settings"},
      {1, "merge r.h5 part.h5 --out x.h5", "part.h5 does not exist"},
      {1, "run --data plans --out r.h5 --resume --save-fields",
       "rooms_door: the file has auto, this run none"},
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
    for (const auto& [file, sentence] :
         {std::pair{std::string("plans"),
                    "plans is a folder of plans, not a result file; to make one of them: wallheat "
                    "run --data plans --out results.h5\n"},
          {"empty", "empty is a folder, not a result file; name a file\n"},
          {"r.csv",
           "r.csv is a CSV, which 'wallheat compare' takes alone; name the result file that it was "
           "made from\n"}}) {
      if (command.starts_with("compare") && file == "r.csv") continue;
      std::string line = command;
      expect_refusal(line.replace(line.find("FILE"), 4, file), 1, sentence);
    }
  }
  // Nobody is told to remove a folder.
  for (const std::string command : {"run --data plans --out empty", "merge r.h5 --out empty"})
    for (const std::string more : {"", " --overwrite"})
      EXPECT_THAT(shell("wallheat " + command + more, 1).err,
                  AllOf(HasSubstr("name another"), Not(HasSubstr("remove"))));
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
    expect_refusal(command, 1, owner + " has no plan '" + id + "'; did you mean '00001'?\n");
  }
  EXPECT_EQ(all_files(), before);
  EXPECT_THAT(shell("wallheat run 0001 --data plans --out x.h5 --check", 1).out,
              HasSubstr("did you mean '00001'?"));
  // A plan that is there is one, though no list names it, and though it cannot be read.
  shell("cd plans; mv 00003_domain.npy new_domain.npy; mv 00003_interior.npy new_interior.npy");
  shell("echo > plans/00003_domain.npy; wallheat run new --data plans --out new.h5");
  EXPECT_THAT(shell("wallheat run 00003 --data plans --out new.h5 --overwrite", 3).err,
              HasSubstr("plan 00003 failed: plans/00003_"));
}

TEST_F(ErrorMessagesTest, AppearsOnceUnderMpirun) {
  generate(2);
  const std::string ranks = "$mpirun 3 run --data plans --out results.h5 ";
  const std::string usage = shell(ranks + "--threads -1", 2).err;
  EXPECT_THAT(usage, HasSubstr("wallheat: --threads"));
  EXPECT_EQ(usage.find("wallheat: --threads"), usage.rfind("wallheat: --threads")) << usage;
  shell(ranks + "--ids none", 1);
}

}  // namespace
}  // namespace wallheat
