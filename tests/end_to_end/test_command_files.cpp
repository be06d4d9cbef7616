#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

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
  /// Every file and what it holds.
  [[nodiscard]] std::map<std::string, std::string> all_files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path()))
      files[entry.path().string()] = entry.is_regular_file() ? file_text(entry.path()) : "";
    return files;
  }
  /// Which changes nothing.
  void expect_refusal(const std::string& command, int status, const std::string& sentence) {
    const auto before = all_files();
    ShellTest::expect_refusal(command, status, sentence);
    EXPECT_EQ(all_files(), before) << command;
  }
};

TEST_F(CommandFiles, of_a_run_are_different_ones) {
  const std::string run = "run --data p.zip ";
  for (const std::string out : {"p.zip", "link", "name", "loop/p.zip", "./plans/../p.zip"}) {
    expect_refusal(run + "--overwrite --out " + out, 2, "--data and --out are one file");
    expect_refusal(run + "--resume --out " + out, 2, "--data and --out are one file");
  }
  expect_refusal("run --data plans --ids empty --overwrite --out empty", 2, "--ids and --out");
  for (const std::string option : {"--events", "--exit-status-file"}) {
    for (const std::string file : {"p.zip", "link", "name", "r.h5", "r_link", "r_name",
                                   "loop/r.h5.lock", "r.h5.status", "ids"}) {
      expect_refusal(run + "--ids ids --resume --out r.h5 " + option + " " + file, 2,
                     "name another file by " + option);
    }
    for (const std::string file :
         {"new.h5", "link_to_new", "loop/new.h5", "plans/../new.h5.lock"}) {
      expect_refusal(run + "--out new.h5 " + option + " " + file, 2, "--out and " + option);
    }
    expect_refusal("run --data plans --out new.h5 " + option + " plans/building_ids.txt", 2,
                   "--data and " + option);
  }
  expect_refusal(run + "--out new.h5 --events new --exit-status-file loop/new", 2,
                 "--events and --exit-status-file are one file");
}

TEST_F(CommandFiles, of_a_run_under_mpirun_are_different_ones) {
  const auto before = all_files();
  EXPECT_THAT(shell("$mpirun 3 run --data p.zip --out p.zip --overwrite", 2).err,
              HasSubstr("--data and --out are one file"));
  EXPECT_EQ(all_files(), before);
}

TEST_F(CommandFiles, that_are_something_else_are_neither_replaced_nor_added_to) {
  shell("cp plans/00001_domain.npy npy");
  for (const std::string file : {"text", "ids", "npy"}) {
    expect_refusal("run --data plans --overwrite --events e --out " + file, 1,
                   "is not a result file that wallheat wrote");
    expect_refusal("merge --overwrite r.h5 --out " + file, 1, "is not a result file");
    expect_refusal("run --data plans --out new.h5 --events " + file, 1, "name another by --events");
    expect_refusal("run --data plans --out new.h5 --exit-status-file " + file, 2,
                   "name another by --exit-status-file");
    expect_refusal("run --no-such-option --exit-status-file " + file, 2, "is left as it is");
    expect_refusal("export r.h5 --overwrite -o " + file, 1, "is not what this command writes");
    expect_refusal("solve 00001 --data plans --overwrite --png " + file, 2, ".png");
  }
  expect_refusal("run --data plans --overwrite --out p.zip", 1, "is not a result file");
  expect_refusal("merge r.h5 --overwrite --out p.zip", 1, "is not a result file");
  shell("cp text x.png");
  expect_refusal("solve 00001 --data plans --overwrite --png x.png", 1,
                 "is not what this command writes");
}

TEST_F(CommandFiles, of_merge_export_and_solve_are_different_ones) {
  expect_refusal("merge --overwrite --out r_name r.h5", 2, "a part and --out are one file");
  expect_refusal("merge --overwrite --out r_link r.h5", 2, "a part and --out are one file");
  expect_refusal("merge --out new.h5 --allow-missing --missing-ids link_to_new r.h5", 2,
                 "name another file by --missing-ids");
  expect_refusal("merge --out new.h5 --allow-missing --missing-ids text r.h5", 1, "text exists");
  for (const std::string output : {"r.h5", "r_link", "r_name", "loop/r.h5"})
    expect_refusal("export r.h5 --overwrite -o " + output, 2, "FILE and --out are one file");
  shell("ln -s new.h5 new.h5.status");
  expect_refusal("run --data plans --out new.h5", 2,
                 "new.h5.status are one file by a link; remove");
  shell("ln p.zip p.png");
  expect_refusal("solve 00001 --data p.zip --overwrite --png p.png", 2, "--data and --png");
}

