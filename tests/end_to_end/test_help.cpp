#include <algorithm>
#include <sstream>

#include "support/shell_test.hpp"

// What the program says of itself, and what shells ask it.

namespace wallheat {
namespace {

using testing::AllOf;
using testing::IsSupersetOf;

const std::string wallheat_program = WALLHEAT_PROGRAM;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(run_program({wallheat_program, "help"}).out))
    if (line.starts_with("  ") && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
  // Scripts, whose help is theirs.
  std::erase_if(names, [](const auto& name) { return name == "launch" || name == "submit"; });
  return names;
}

class Help : public ShellTest {};

TEST_F(Help, lists_every_option_of_a_command_within_80_columns) {
  const auto names = command_names();
  EXPECT_THAT(names, IsSupersetOf({"run", "summary", "completion"}));
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string help = run_program({wallheat_program, "help", name}).out;
    EXPECT_EQ(help, run_program({wallheat_program, name, "--help"}).out);
    const auto examples = help.find("\nExamples:\n");
    ASSERT_NE(examples, std::string::npos);
    for (const std::string& line : lines_of(help.substr(0, examples)))
      EXPECT_LE(line.size() - std::count_if(line.begin(), line.end(),
                                            [](char letter) { return (letter & 0xC0) == 0x80; }),
                80U)
          << line;
    std::istringstream settings(run_program({wallheat_program, name, "--print-config"}).out);
    for (std::string line; std::getline(settings, line);)
      if (line.starts_with('#') && !line.starts_with("# ")) {
        EXPECT_THAT(help, HasSubstr("--" + line.substr(1, line.find(' ') - 1)));
      }
  }
}

TEST_F(Help, of_the_scripts_is_found_beside_the_program) {
  for (const std::string name : {"launch", "submit"}) {
    const Finished help = run_program({wallheat_program, "help", name});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, AllOf(HasSubstr("wallheat " + name + " ["), HasSubstr("(default: ")));
    EXPECT_EQ(help.out, run_program({wallheat_program, name, "--help"}).out);
    for (const std::string& line : lines_of(help.out)) EXPECT_LE(line.size(), 80U) << line;
  }
  shell("cp '" + std::string(wallheat_program) + "' alone");
  EXPECT_THAT(shell("./alone launch", 1).err, HasSubstr("install wallheat with its scripts"));
}

TEST_F(Help, begins_with_what_is_changed_most_and_shows_defaults) {
  const std::string help = run_program({wallheat_program, "help", "run"}).out;
  EXPECT_LT(help.find("--data PLANS"), help.find("--tolerance DEGREES"));
  EXPECT_THAT(help, AllOf(HasSubstr("  -d, --data PLANS"), HasSubstr("[default: 1e-4]"),
                          HasSubstr("--tolerance DEGREES"), HasSubstr("\nAll commands:\n")));
  EXPECT_EQ(run_program({wallheat_program, "help", "run", "--most"}).status, 2);
  EXPECT_EQ(run_program({wallheat_program, "help", "rnu"}).status, 2);
  const Finished alone = run_program({wallheat_program});
  EXPECT_EQ(alone.status, 0);
  EXPECT_EQ(alone.out, run_program({wallheat_program, "help"}).out);
  for (const char* part : {"\nrun:\n", "\nlook at results:\n", "\ncluster:\n", "\nTo begin:\n"})
    EXPECT_THAT(alone.out, HasSubstr(part));
  EXPECT_EQ(run_program({wallheat_program, "-V"}).out,
            run_program({wallheat_program, "version"}).out);
}

/// What the examples of some commands need that no other example makes.
constexpr const char* before_the_examples = R"(
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
    const std::string help = run_program({wallheat_program, "help", name}).out;
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
                   wallheat_program, "complete"})
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
    const std::string refusal =
        run_program({wallheat_program, "run", "--data", "x", "--out", "x.h5", "--" + option, "?"})
            .err;
    std::string taken;
    for (const std::string& word : completed("wallheat run --" + option + " "))
      taken += (taken.empty() ? "" : ", ") + word;
    EXPECT_THAT(refusal, HasSubstr("must be one of " + taken + ", not '?'"));
  }
}

TEST_F(Help, teaches_shells_to_ask_the_program) {
  const Finished told = shell(
      "source <(wallheat completion bash) && complete -p wallheat && compgen -C 'wallheat "
      "complete' sum 2> /dev/null | head -n 1");
  EXPECT_THAT(told.out, HasSubstr("-C 'wallheat complete' wallheat"));
  for (const std::string name : {"zsh", "fish"}) {
    EXPECT_THAT(shell("wallheat completion " + name).out, HasSubstr("wallheat complete"));
    EXPECT_EQ(shell("command -v " + name + " > /dev/null || exit 0; wallheat completion " + name +
                    " > c; " + name + " -n c")
                  .status,
              0);
  }
  EXPECT_EQ(run_program({wallheat_program, "completion", "tcsh"}).status, 2);
}

}  // namespace
}  // namespace wallheat
