#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "cli/in_process.hpp"
#include "support/shell_test.hpp"

// No option of any command overwrites a file by mistake: an input of the command, a floor plan,
// results, or another file.

namespace wallheat {
namespace {

/// A command that writes to OUT and reads floor plans from DATA, and its other inputs.
struct Output {
  std::string command;
  std::vector<std::string> inputs;
  std::string ending{};  ///< required file name extension of OUT
};

const std::vector<Output>& all_outputs() {
  static const std::vector<Output> outputs{
      {"run --data DATA --ids ids --overwrite --out OUT", {"plates.zip", "ids"}},
      {"run --data DATA --ids ids --resume --out r.h5 --events OUT",
       {"plates.zip", "ids", "r.h5", "r.h5.wal0", "r.h5.lock", "r.h5.status"}},
      {"solve 00001 --data DATA --overwrite --npy OUT", {"plates.zip"}},
      {"solve 00001 --data DATA --overwrite --png OUT", {"plates.zip"}, ".png"},
      {"whatif --data DATA --ids ids --wall 0=1 --overwrite --out OUT", {"plates.zip", "ids"}},
      {"need --data DATA --ids ids --wall 0 --room-mean 1 --overwrite --out OUT",
       {"plates.zip", "ids"}},
      {"summary r.h5 --data DATA --overwrite --plot OUT", {"plates.zip", "r.h5"}, ".png"},
      {"summary r.h5 --overwrite --page OUT", {"r.h5"}},
      {"plot r.h5 --minus r2.h5 --data DATA --overwrite --out OUT",
       {"plates.zip", "r.h5", "r2.h5"},
       ".png"},
      {"export r.h5 --overwrite --out OUT", {"r.h5", "r.h5.wal0"}},
      {"export r.h5 --overwrite --out OUT", {"r.h5"}, ".xdmf"},
      {"export r.h5 --field 00001 --overwrite --out OUT", {"r.h5"}},
      {"status r.h5 --overwrite --out OUT", {"r.h5", "r.h5.wal0"}},
      {"status r.h5 --overwrite --metrics OUT", {"r.h5", "r.h5.wal0"}},
      {"page one.json --overwrite --out OUT", {"one.json"}},
      {"trace r.h5 --events events --overwrite --out OUT", {"r.h5", "events"}},
      {"compare r.h5 r.csv --overwrite --plot OUT", {"r.h5", "r.csv"}, ".png"},
      {"merge r.h5 r2.h5 --overwrite --out OUT", {"r.h5", "r2.h5"}},
      {"scaling r.h5 r2.h5 --overwrite --out OUT", {"r.h5", "r2.h5"}},
      {"scaling --replay r.h5 --overwrite --out OUT", {"r.h5"}},
      {"queue --sacct jobs --overwrite --out OUT", {"jobs"}},
      {"queue --lsf jobs --overwrite --out OUT", {"jobs"}},
      {"advise --sacct jobs --sinfo nodes --scontrol config --overwrite --out OUT -- --data DATA "
       "--ids ids --out r.h5",
       {"jobs", "nodes", "config", "plates.zip", "ids", "r.h5"}},
      {"monitor --samples 1 --overwrite --csv OUT", {}},
      {"monitor recording --overwrite --out OUT", {"recording"}},
      {"bench --data DATA --overwrite --out OUT", {"plates.zip"}},
      {"offload --bandwidth 1e9 --gpu 1e9 --cpu 1e9 --config one.cfg --overwrite --out OUT",
       {"one.cfg"}},
  };
  return outputs;
}

/// Returns the options of a command that take the name of a file or directory, except of floor
/// plans.
std::vector<std::string> file_options(const std::string& help) {
  std::vector<std::string> names;
  const std::regex option(R"(  (?:-., |    )--([a-z-]+) (?:FILE|DIR|TRACE|PICTURE)\b.*)");
  std::istringstream lines(help);
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, found, option)) names.push_back(found[1]);
  return names;
}

