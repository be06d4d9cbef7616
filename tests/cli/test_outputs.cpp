#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "cli/commands.hpp"
#include "support/shell_test.hpp"

// Nothing is written over a command's inputs, nor over floor plans, by any option of any command.

namespace wallheat {
namespace {

/// A command that writes to OUT, and what it reads beside floor plans, which are DATA.
struct Output {
  std::string command;
  std::vector<std::string> inputs;
  std::string ending{};  ///< that OUT must have
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

/// The options of a command that take the name of a file or directory, but of floor plans.
std::vector<std::string> file_options(const std::string& help) {
  std::vector<std::string> names;
  const std::regex option(R"(  (?:-., |    )--([a-z-]+) (?:FILE|DIR|TRACE|PICTURE)\b.*)");
  std::istringstream lines(help);
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, found, option)) names.push_back(found[1]);
  return names;
}

class Outputs : public ShellTest {
 protected:
  void SetUp() override {
    shell(
        "wallheat generate --kind poisson --out plates --count 2 --size 32 &&"
        "echo 1 > plates/spacing.txt && python3 -m zipfile -c plates.zip plates/ &&"
        "wallheat run --data plates --out r.h5 --save-fields --events events && cp r.h5 r2.h5 &&"
        "wallheat export r.h5 --out r.csv && ln -s . loop &&"
        "cp plates/building_ids.txt ids && echo 12 > short && touch jobs nodes config recording "
        "one.json one.cfg");
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
    const Finished finished = in_directory(command);
    EXPECT_EQ(finished.status, 2) << command;
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1)
        << command << finished.err;
    if (!output.ending.empty()) std::filesystem::remove(directory_ / out);
    EXPECT_EQ(all_files(), before) << command;
  }
  /// Within this process, as there are hundreds of commands.
  [[nodiscard]] Finished in_directory(const std::string& command) const {
    std::istringstream words(command);
    const Arguments arguments{std::istream_iterator<std::string>(words), {}};
    const std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path(directory_.path());
    Finished finished;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    finished.status = app_main(arguments);
    finished.err = testing::internal::GetCapturedStderr();
    finished.out = testing::internal::GetCapturedStdout();
    std::filesystem::current_path(here);
    return finished;
  }
};

TEST_F(Outputs, replace_no_input_of_any_command) {
  for (const Output& output : all_outputs()) {
    for (const std::string name : {"00001_domain.npy", "00001_interior.npy", "00001_source.npy",
                                   "building_ids.txt", "spacing.txt"})
      expect_kept(output, "plates", "plates/" + name);
    for (const std::string& input : output.inputs)
      expect_kept(output, input == "plates.zip" ? input : "plates", input);
  }
}

TEST_F(Outputs, are_known_of_every_command) {
  const std::set<std::string> inputs{"ids",   "events",   "minus",  "replay", "sacct", "lsf",
                                     "sinfo", "scontrol", "config", "file",   "part"};
  const std::set<std::string> alike{"out", "page", "plot"};  // of commands that tell something
  std::istringstream overview(in_directory("help").out);
  std::set<std::string> commands;
  for (std::string line; std::getline(overview, line);)
    if (line.starts_with("  ") && !line.starts_with("   "))
      commands.insert(line.substr(2, line.find(' ', 2) - 2));
  EXPECT_GT(commands.size(), 15U);
  // These make directories of their own kind.
  commands.erase("generate");
  commands.erase("submit");  // its --site FILE is read
  for (const std::string& command : commands) {
    const std::string help = in_directory("help " + command).out;
    const bool tells = help.find("write there what would be printed") != std::string::npos;
    for (const std::string& option : file_options(help))
      EXPECT_TRUE(inputs.contains(option) || (tells && alike.contains(option)) ||
                  std::ranges::any_of(all_outputs(),
                                      [&](const Output& output) {
                                        return output.command.starts_with(command + " ") &&
                                               output.command.find("--" + option + " OUT") !=
                                                   std::string::npos;
                                      }))
          << command << " --" << option << " is not among all_outputs()";
  }
}

TEST_F(Outputs, replace_no_plan_whatever_it_is_called) {
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
  // Beside plans there is room for other files.
  shell("wallheat solve 00001 --data plates --npy plates/solution.npy");
  shell("wallheat run --data plates --out plates/r.h5");
}

}  // namespace
}  // namespace wallheat
