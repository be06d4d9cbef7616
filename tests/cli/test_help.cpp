#include <algorithm>
#include <sstream>

#include "cli/in_process.hpp"
#include "support/shell_test.hpp"

// What the program says of itself, and what shells ask it.

namespace wallheat {
namespace {

using testing::IsSupersetOf;
using Words = std::vector<std::string>;

std::string printed_by(const Words& words) { return run_here(words).out; }

/// The help of a command up to its examples, and these.
std::pair<std::string, std::string> help_of(const std::string& name) {
  const std::string help = printed_by({"help", name});
  const std::string heading = "\nExamples:\n";
  const auto at = help.find(heading);
  if (at == std::string::npos) throw std::runtime_error(name + " has no examples");
  return {help.substr(0, at), help.substr(at + heading.size())};
}

class Help : public ShellTest {};

TEST_F(Help, of_every_command_fits_80_columns) {
  const auto names = all_commands();
  EXPECT_THAT(names, IsSupersetOf({"run", "summary", "completion"}));
  for (const std::string& name : names) {
    EXPECT_EQ(printed_by({"help", name}), printed_by({name, "--help"}));
    for (const std::string& line : lines_of(help_of(name).first))
      EXPECT_LE(columns_of(line), 80U) << name << ": " << line;
  }
}

TEST_F(Help, of_the_scripts_is_found_beside_the_program) {
  for (const std::string name : {"launch", "submit"}) {
    const std::string help = shell("wallheat help " + name).out;
    EXPECT_THAT(help, AllOf(HasSubstr("wallheat " + name + " ["), HasSubstr("(default: ")));
    EXPECT_EQ(help, shell("wallheat " + name + " --help").out);
    for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 80U) << line;
  }
  shell("cp \"$program\" alone");
  EXPECT_THAT(shell("./alone launch", 1).err, HasSubstr("install wallheat with its scripts"));
}

TEST_F(Help, begins_with_what_is_changed_most_and_shows_defaults) {
  const std::string help = printed_by({"help", "run"});
  EXPECT_LT(help.find("  -d, --data PLANS"), help.find("--tolerance DEGREES"));
  EXPECT_THAT(help, HasSubstr("[default: 1e-4]"));
  const std::string alone = printed_by({});
  EXPECT_THAT(alone, AllOf(HasSubstr("\nlook at results:\n"), HasSubstr("\nTo begin:\n")));
  EXPECT_EQ(alone, printed_by({"help"}));
  EXPECT_EQ(alone, printed_by({"--help"}));
  EXPECT_THAT(printed_by({"-V"}), StartsWith("wallheat "));
  EXPECT_EQ(printed_by({"-V"}), printed_by({"version"}));
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
  Words names = all_commands();
  // The others use what these make.
  std::ranges::stable_partition(names, [](const auto& name) { return name == "run"; });
  std::ranges::stable_partition(names, [](const auto& name) { return name == "generate"; });
  shell(before_the_examples);
  for (const std::string& name : names) {
    std::string examples = help_of(name).second;
    for (std::size_t fold = 0; (fold = examples.find(" \\\n", fold)) != std::string::npos;)
      examples.erase(fold, 3);
    EXPECT_THAT(lines_of(examples), SizeIs(2)) << name;
    for (const std::string& line : lines_of(examples)) shell(line);
  }
}

/// What the program offers where this command line ends.
Words completed(const std::string& line) {
  return lines_of(
      run_program({"env", "COMP_LINE=" + line, "COMP_POINT=" + std::to_string(line.size()),
                   WALLHEAT_PROGRAM, "complete"})
          .out);
}

TEST(Completion, offers_commands_options_and_words) {
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
  EXPECT_THAT(completed("wallheat run --data compl"), IsEmpty()) << "a file, which the shell knows";
  EXPECT_THAT(completed("wallheat nonsense --o"), IsEmpty());
}

TEST_F(Help, teaches_shells_to_ask_the_program) {
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