class OutputFilesTest : public ShellTest {
 protected:
  OutputFilesTest() {
    shell(
        "wallheat generate --kind poisson --out plates --count 2 --size 32 &&"
        "echo 1 > plates/spacing.txt && python3 -m zipfile -c plates.zip plates/ &&"
        "wallheat run --data plates --out r.h5 --save-fields --events events && cp r.h5 r2.h5 &&"
        "wallheat export r.h5 --out r.csv && cp plates/building_ids.txt ids && echo 12 > short &&"
        "touch jobs nodes config recording one.json one.cfg empty && echo notes > text &&"
        "ln -s plates.zip link && ln plates.zip name && ln -s r.h5 r_link && ln r.h5 r_name &&"
        "ln -s new.h5 link_to_new && ln -s . loop");
  }
  /// Expects that the command fails with this status, prints exactly one message, which mentions
  /// all facts, and changes no file.
  void expect_error_without_changes(const std::string& command, int status,
                                    const Facts& facts) const {
    const auto before = all_files();
    const Finished finished = in_directory(command);
    EXPECT_EQ(finished.status, status) << command;
    EXPECT_THAT(finished.err, Mentions(facts)) << command;
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    EXPECT_EQ(all_files(), before) << command;
  }
  /// Expects that the command does not replace `file`, which is one of its inputs or a floor plan.
  void expect_kept(const Output& output, const std::string& data, const std::string& file) {
    std::string out = file;
    if (!output.ending.empty()) {
      out = "link" + output.ending;
      std::filesystem::create_symlink(file, directory_ / out);
    }
    const std::string command = std::regex_replace(output.command, std::regex("DATA"), data);
    expect_error_without_changes(std::regex_replace(command, std::regex("OUT"), out), 2, {});
    if (!output.ending.empty()) std::filesystem::remove(directory_ / out);
  }
  [[nodiscard]] Finished in_directory(const std::string& command) const {
    std::istringstream words(command);
    const std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path(directory_.path());
    Finished finished = run_here({std::istream_iterator<std::string>(words), {}});
    std::filesystem::current_path(here);
    return finished;
  }
};

TEST_F(OutputFilesTest, KeepsInputsOfEveryCommand) {
  for (const Output& output : all_outputs()) {
    for (const std::string name : {"00001_domain.npy", "00001_interior.npy", "00001_source.npy",
                                   "building_ids.txt", "spacing.txt", "00001_drawing.json"})
      expect_kept(output, "plates", "plates/" + name);
    for (const std::string& input : output.inputs)
      expect_kept(output, input == "plates.zip" ? input : "plates", input);
  }
}

TEST_F(OutputFilesTest, CoversFileOptionsOfEveryCommand) {
  const std::set<std::string> inputs{"ids",  "events",     "minus",      "replay", "sacct",
                                     "lsf",  "sinfo",      "scontrol",   "config", "file",
                                     "part", "room-names", "solver-file"};
  const std::set<std::string> common{"out", "page", "plot"};  // options of commands that report
  auto commands = all_commands();
  EXPECT_GT(commands.size(), 15U);
  std::erase(commands, "generate");  // its output is a directory
  for (const std::string& command : commands) {
    const std::string help = in_directory("help " + command).out;
    const bool reports = help.find("--format NAME") != std::string::npos;
    for (const std::string& option : file_options(help))
      EXPECT_TRUE(inputs.contains(option) || (reports && common.contains(option)) ||
                  std::ranges::any_of(all_outputs(),
                                      [&](const Output& output) {
                                        return output.command.starts_with(command + " ") &&
                                               output.command.find("--" + option + " OUT") !=
                                                   std::string::npos;
                                      }))
          << command << " --" << option << " is not among all_outputs()";
  }
}

