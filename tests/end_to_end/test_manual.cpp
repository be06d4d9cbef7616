#include <fstream>
#include <sstream>

#include "support/shell_test.hpp"

// Manual pages and completion, as the tools that they are for take them.

namespace wallheat {
namespace {

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
  return names;
}

bool is_here(const std::string& tool) {
  return run_program({"sh", "-c", "command -v " + tool}).status == 0;
}

class Manual : public ShellTest {
 protected:
  std::string saved(const std::string& name, const std::vector<std::string>& words) {
    std::vector<std::string> command{wallheat_program};
    command.insert(command.end(), words.begin(), words.end());
    const Finished made = run_program(command);
    EXPECT_EQ(made.status, 0) << made.err;
    const auto file = directory_ / name;
    std::ofstream(file) << made.out;
    return file.string();
  }
};

TEST_F(Manual, has_a_page_of_each_command_that_names_its_options) {
  const auto names = command_names();
  EXPECT_THAT(names, IsSupersetOf({"run", "summary", "manual", "completion"}));
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string page = file_text(saved(name, {"manual", name}));
    std::size_t options = 0;
    const std::string help = run_program({wallheat_program, "help", name, "--all"}).out;
    for (const std::string& line : lines_of(help.substr(0, help.find("\nExamples:")))) {
      const auto dashes = line.find("--");
      const auto first = line.find_first_not_of(' ');
      if (dashes == std::string::npos || first == std::string::npos || line[first] != '-') continue;
      std::string option = line.substr(dashes, line.find_first_of(" =[", dashes) - dashes);
      for (auto at = option.find('-'); at != std::string::npos; at = option.find('-', at + 2))
        option.insert(at, "\\");
      EXPECT_THAT(page, HasSubstr("\\fB" + option + "\\fR"));
      ++options;
    }
    EXPECT_GE(options, 3U) << "--help, --config and --print-config at least";
    EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS"));
  }
  EXPECT_EQ(run_program({wallheat_program, "manual", "rnu"}).status, 2);
}

