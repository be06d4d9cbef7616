#include <algorithm>
#include <sstream>

#include "support/shell_test.hpp"

// What the program says of itself, and what shells ask it.

namespace wallheat {
namespace {

using testing::AllOf;
using testing::IsSupersetOf;

/// What the program prints, given these words.
std::string printed_by(std::vector<std::string> words) {
  words.insert(words.begin(), WALLHEAT_PROGRAM);
  return run_program(words).out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(printed_by({"help"})))
    if (line.starts_with("  ") && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
  // Scripts, whose help is theirs.
  std::erase_if(names, [](const auto& name) { return name == "launch" || name == "submit"; });
  return names;
}

class Help : public ShellTest {};

TEST_F(Help, of_every_command_fits_80_columns) {
  const auto names = command_names();
  EXPECT_THAT(names, IsSupersetOf({"run", "summary", "completion"}));
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string help = printed_by({"help", name});
    EXPECT_EQ(help, printed_by({name, "--help"}));
    const auto examples = help.find("\nExamples:\n");
    ASSERT_NE(examples, std::string::npos);
    for (const std::string& line : lines_of(help.substr(0, examples)))
      EXPECT_LE(line.size() - std::count_if(line.begin(), line.end(),
                                            [](char letter) { return (letter & 0xC0) == 0x80; }),
                80U)
          << line;
  }
}

TEST_F(Help, of_the_scripts_is_found_beside_the_program) {
  for (const std::string name : {"launch", "submit"}) {
    const std::string help = printed_by({"help", name});
    EXPECT_THAT(help, AllOf(HasSubstr("wallheat " + name + " ["), HasSubstr("(default: ")));
    EXPECT_EQ(help, printed_by({name, "--help"}));
    for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 80U) << line;
  }
  shell("cp \"$program\" alone");
  EXPECT_THAT(shell("./alone launch", 1).err, HasSubstr("install wallheat with its scripts"));
}

TEST_F(Help, begins_with_what_is_changed_most_and_shows_defaults) {
  const std::string help = printed_by({"help", "run"});
  EXPECT_LT(help.find("--data PLANS"), help.find("--tolerance DEGREES"));
  EXPECT_THAT(help, AllOf(HasSubstr("  -d, --data PLANS"), HasSubstr("[default: 1e-4]"),
                          HasSubstr("--tolerance DEGREES"), HasSubstr("\nAll commands:\n")));
  const std::string alone = printed_by({});
  EXPECT_EQ(alone, printed_by({"help"}));
  EXPECT_EQ(alone, printed_by({"--help"}));
  for (const char* part : {"\nrun:\n", "\nlook at results:\n", "\ncluster:\n", "\nTo begin:\n"})
    EXPECT_THAT(alone, HasSubstr(part));
  EXPECT_THAT(printed_by({"-V"}), StartsWith("wallheat "));
  EXPECT_EQ(printed_by({"-V"}), printed_by({"version"}));
  expect_refusal("help run --most", 2, "help takes one command");
}

/// What the examples of some commands need that no other example makes.
constexpr const char* before_the_examples = R"(
cp ')" WALLHEAT_CONFIGS R"(/../jobs/examples/flat.png' .
printf 'building_id,mean_temp\n00001,14.5\n' > mine.csv
i=0
for wait in 2 40 500 4000; do for cores in 1 8 64; do
  i=$((i + 1)) at=$((1700000000 + 1000 * i))
  echo "$i|$i|medium|q|COMPLETED|$at|$at|$((at + wait))|$((at + wait + 60))|60|1|$cores|8G|cpu=$cores,mem=8G,node=1"
done; done > jobs.txt
echo 'medium|up|4|64|(null)|1-00:00:00|1-infinite' > nodes.txt
echo 'MaxArraySize            = 1001' > cluster.txt
wallheat generate --out small --count 2 --size 32
for k in 1 2; do wallheat run --data small --out shards.h5 --shard $k/2; done
)";

TEST_F(Help, has_examples_that_run_as_they_stand) {
  std::vector<std::string> names{"generate", "run"};  // the others use what these make
  for (const std::string& name : command_names())
    if (name != "generate" && name != "run") names.push_back(name);
  shell(before_the_examples);
  for (const std::string& name : names) {
    const std::string help = printed_by({"help", name});
    const auto at = help.find("\nExamples:\n");
    ASSERT_NE(at, std::string::npos) << name;
    std::size_t examples = 0;
    std::string text = help.substr(at + 11);
    for (std::size_t fold = 0; (fold = text.find(" \\\n", fold)) != std::string::npos;)
      text.erase(fold, 3);
    for (const std::string& line : lines_of(text)) {
      shell(line);
      ++examples;
    }
    EXPECT_EQ(examples, 2U) << name;
  }
}

/// What the program offers where this command line ends.
std::vector<std::string> completed(const std::string& line) {
  return lines_of(
      run_program({"env", "COMP_LINE=" + line, "COMP_POINT=" + std::to_string(line.size()),
                   WALLHEAT_PROGRAM, "complete"})
          .out);
}

TEST(Completion, offers_commands_options_and_words) {
  EXPECT_THAT(completed("wallheat sum"), ElementsAre("summary"));
  EXPECT_THAT(completed("wallheat "), IsSupersetOf({"run", "help"}));
  EXPECT_THAT(completed("wallheat run --sav"), ElementsAre("--save-fields"));
  EXPECT_THAT(completed("wallheat summary --sav"), IsEmpty());
  EXPECT_THAT(completed("wallheat summary --js"), ElementsAre("--json"));
  EXPECT_THAT(completed("wallheat run --data compl"), IsEmpty()) << "a file, which the shell knows";
  EXPECT_THAT(completed("wallheat run --solver s"), ElementsAre("steady"));
  EXPECT_THAT(completed("wallheat plot a.h5 --cmap vir"), ElementsAre("viridis"));
  EXPECT_THAT(completed("wallheat list a.h5 --sort mean"), ElementsAre("mean_temp"));
  EXPECT_THAT(completed("wallheat completion z"), ElementsAre("zsh"));
  EXPECT_THAT(completed("wallheat nonsense --o"), IsEmpty());
  // A refusal names all values that are taken: no others are offered.
  for (const std::string option : {"solver", "norm", "solver-backend", "device", "progress"}) {
    const std::string refusal = run_program({WALLHEAT_PROGRAM, "run", "--" + option, "?"}).err;
    std::string taken;
    for (const std::string& word : completed("wallheat run --" + option + " "))
      taken += (taken.empty() ? "" : ", ") + word;
    EXPECT_THAT(refusal, HasSubstr("must be one of " + taken + ", not '?'"));
  }
}

TEST_F(Help, teaches_shells_to_ask_the_program) {
  const Finished finished = shell(
      "source <(wallheat completion bash) && complete -p wallheat && compgen -C 'wallheat "
      "complete' sum 2> /dev/null | head -n 1");
  EXPECT_THAT(finished.out, HasSubstr("-C 'wallheat complete' wallheat"));
  for (const std::string name : {"zsh", "fish"}) {
    EXPECT_THAT(shell("wallheat completion " + name).out, HasSubstr("wallheat complete"));
    EXPECT_EQ(shell("command -v " + name + " > /dev/null || exit 0; wallheat completion " + name +
                    " > c; " + name + " -n c")
                  .status,
              0);
  }
  expect_refusal("completion tcsh", 2, "must be one of bash, zsh, fish");
}

}  // namespace
}  // namespace wallheat