TEST_F(OutputFilesTest, KeepsFloorPlansUnderAnyName) {
  shell(
      "ln -s plates/00001_domain.npy link.npy; ln plates/00002_domain.npy name.npy;"
      "mkdir far; mv plates/00002_interior.npy far/mask; ln -s ../far/mask "
      "plates/00002_interior.npy;"
      "rm plates/00002_source.npy; ln -s plates/00002_source.npy new.npy; ln -s plates other");
  const Output solve{"solve 00001 --data DATA --overwrite --npy OUT", {}};
  for (const std::string data : {"plates", "other", "loop/plates/../plates"})
    for (const std::string out :
         {"./loop/plates/00001_domain.npy", "other/00001_domain.npy", "link.npy", "name.npy",
          "far/mask", "new.npy", "plates/other_source.npy"})
      expect_kept(solve, data, out);
  const Output field{"export r.h5 --field 00001 --overwrite --out OUT", {}};
  for (const std::string out : {"plates/00001_domain.npy", "link.npy", "name.npy", "far/mask"})
    expect_kept(field, "", out);
  // Other files may be next to floor plans.
  shell("wallheat solve 00001 --data plates --npy plates/solution.npy");
  shell("wallheat run --data plates --out plates/r.h5");
}

TEST_F(OutputFilesTest, RejectsFileNamedByTwoOptions) {
  const std::string of_zip = "run --data plates.zip ";
  for (const std::string out :
       {"plates.zip", "link", "name", "loop/plates.zip", "./plates/../plates.zip"})
    expect_error_without_changes(of_zip + "--overwrite --out " + out, 2, {"--data", "--out"});
  expect_error_without_changes("run --data plates --ids empty --overwrite --out empty", 2,
                               {"--ids", "--out", "empty"});
  for (const auto& [option, file] : {std::pair<std::string, std::string>{"--data", "link"},
                                     {"--data", "name"},
                                     {"--out", "r_link"},
                                     {"--out", "r_name"},
                                     {"--out", "loop/r.h5.lock"},
                                     {"--ids", "ids"}})
    expect_error_without_changes(of_zip + "--ids ids --resume --out r.h5 --events " + file, 2,
                                 {option, "--events", file});
  for (const std::string file : {"new.h5", "link_to_new", "loop/new.h5", "plates/../new.h5.lock"})
    expect_error_without_changes(of_zip + "--out new.h5 --events " + file, 2,
                                 {"--out", "--events", file});
  const std::string run = "run --data plates --out new.h5 ";
  expect_error_without_changes(run + "--events new.h5.wal7", 2,
                               {"new.h5.wal7", "journal", "--out", "--events"});
  expect_error_without_changes(run + "--events plates/building_ids.txt", 2,
                               {"plates/building_ids.txt", "--data", "--events"});
  std::filesystem::create_symlink("new.h5", directory_ / "new.h5.status");
  expect_error_without_changes(run, 2, {"--out", "new.h5", "new.h5.status", "link"});
  const auto before = all_files();
  EXPECT_THAT(shell("$mpirun 3 run --data plates.zip --out plates.zip --overwrite", 2).err,
              Mentions({"--data", "--out", "plates.zip"}));
  EXPECT_EQ(all_files(), before);
}

TEST_F(OutputFilesTest, RejectsFilesOfOtherFormats) {
  shell(
      "cp plates/00001_domain.npy npy; for file in x.png x.npy x.html x.csv; do cp text $file; "
      "done");
  for (const std::string file : {"text", "npy", "plates.zip"}) {
    expect_error_without_changes("run --data plates --overwrite --events e --out " + file, 1,
                                 {file, "result file"});
    expect_error_without_changes("merge --overwrite r.h5 --out " + file, 1, {file, "result file"});
    expect_error_without_changes("run --data plates --out new.h5 --events " + file, 1,
                                 {file, "--events"});
  }
  for (const auto& [command, file] :
       {std::pair<std::string, std::string>{"solve 00001 --data plates --overwrite --npy", "x.npy"},
        {"solve 00001 --data plates --overwrite --png", "x.png"},
        {"summary r.h5 --overwrite --page", "x.html"},
        {"summary r.h5 --overwrite --plot", "x.png"},
        {"trace r.h5 --overwrite --out", "text"},
        {"monitor --samples 1 --overwrite --csv", "x.csv"},
        {"export r.h5 --overwrite -o", "text"}})
    expect_error_without_changes(command + " " + file, 1, {file, "command"});
  expect_error_without_changes("summary r.h5 --overwrite --out plates.zip", 1,
                               {"plates.zip", "text"});
}

