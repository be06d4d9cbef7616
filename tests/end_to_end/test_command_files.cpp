#include <fstream>

#include "store/result_store.hpp"
#include "support/shell_test.hpp"

// Whatever options name, nothing is written over that was not meant: inputs, results, other files.

namespace wallheat {
namespace {

using Words = std::vector<std::string>;

class CommandFiles : public ShellTest {
 protected:
  void SetUp() override {
    shell(
        "wallheat generate --out plans --count 3 --size 32 &&"
        "python3 -m zipfile -c p.zip plans &&"
        "wallheat run --data p.zip --out r.h5 &&"
        "cp plans/building_ids.txt ids && echo notes > text && : > empty &&"
        "ln -s p.zip link && ln p.zip name && ln -s r.h5 r_link && ln r.h5 r_name &&"
        "ln -s new.h5 link_to_new && ln -s . loop");
  }
  /// Which changes nothing.
  void expect_refusal(const std::string& command, int status, const std::string& sentence) {
    const auto before = all_files();
    ShellTest::expect_refusal(command, status, sentence);
    EXPECT_EQ(all_files(), before) << command;
  }
};

TEST_F(CommandFiles, of_one_command_are_different_ones) {
  const std::string run = "run --data p.zip ";
  for (const std::string out : {"p.zip", "link", "name", "loop/p.zip", "./plans/../p.zip"})
    expect_refusal(run + "--overwrite --out " + out, 2, "--data and --out are one file");
  expect_refusal("run --data plans --ids empty --overwrite --out empty", 2, "--ids and --out");
  for (const std::string file : {"link", "name", "r_link", "r_name", "loop/r.h5.lock", "ids"})
    expect_refusal(run + "--ids ids --resume --out r.h5 --events " + file, 2,
                   "name another file by --events");
  for (const std::string file : {"new.h5", "link_to_new", "loop/new.h5", "plans/../new.h5.lock"})
    expect_refusal(run + "--out new.h5 --events " + file, 2, "--out and --events");
  expect_refusal(run + "--out new.h5 --events new.h5.wal7", 2, "the name of a journal of --out");
  expect_refusal(
      "run --data plans --out new.h5 --events plans/building_ids.txt", 2,
      "plans/building_ids.txt is one of the files of --data; name another file by --events");
  shell("ln -s new.h5 new.h5.status");
  expect_refusal("run --data plans --out new.h5", 2,
                 "new.h5.status are one file by a link; remove");
}

TEST_F(CommandFiles, of_a_run_under_mpirun_are_different_ones) {
  const auto before = all_files();
  EXPECT_THAT(shell("$mpirun 3 run --data p.zip --out p.zip --overwrite", 2).err,
              HasSubstr("--data and --out are one file"));
  EXPECT_EQ(all_files(), before);
}

TEST_F(CommandFiles, that_hold_something_else_are_neither_replaced_nor_added_to) {
  shell(
      "cp plans/00001_domain.npy npy; for file in x.png x.npy x.html x.csv; do cp text $file; "
      "done");
  for (const std::string file : {"text", "npy", "p.zip"}) {
    expect_refusal("run --data plans --overwrite --events e --out " + file, 1,
                   "is not a result file that wallheat wrote");
    expect_refusal("merge --overwrite r.h5 --out " + file, 1, "is not a result file");
    expect_refusal("run --data plans --out new.h5 --events " + file, 1,
                   "something else than events");
  }
  for (const std::string command :
       {"solve 00001 --data p.zip --overwrite --npy x.npy",
        "solve 00001 --data plans --overwrite "
        "--png x.png",
        "summary r.h5 --overwrite --page x.html", "summary r.h5 --overwrite --plot x.png",
        "trace r.h5 --overwrite --out text", "monitor --samples 1 --overwrite --csv x.csv",
        "export r.h5 --overwrite -o text"})
    expect_refusal(command, 1, "is not what this command writes");
  expect_refusal("summary r.h5 --overwrite --out p.zip", 1, "p.zip is no text");
}

TEST_F(CommandFiles, that_wallheat_wrote_are_replaced_on_demand) {
  const std::string run = "wallheat run --data p.zip --out r.h5 ";
  for (const std::string before : {
           "true",
           "wallheat run --data p.zip --out r.h5 --resume --save-fields",  // refused
           "head -c 9000 r.h5 > h; cat h > r.h5; rm h",                    // half a file
           "printf x | dd of=r.h5 conv=notrunc",                           // a damaged one
           ": > r.h5",                                                     // an empty one
       })
    shell(before + "; " + run + "--overwrite");
  shell("wallheat merge r.h5 --out all.h5 && wallheat merge r.h5 --overwrite --out all.h5");
  shell("wallheat run --data p.zip --overwrite --out all.h5");
  for (int session = 0; session < 3; ++session) shell(run + "--overwrite --events e");
}

TEST_F(CommandFiles, of_a_killed_run_are_replaced_on_demand) {
  const StorePlan plan{{"a"}, {{"solver", "jacobi"}}, false};
  {
    auto killed = ResultStore::create(directory_ / "k.h5", plan, {}, false);
    ASSERT_TRUE(killed.begin());
  }
  ASSERT_TRUE(exists("k.h5.wal0"));
  expect_refusal("export r.h5 --overwrite -o k.h5.wal0", 1, "is not what this command writes");
  expect_refusal("export k.h5 --overwrite -o k.h5.wal0", 2, "--out and FILE are one file");
  // Its journal tells what it was.
  shell(
      "printf 'x%.0s' {1..5000} | dd of=k.h5 conv=notrunc;"
      "wallheat run --data p.zip --out k.h5 --overwrite");
}

TEST_F(CommandFiles, that_are_exported_or_drawn_replace_nothing_unasked_and_appear_whole) {
  for (const std::string command :
       {"export r.h5 -o x.csv", "list r.h5 -o x.json", "solve 00001 --data p.zip --png x.png"}) {
    const std::string file = command.substr(command.rfind(' ') + 1);
    const Finished first = shell("wallheat " + command);
    if (first.err.find("without cairo") != std::string::npos) continue;
    EXPECT_EQ(first.status, 0) << first.err;
    expect_refusal(command, 1, file + " exists; name another file, or replace it by --overwrite");
    const auto whole = all_files();
    shell("wallheat " + command + " --overwrite");
    EXPECT_EQ(all_files(), whole) << "the same bytes, and nothing left beside them";
#ifndef __SANITIZE_THREAD__  // it writes a file of its own before main()
    EXPECT_THAT(shell("(ulimit -f 0; wallheat " + command + " --overwrite 2>&1) | cat").out,
                HasSubstr("File too large"))
        << command;
    EXPECT_EQ(all_files(), whole) << command;
#endif
    // An empty file, as mktemp makes, holds nothing to lose.
    shell("rm " + file + "; : > " + file + "; wallheat " + command);
  }
  EXPECT_EQ(shell("wallheat export r.h5 -o /dev/stdout | cat").out, bytes("x.csv"));
  EXPECT_EQ(shell("ln -s x.csv l; wallheat export r.h5 -o l --overwrite && readlink l").out,
            "x.csv\n");
}

TEST_F(CommandFiles, beyond_a_limit_on_their_size_are_an_error_and_not_a_death) {
  for (const std::string command : {"run --data p.zip --out x.h5", "generate --count 1 --out x.zip",
                                    "merge r.h5 --out x.h5", "generate --out more --count 1"}) {
    EXPECT_THAT(shell("ulimit -f 2; { wallheat " + command + " 2>&1; echo status $?; } | cat").out,
                AllOf(HasSubstr("File too large"), HasSubstr("status 1\n")))
        << command;
  }
}

}  // namespace
}  // namespace wallheat