TEST_F(Manual, help_is_short_and_tells_where_the_rest_is) {
  const std::string help = run_program({wallheat_program, "help", "run"}).out;
  EXPECT_THAT(help,
              testing::AllOf(HasSubstr("--solver NAME"), Not(HasSubstr("--tolerance DEGREES")),
                             HasSubstr("Also: --tolerance, "), HasSubstr("help run --all")));
  EXPECT_THAT(run_program({wallheat_program, "help", "run", "--all"}).out,
              testing::AllOf(HasSubstr("--tolerance DEGREES"), HasSubstr("--print-config")));
  EXPECT_EQ(run_program({wallheat_program, "help", "run", "--most"}).status, 2);
  const std::string overview = run_program({wallheat_program, "help"}).out;
  for (const char* group :
       {"\nrun:\n", "\nlook at results:\n", "\ncluster:\n", "\nmeasure:\n", "\nmore:\n"})
    EXPECT_THAT(overview, HasSubstr(group));
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

TEST_F(Manual, examples_run_as_they_stand) {
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

TEST_F(Manual, writes_all_pages_for_an_installation) {
  ASSERT_EQ(run_program({wallheat_program, "manual", "--all", directory_.path().string()}).status,
            0);
  EXPECT_EQ(file_text(directory_ / "wallheat-run.1"),
            run_program({wallheat_program, "manual", "run"}).out);
  EXPECT_EQ(file_text(directory_ / "wallheat.1"), run_program({wallheat_program, "manual"}).out);
  const auto pages = std::filesystem::directory_iterator(directory_.path());
  EXPECT_EQ(std::distance(begin(pages), end(pages)), command_names().size() + 1);
}

TEST_F(Manual, is_formatted_without_a_warning) {
  if (!is_here("groff")) GTEST_SKIP() << "groff is not installed (groff-base)";
  auto names = command_names();
  names.emplace_back();  // the program's own page
  for (const std::string& name : names) {
    const std::string page = saved("page", {"manual", name});
    const Finished shown = run_program({"groff", "-man", "-Tutf8", "-ww", "-rLL=200n", page});
    EXPECT_EQ(shown.status, 0);
    EXPECT_THAT(shown.err, IsEmpty()) << name;
    EXPECT_THAT(shown.out, Not(HasSubstr("\\"))) << name;
  }
}

TEST_F(Manual, completes_commands_options_and_files_in_bash) {
  const std::string script = saved("completion", {"completion", "bash"});
  const auto completed = [&](const std::string& words) {
    const std::string line =
        "source '" + script + "'; cd '" + directory_.path().string() + "'; COMP_WORDS=(" + words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _wallheat; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const Finished found = run_program({"bash", "-c", line});
    EXPECT_EQ(found.err, "");
    return lines_of(found.out);
  };
  EXPECT_THAT(completed("wallheat sum"), ElementsAre("summary"));
  EXPECT_THAT(completed("wallheat run --sav"), ElementsAre("--save-fields"));
  EXPECT_THAT(completed("wallheat summary --sav"), ElementsAre(""));
  EXPECT_THAT(completed("wallheat run --data compl"), ElementsAre("completion"));
  EXPECT_THAT(completed("wallheat run --solver s"), ElementsAre("steady"));
  EXPECT_THAT(completed("wallheat plot a.h5 --cmap vir"), ElementsAre("viridis"));
  EXPECT_THAT(completed("wallheat list a.h5 --sort mean"), ElementsAre("mean_temp"));
  EXPECT_THAT(completed("wallheat list a.h5 -f c"), ElementsAre("csv"));
  // A refusal names all values that are taken: no others are offered.
  for (const std::string option : {"solver", "norm", "solver-backend", "device", "progress"}) {
    const std::string refusal =
        run_program({wallheat_program, "run", "--data", "x", "--out", "x.h5", "--" + option, "?"})
            .err;
    std::string taken;
    for (const std::string& word : completed("wallheat run --" + option + " ''"))
      taken += (taken.empty() ? "" : ", ") + word;
    EXPECT_THAT(refusal, HasSubstr("must be one of " + taken + ", not '?'"));
  }
  EXPECT_THAT(completed("wallheat manual summ"), ElementsAre("summary"));
  for (const char* name : {"a.h5", "a.csv", "a.txt"}) std::ofstream(directory_ / name) << "x";
  EXPECT_THAT(completed("wallheat summary a"), ElementsAre("a.h5"));
  EXPECT_THAT(completed("wallheat compare a"), ElementsAre("a.h5", "a.csv"));
  EXPECT_THAT(completed("wallheat run --ids a"),
              testing::UnorderedElementsAre("a.h5", "a.csv", "a.txt"));
}

TEST_F(Manual, gives_other_shells_what_they_understand) {
  const std::string zsh = saved("_wallheat", {"completion", "zsh"});
  const std::string fish = saved("wallheat.fish", {"completion", "fish"});
  for (const std::string& name : command_names()) {
    EXPECT_THAT(file_text(zsh), HasSubstr("'" + name + ":"));
    EXPECT_THAT(file_text(fish), HasSubstr("-a " + name + " -d"));
  }
  EXPECT_EQ(run_program({wallheat_program, "completion", "tcsh"}).status, 2);
  bool tried = false;
  for (const auto& [shell, file] : {std::pair("zsh", zsh), std::pair("fish", fish)}) {
    if (!is_here(shell)) continue;
    tried = true;
    const Finished parsed = run_program({shell, "-n", file});
    EXPECT_EQ(parsed.status, 0) << parsed.err;
  }
  if (!tried) GTEST_SKIP() << "neither zsh nor fish is installed: not parsed by them";
}

}  // namespace
}  // namespace wallheat