TEST_F(CommandFiles, that_hold_something_else_are_replaced_by_no_option) {
  shell(
      "wallheat run --data p.zip --out part.h5 --shard 1/2 &&"
      "for ((i = 1; i <= 100; ++i)); do echo \"$i|$i|long|q|COMPLETED|$i|$((i * 9000))|"
      "$((i * 9000 + 40))|$((i * 9999))|5|1|4|1G|cpu=4\"; done > jobs && mkdir man &&"
      "for file in x.png x.npy x.html x.csv man/wallheat.1; do cp text $file; done");
  const std::string merge = "merge --allow-missing --out new.h5 part.part-1-of-2.h5 ";
  expect_refusal(merge + "--overwrite --missing-ids text", 1, "text is no list of plans of");
  expect_refusal("queue --sacct jobs --replay text", 1, "text exists");
  const std::string no = "is not what this command writes";
  expect_refusal("queue --sacct jobs --overwrite --replay text", 1, no);
  expect_refusal("queue --sacct jobs --history text", 1, "text");
  expect_refusal("manual --all man", 1, no);
  expect_refusal("solve 00001 --data p.zip --overwrite --npy x.npy", 1, no);
  expect_refusal("report r.h5 --overwrite --out x.html", 1, no);
  expect_refusal("trace r.h5 --overwrite --out text", 1, no);
  expect_refusal("monitor --samples 1 --overwrite --csv x.csv", 1, no);
  expect_refusal("summary r.h5 --overwrite --plot x.png", 1, no);
  expect_refusal("export r.h5 --overwrite -o text", 1, no);
  expect_refusal("run --data p.zip --out new.h5 --events text", 1, "something else than events");
  expect_refusal("run --data p.zip --out new.h5 --exit-status-file text", 2, "an exit status");
  // What it wrote itself, it replaces.
  shell("mkdir pages");
  for (const auto& [command, status] : {std::pair{merge + "--overwrite --missing-ids list", 75},
                                        {"queue --sacct jobs --overwrite --replay told", 0},
                                        {"manual --all pages", 0}}) {
    shell("wallheat " + command, status);
    shell("wallheat " + command, status);
  }
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
  for (int session = 0; session < 3; ++session) {
    shell(run + "--overwrite --events e --exit-status-file s");
    EXPECT_EQ(shell("cat s").out, "0\n");
  }
}

TEST_F(CommandFiles, of_a_killed_run_are_replaced_on_demand) {
  const StorePlan plan{{"a"}, {{"solver", "jacobi"}}, false};
  {
    auto killed = ResultStore::create(directory_ / "k.h5", plan, {}, false);
    ASSERT_TRUE(killed.begin());
  }
  ASSERT_TRUE(exists("k.h5.wal0"));
  expect_refusal("export r.h5 --overwrite -o k.h5.wal0", 1, "is not what this command writes");
  expect_refusal("export k.h5 --overwrite -o k.h5.wal0", 2, "FILE and --out are one file");
  // Its journal tells what it was.
  shell(
      "printf 'x%.0s' {1..5000} | dd of=k.h5 conv=notrunc;"
      "wallheat run --data p.zip --out k.h5 --overwrite");
}

TEST_F(CommandFiles, that_are_exported_or_drawn_replace_nothing_unasked_and_appear_whole) {
  for (const std::string command : {"export r.h5 -o x.csv", "export r.h5 --format json -o x.json",
                                    "solve 00001 --data p.zip --png x.png"}) {
    const std::string file = command.substr(command.rfind(' ') + 1);
    const Finished first = shell("wallheat " + command);
    if (first.err.find("without cairo") != std::string::npos) continue;
    EXPECT_EQ(first.status, 0) << first.err;
    expect_refusal(command, 1, file + " exists; name another file, or replace it by --overwrite");
    const auto whole = all_files();
    shell("wallheat " + command + " --overwrite");
    EXPECT_EQ(all_files(), whole) << "the same bytes, and nothing left beside them";
    EXPECT_THAT(shell("(ulimit -f 0; wallheat " + command + " --overwrite 2>&1) | cat").out,
                HasSubstr("File too large"))
        << command;
    EXPECT_EQ(all_files(), whole) << command;
    // An empty file, as mktemp makes, holds nothing to lose.
    shell("rm " + file + "; : > " + file + "; wallheat " + command);
  }
  EXPECT_EQ(shell("wallheat export r.h5 -o /dev/stdout | cat").out, bytes("x.csv"));
  EXPECT_EQ(shell("ln -s x.csv l; wallheat export r.h5 -o l --overwrite && readlink l").out,
            "x.csv\n");
}