TEST_F(OutputFilesTest, ReplacesOwnFilesWithOverwrite) {
  const std::string run = "wallheat run --data plates.zip --out r.h5 ";
  for (const std::string before : {
           "true",
           "wallheat run --data plates.zip --out r.h5 --resume --tolerance 1",  // an error
           "head -c 9000 r.h5 > h; cat h > r.h5; rm h",                         // a truncated file
           "printf x | dd of=r.h5 conv=notrunc",                                // a damaged file
           ": > r.h5",                                                          // an empty file
       })
    shell(before + "; " + run + "--overwrite --events e");
  shell("wallheat merge r.h5 --out all.h5 && wallheat merge r.h5 --overwrite --out all.h5");
  shell("wallheat run --data plates.zip --overwrite --out all.h5");
  // If the identity of a file is unreadable, wallheat cannot know whether it wrote the file, nor to
  // which file the journal belongs.
  shell("cp '" WALLHEAT_TEST_DATA "'/killed.h5* .");
  expect_error_without_changes("export r.h5 --overwrite -o killed.h5.wal0", 1,
                               {"killed.h5.wal0", "command"});
  shell("printf 'x%.0s' {1..5000} | dd of=killed.h5 conv=notrunc");
  const std::string overwrite = "run --data plates.zip --out killed.h5 --overwrite";
  expect_error_without_changes(overwrite, 1, {"killed.h5", "remove"});
  shell("rm killed.h5");
  expect_error_without_changes(overwrite, 1, {"killed.h5.wal0", "--overwrite"});
  shell("rm killed.h5.wal0; wallheat " + overwrite);
}

TEST_F(OutputFilesTest, RequiresOverwriteToReplaceFiles) {
  for (const std::string command :
       {"export r.h5 -o x.csv", "list r.h5 -o x.json", "solve 00001 --data plates --png x.png"}) {
    const std::string file = command.substr(command.rfind(' ') + 1);
    shell("wallheat " + command);
    expect_error_without_changes(command, 1, {file, "--overwrite"});
    const auto complete = all_files();
    shell("wallheat " + command + " --overwrite");
    EXPECT_EQ(all_files(), complete) << "the same bytes, and no temporary file";
#ifndef __SANITIZE_THREAD__  // the sanitizer writes a file before main()
    EXPECT_THAT(shell("(ulimit -f 0; wallheat " + command + " --overwrite 2>&1) | cat").out,
                Mentions("File too large"))
        << command;
    EXPECT_EQ(all_files(), complete) << command;
#endif
    // An empty file, as mktemp creates it, is replaced without --overwrite.
    shell("rm " + file + "; : > " + file + "; wallheat " + command);
  }
  EXPECT_EQ(shell("wallheat export r.h5 -o /dev/stdout | cat").out, bytes("x.csv"));
  EXPECT_EQ(shell("ln -s x.csv l; wallheat export r.h5 -o l --overwrite && readlink l").out,
            "x.csv\n");
}

TEST_F(OutputFilesTest, ReportsErrorWhenFileSizeLimitIsReached) {
  for (const std::string command :
       {"run --data plates --out x.h5", "generate --count 1 --out x.zip", "merge r.h5 --out x.h5",
        "generate --out more --count 1"})
    EXPECT_THAT(shell("ulimit -f 2; { wallheat " + command + " 2>&1; echo status $?; } | cat").out,
                AllOf(Mentions("File too large"), HasSubstr("status 1\n")))
        << command;
}

}  // namespace
}  // namespace wallheat
