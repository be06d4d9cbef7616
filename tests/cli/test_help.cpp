#include <algorithm>
#include <sstream>

#include "cli/in_process.hpp"
#include "support/shell_test.hpp"

// Help texts and shell completion.

namespace wallheat {
namespace {

using testing::IsSupersetOf;
using Words = std::vector<std::string>;

std::string printed_by(const Words& words) { return run_here(words).out; }

/// Returns the help text of a command before its examples, and the examples.
std::pair<std::string, std::string> help_of(const std::string& name) {
  const std::string help = printed_by({"help", name});
  const std::string heading = "\nExamples:\n";
  const auto at = help.find(heading);
  if (at == std::string::npos) throw std::runtime_error(name + " has no examples");
  return {help.substr(0, at), help.substr(at + heading.size())};
}

class HelpTest : public ShellTest {};
class CompletionTest : public ShellTest {};

TEST_F(HelpTest, FitsEveryCommandIn80Columns) {
  const auto names = all_commands();
  EXPECT_THAT(names, IsSupersetOf({"run", "summary", "completion"}));
  for (const std::string& name : names) {
    EXPECT_EQ(printed_by({"help", name}), printed_by({name, "--help"}));
    for (const std::string& line : lines_of(help_of(name).first))
      EXPECT_LE(columns_of(line), 80U) << name << ": " << line;
  }
}

TEST_F(HelpTest, FindsHelpOfScriptsNextToProgram) {
  for (const std::string name : {"launch", "submit"}) {
    const std::string help = shell("wallheat help " + name).out;
    EXPECT_THAT(help, Mentions({"wallheat " + name, "default"}));
    EXPECT_EQ(help, shell("wallheat " + name + " --help").out);
    for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 80U) << line;
  }
  shell("cp \"$program\" alone");
  EXPECT_THAT(shell("./alone launch", 1).err, Mentions({"launch", "share/wallheat/jobs"}));
}

TEST_F(HelpTest, ShowsCommonOptionsFirst) {
  const std::string help = printed_by({"help", "run"});
  EXPECT_LT(help.find("  -d, --data PLANS"), help.find("--tolerance DEGREES"));
  EXPECT_THAT(help, Mentions("default: 1e-4"));
  const std::string overview = printed_by({});
  EXPECT_THAT(overview, Mentions({"wallheat generate", "wallheat run", "wallheat summary"}));
  const auto is_heading = [](const std::string& line) {
    return line.ends_with(':') && !line.starts_with(' ');
  };
  EXPECT_GT(std::ranges::count_if(lines_of(overview), is_heading), 3);
  EXPECT_EQ(overview, printed_by({"help"}));
  EXPECT_EQ(overview, printed_by({"--help"}));
  EXPECT_THAT(printed_by({"-V"}), StartsWith("wallheat "));
  EXPECT_EQ(printed_by({"-V"}), printed_by({"version"}));
}

/// Creates the inputs of examples that no other example creates.
constexpr const char* before_the_examples = R"(
cp ')" WALLHEAT_CONFIGS R"(/../jobs/examples/flat.png' .
printf 'building_id,mean_temp\n00001,14.5\ntook 3 s\n' | tee job_1.out | sed s/00001/00002/ > job_2.out
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

TEST_F(HelpTest, ShowsExamplesThatRun) {
  Words names = all_commands();
  // The examples of the other commands read the files that these two create.
  std::ranges::stable_partition(names, [](const auto& name) { return name == "run"; });
  std::ranges::stable_partition(names, [](const auto& name) { return name == "generate"; });
  shell(before_the_examples);
  for (const std::string& name : names) {
    std::string examples = help_of(name).second;
    for (std::size_t wrap = 0; (wrap = examples.find(" \\\n", wrap)) != std::string::npos;)
      examples.erase(wrap, 3);
    EXPECT_THAT(lines_of(examples), SizeIs(2)) << name;
    for (const std::string& line : lines_of(examples)) shell(line);
  }
}

/// Returns the words that the program offers at the end of a command line.
Words completed(const std::string& line) {
  return lines_of(
      run_program({"env", "COMP_LINE=" + line, "COMP_POINT=" + std::to_string(line.size()),
                   WALLHEAT_PROGRAM, "complete"})
          .out);
}

TEST_F(CompletionTest, OffersMatchingWords) {
  EXPECT_THAT(completed("wallheat "), IsSupersetOf({"run", "help"}));
  for (const auto& [line, word] : {std::pair{"wallheat sum", "summary"},
                                   {"wallheat run --sav", "--save-fields"},
                                   {"wallheat summary --js", "--json"},
                                   {"wallheat run --solver s", "steady"},
                                   {"wallheat plot a.h5 --cmap vir", "viridis"},
                                   {"wallheat list a.h5 --sort mean", "mean_temp"},
                                   {"wallheat completion z", "zsh"}})
    EXPECT_THAT(completed(line), ElementsAre(word)) << line;
  EXPECT_THAT(completed("wallheat summary --sav"), IsEmpty());
  EXPECT_THAT(completed("wallheat run --data compl"), IsEmpty())
      << "the shell completes names of files";
  EXPECT_THAT(completed("wallheat nonsense --o"), IsEmpty());
}

TEST_F(CompletionTest, PrintsScriptThatCallsProgram) {
  EXPECT_THAT(shell("source <(wallheat completion bash) && complete -p wallheat").out,
              HasSubstr("-C 'wallheat complete' wallheat"));
  for (const std::string name : {"zsh", "fish"}) {
    EXPECT_THAT(shell("wallheat completion " + name + " | tee c").out,
                HasSubstr("wallheat complete"));
    shell("command -v " + name + " > /dev/null || exit 0; " + name + " -n c");
  }
}

}  // namespace
}  // namespace wallheat