/// A command that writes to OUT, and what it reads beside floor plans, which are DATA.
struct Output {
  std::string command;
  std::vector<std::string> inputs;
  std::string ending{};  ///< that OUT must have
};

const std::vector<Output>& all_outputs() {
  static const std::vector<Output> outputs{
      {"run --data DATA --ids ids --overwrite --out OUT", {"pack.h5", "ids"}},
      {"run --data DATA --ids ids --resume --out r.h5 --events OUT",
       {"pack.h5", "ids", "r.h5", "r.h5.wal", "r.h5.lock", "r.h5.status"}},
      {"run --data DATA --ids ids --resume --out r.h5 --exit-status-file OUT",
       {"pack.h5", "ids", "r.h5", "r.h5.wal", "r.h5.lock", "r.h5.status"}},
      {"run --data DATA --ids short --mistyped --exit-status-file OUT", {"short"}},
      {"pack --data DATA --ids ids --overwrite --out OUT", {"pack.h5", "ids"}},
      {"solve 00001 --data DATA --overwrite --npy OUT", {"pack.h5"}},
      {"solve 00001 --data DATA --overwrite --png OUT", {"pack.h5"}, ".png"},
      {"whatif --data DATA --ids ids --wall 0=1 --overwrite --csv OUT", {"pack.h5", "ids"}},
      {"whatif --data DATA --ids ids --wall 0=1 --overwrite --plot OUT",
       {"pack.h5", "ids"},
       ".png"},
      {"need --data DATA --ids ids --wall 0 --room-mean 1 --overwrite --csv OUT",
       {"pack.h5", "ids"}},
      {"need --data DATA --ids ids --wall 0 --room-mean 1 --overwrite --plot OUT",
       {"pack.h5", "ids"},
       ".png"},
      {"summary r.h5 --data DATA --overwrite --plot OUT", {"pack.h5", "r.h5"}, ".png"},
      {"plot r.h5 --minus r2.h5 --data DATA --overwrite --out OUT",
       {"pack.h5", "r.h5", "r2.h5"},
       ".png"},
      {"export r.h5 --overwrite --out OUT", {"r.h5", "r.h5.wal"}},
      {"export r.h5 --format xdmf --overwrite --out OUT", {"r.h5"}},
      {"export r.h5 --field 00001 --overwrite --out OUT", {"r.h5"}},
      {"report r.h5 --compare r2.h5 --overwrite --out OUT", {"r.h5", "r2.h5"}},
      {"trace r.h5 --events events --overwrite --out OUT", {"r.h5", "events"}},
      {"compare r.h5 r.csv --overwrite --plot OUT", {"r.h5", "r.csv"}, ".png"},
      {"merge r.h5 r2.h5 --overwrite --out OUT", {"r.h5", "r2.h5"}},
      {"merge r.h5 --allow-missing --out new.h5 --overwrite --missing-ids OUT", {"r.h5"}},
      {"scaling --data DATA --ids ids --overwrite --plot OUT", {"pack.h5", "ids"}, ".png"},
      {"scaling r.h5 r2.h5 --overwrite --plot OUT", {"r.h5", "r2.h5"}, ".png"},
      {"scaling --replay r.h5 --overwrite --plot OUT", {"r.h5"}, ".png"},
      {"queue --sacct jobs --overwrite --replay OUT", {"jobs"}},
      {"queue --sacct jobs --overwrite --plot OUT", {"jobs"}, ".png"},
      {"queue --lsf jobs --history OUT", {"jobs"}},
      {"advise --sacct jobs --sinfo nodes --scontrol config --history OUT -- --data DATA --out "
       "r.h5",
       {"jobs", "nodes", "config", "pack.h5", "r.h5"}},
      {"monitor --samples 1 --overwrite --csv OUT", {}},
      {"monitor recording --overwrite --plot OUT", {"recording"}, ".png"},
      {"bench --data DATA --device gpu --overwrite --plot OUT", {"pack.h5"}, ".png"},
      {"offload --bandwidth 1e9 --gpu 1e9 --cpu 1e9 --overwrite --plot OUT", {}, ".png"},
  };
  return outputs;
}

/// The options of a command that take the name of a file or directory, but of floor plans.
std::vector<std::string> file_options(const std::string& help) {
  std::vector<std::string> names;
  const std::regex option(
      R"(  (?:-. \[ )?--([a-z-]+) (?:\] )?(?:FILE|DIR|PAGE|TRACE|PICTURE)\b.*)");
  std::istringstream lines(help);
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, found, option)) names.push_back(found[1]);
  return names;
}

class Outputs : public CommandFiles {
 protected:
  void SetUp() override {
    shell(
        "wallheat generate --kind poisson --out plates --count 2 --size 32 &&"
        "echo 1 > plates/spacing.txt && wallheat pack --data plates --out pack.h5 &&"
        "wallheat run --data plates --out r.h5 --save-fields --events events && cp r.h5 r2.h5 &&"
        "wallheat export r.h5 --out r.csv && ln -s . loop &&"
        "cp plates/building_ids.txt ids && echo 12 > short && touch jobs nodes config recording");
  }
  /// That it is one of the command's inputs or a floor plan, in one line, and nothing is changed.
  void expect_kept(const Output& output, const std::string& data, const std::string& file) {
    const auto before = all_files();
    std::string out = file;
    if (!output.ending.empty()) {
      out = "link" + output.ending;
      std::filesystem::create_symlink(file, directory_ / out);
    }
    const std::string command = std::regex_replace(
        std::regex_replace(output.command, std::regex("DATA"), data), std::regex("OUT"), out);
    const std::string said = shell("wallheat " + command, 2).err;
    const bool is_mistyped = command.find("--mistyped") != std::string::npos;
    EXPECT_LE(std::count(said.begin(), said.end(), '\n'), is_mistyped ? 2 : 1) << command << said;
    if (!output.ending.empty()) std::filesystem::remove(directory_ / out);
    EXPECT_EQ(all_files(), before) << command;
  }
};

TEST_F(Outputs, replace_no_input_of_any_command) {
  for (const Output& output : all_outputs()) {
    for (const std::string name : {"00001_domain.npy", "00001_interior.npy", "00001_source.npy",
                                   "building_ids.txt", "spacing.txt"})
      expect_kept(output, "plates", "plates/" + name);
    for (const std::string& input : output.inputs)
      expect_kept(output, input == "pack.h5" ? input : "plates", input);
  }
}

TEST_F(Outputs, are_known_of_every_command) {
  const std::set<std::string> inputs{"ids", "events", "minus",    "compare", "replay", "sacct",
                                     "lsf", "sinfo",  "scontrol", "config",  "file",   "part"};
  std::istringstream overview(shell("wallheat help").out);
  std::set<std::string> commands;
  for (std::string line; std::getline(overview, line);)
    if (line.starts_with("  ") && !line.starts_with("   "))
      commands.insert(line.substr(2, line.find(' ', 2) - 2));
  EXPECT_GT(commands.size(), 15U);
  // These make directories of their own kind.
  for (const std::string& command : {"generate", "manual"}) commands.erase(command);
  for (const std::string& command : commands)
    for (const std::string& option : file_options(shell("wallheat help " + command + " --all").out))
      EXPECT_TRUE(inputs.contains(option) ||
                  std::ranges::any_of(all_outputs(),
                                      [&](const Output& output) {
                                        return output.command.starts_with(command + " ") &&
                                               output.command.find("--" + option + " OUT") !=
                                                   std::string::npos;
                                      }))
          << command << " --" << option << " is not among all_outputs()";
}

TEST_F(Outputs, replace_no_plan_whatever_it_is_called) {
  shell(
      "ln -s plates/00001_domain.npy link.npy; ln plates/00002_domain.npy name.npy;"
      "mkdir far; mv plates/00002_interior.npy far/mask; ln -s ../far/mask "
      "plates/00002_interior.npy;"
      "rm plates/00002_source.npy; ln -s plates/00002_source.npy new.npy; ln -s plates other");
  const Output solve{"solve 00001 --data DATA --overwrite --npy OUT", {}};
  for (const std::string data : {"plates", "other", "loop/plates/../plates"}) {
    for (const std::string out : {"plates/00001_domain.npy", "./loop/plates/00001_domain.npy",
                                  "other/00001_domain.npy", "link.npy", "name.npy", "far/mask",
                                  "plates/00002_source.npy", "new.npy", "plates/other_source.npy"})
      expect_kept(solve, data, out);
  }
  const Output field{"export r.h5 --field 00001 --overwrite --out OUT", {}};
  for (const std::string out :
       {"plates/00001_domain.npy", "./loop/plates/00001_domain.npy", "other/00001_domain.npy",
        "link.npy", "new.npy", "name.npy", "far/mask"})
    expect_kept(field, "", out);
  // Beside plans there is room for other files.
  shell("wallheat solve 00001 --data plates --npy plates/solution.npy");
  shell("wallheat run --data plates --out plates/r.h5 --exit-status-file plates/status");
  shell("wallheat export r.h5 --field 00001 --out far/00001_domain.npy");
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
