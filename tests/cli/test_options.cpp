#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/commands.hpp"
#include "cli/in_process.hpp"
#include "isolation/task_runner.hpp"
#include "run/run_options.hpp"
#include "solve/solver_settings.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

RunOptions parsed_alone(const Arguments& arguments) {
  Options options("run", arguments);
  return parse_run_options(options);
}

Arguments with_plans(const Arguments& more) {
  Arguments arguments{"--data", "plans", "--out", "results.h5"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}
RunOptions parsed(const Arguments& more) { return parsed_alone(with_plans(more)); }

std::string error_message(const Arguments& arguments) {
  return error_message_of<UsageError>([&] { (void)parsed_alone(arguments); });
}

/// Arguments that are invalid after --data and --out, and the facts of the error message.
struct ErrorCase {
  Arguments arguments;
  Facts facts;
};
void expect_errors(const std::vector<ErrorCase>& cases) {
  for (const auto& [arguments, facts] : cases)
    EXPECT_THAT(error_message(with_plans(arguments)), AllOf(Mentions(facts), Not(HasSubstr("\n"))))
        << testing::PrintToString(arguments);
}

/// Returns the output of --print-config, or nullopt if the command fails.
std::optional<std::string> configuration_of(const std::string& command, Arguments more = {}) {
  more.insert(more.begin(), command);
  more.emplace_back("--print-config");
  const Finished printed = run_here(more);
  return printed.status == 0 ? std::optional(printed.out) : std::nullopt;
}

/// Returns the names of the options in a configuration, also of those that are commented out.
std::vector<std::string> options_in(const std::string& configuration) {
  std::vector<std::string> names;
  std::istringstream lines(configuration);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) continue;
    const std::size_t equals = line.find(" = ");
    const std::size_t begin = line.starts_with('#') ? 1 : 0;
    if (equals != std::string::npos) names.push_back(line.substr(begin, equals - begin));
  }
  return names;
}

TEST(Options, ParsesEveryNotation) {
  const RunOptions options =
      parsed_alone({"-d", "plans", "--out=a=b", "-t3", "--above", "-2.5", "x", "--", "--y"});
  EXPECT_EQ(options.solve.data, "plans");
  EXPECT_EQ(options.out, "a=b");
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.solve.solver.thresholds.above, -2.5);
  EXPECT_THAT(options.ids, ElementsAre("x", "--y"));
  expect_errors({{{"--events"}, {"--events", "FILE"}},
                 {{"--events", "--resume"}, {"--events", "FILE"}},
                 {{"--resume=true"}, {"--resume", "value"}},
                 {{"--spacing", "1", "--spacing", "1"}, {"--spacing"}},
                 {{"-x"}, {"'-x'"}},
                 {{"--tolerence", "1"}, {"--tolerence", "--tolerance"}},
                 {{"-overwrite"}, {"'-overwrite'", "--overwrite"}},
                 {{"--check", "-data", "x"}, {"'-data'", "--data"}},
                 {{"--frobnicate=1"}, {"'--frobnicate'"}},
                 {{"--=plans"}, {"'--'"}}});
}

TEST(Options, NamesValidValuesWhenValueIsInvalid) {
  expect_errors({{{"--tolerance", "-1"}, {"--tolerance", "0", "-1"}},
                 {{"--tolerance", "nan"}, {"--tolerance", "nan"}},
                 {{"--tolerance", "inf"}, {"--tolerance", "inf"}},
                 {{"--tolerance", "100%"}, {"--tolerance", "100%"}},
                 {{"--accuracy", "0"}, {"--accuracy", "'0'"}},
                 {{"--max-iterations", "0"}, {"--max-iterations", "1", "'0'"}},
                 {{"--first", "-2"}, {"--first", "0", "18446744073709551615", "-2"}},
                 {{"--above", "2e300"}, {"--above", "-1e+300", "1e+300", "2e300"}},
                 {{"--device", "gpux"}, {"--device", "auto", "cpu", "'gpux'", "'gpu'"}},
                 {{"--wall", "5"}, {"--wall", "=DEGREES", "'5'"}},
                 {{"--wall", "5=8", "--wall", "5=9"}, {"--wall", "'5=9'"}},
                 {{"--rooms", "--door", "-1"}, {"--door", "0", "10000", "-1"}}});
  expect_errors({{{"--resume", "--overwrite"}, {"--resume", "--overwrite"}},
                 {{"--ids", "f", "10000"}, {"--ids", "ID"}},
                 {{"--door", "4"}, {"--door", "--rooms"}},
                 {{"--solver", "steady", "--device", "gpu"}, {"--solver steady", "--device gpu"}},
                 {{"--solver", "fastforward", "--solver-backend", "reference"},
                  {"--solver-backend reference", "--solver fastforward"}}});
  for (const std::string value : {" x", "x ", "x\t", "a\nb", "a\rb", "\n"})
    expect_errors({{{"--events=" + value}, {"--events", "line breaks"}}});
  for (const Arguments& on_cpu :
       {Arguments{"--solver", "steady"}, {"--solver-backend", "reference"}, {"--norm", "l2"}})
    EXPECT_EQ(parsed(on_cpu).device, DeviceChoice::cpu);
}

TEST(Options, NamesMissingOptionsInOneMessage) {
  EXPECT_THAT(error_message({}), AllOf(Mentions({"--data", "--out"}), Not(HasSubstr("\n"))));
  EXPECT_THAT(error_message({"--data", "", "--out", "y"}),
              AllOf(Mentions("--data"), Not(Mentions("--out"))));
  EXPECT_THAT(error_message_of<UsageError>([] {
                Options options("summary", {"a.h5", "b.h5", "c.h5"});
                (void)summary_command(options);
              }),
              AllOf(Mentions("'b.h5'"), Not(Mentions("a.h5")), Not(Mentions("c.h5"))));
}

TEST(Options, RejectsInvalidValuesForEveryCommand) {
  std::size_t errors = 0;
  for (const std::string& command : all_commands()) {
    for (const std::string& option : options_in(configuration_of(command).value())) {
      const Finished output = run_here({command, "--" + option + "=two~", "--print-config"});
      if (output.status == 0) continue;  // the option takes any text
      ++errors;
      EXPECT_EQ(output.status, exit_usage) << command;
      EXPECT_EQ(std::ranges::count(output.err, '\n'), 1) << output.err;
      // A flag does not take a value; another option does not take this one.
      EXPECT_THAT(output.err, AllOf(Mentions("--" + option),
                                    testing::AnyOf(Mentions("'two~'"), Mentions("value"))))
          << command;
    }
  }
  EXPECT_GT(errors, 90U);
}

TEST(ConfigurationFile, YieldsToCommandLine) {
  const TemporaryDirectory directory;
  const std::string file = directory / "run.cfg";
  std::ofstream(file) << "\xEF\xBB\xBF# a comment\r\n  data=plans\r\n"
                         "out = a # \"b\"\n\t#id = 7\nthreads = 3\ntolerance = 0.5\nresume = true";
  const RunOptions options = parsed_alone({"--config", file, "--tolerance", "0.25"});
  EXPECT_EQ(options.solve.data, "plans");
  EXPECT_EQ(options.out, "a # \"b\"") << "a # within a value does not begin a comment";
  EXPECT_TRUE(options.ids.empty());
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.solve.solver.limits.tolerance, 0.25);
  EXPECT_TRUE(options.resume);
  for (const auto& [line, facts] :
       {std::pair<std::string, Facts>{"data plans", {"line 2", "'data plans'"}},
        {"-d = plans", {"'-d'"}},
        {"help = true", {"'help'"}},
        {"tolerence = 1", {"'tolerence'", "'tolerance'"}},
        {"threads = 2", {"threads"}},
        {"resume = maybe", {"resume", "true", "false", "'maybe'"}},
        {"config = b.cfg", {"config", "configuration file"}}}) {
    std::ofstream(file) << "threads = 1\n" << line << "\n";
    EXPECT_THAT(error_message({"--config", file}), AllOf(StartsWith(file), Mentions(facts)));
  }
  for (const std::string& unreadable :
       {(directory / "none.cfg").string(), directory.path().string()})
    EXPECT_THAT(error_message({"--config", unreadable}), Mentions(unreadable));
}

TEST(ConfigurationFile, ReadsPipes) {
  const TemporaryDirectory directory;
  const auto output = run_script(directory.path(), WALLHEAT_PROGRAM,
                                 "wallheat run --print-config --config <(echo 'data = a#b');"
                                 "echo 'out = c' | wallheat run --print-config -c /dev/stdin");
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out, AllOf(HasSubstr("\ndata = a#b\n"), HasSubstr("\nout = c\n")));
  EXPECT_THAT(error_message({"--config", "/dev/zero"}), Mentions("/dev/zero"));
}

TEST(ConfigurationFile, RoundTripsValuesOfAnyBytes) {
  const std::vector<std::string> ids{"x \"y\"",  "#",    "# all", "x #y",        "\"q\"",    "\\",
                                     "a\\nb",    "=",    "a = b", "[s]",         "\xC3\xA9", "--y",
                                     "\xFF\xFE", "\x1b", "%v%",   "\xEF\xBB\xBF"};
  Arguments arguments =
      with_plans({"--tolerance", "0.5", "--save-fields", "--notify=a secret", "--events", "file"});
  for (const std::string& id : ids) arguments.push_back("--id=" + id);
  const RunOptions options = parsed_alone(arguments);
  const TemporaryDirectory directory;
  const std::string file = directory / "again.cfg";
  for (const std::string& text :
       {options.configuration, configuration_of("run", arguments).value()}) {
    std::ofstream(file, std::ios::binary) << text;
    const RunOptions again = parsed_alone({"--config", file});
    EXPECT_EQ(again.configuration, options.configuration);
    EXPECT_EQ(again.ids, ids);
    EXPECT_EQ(again.solve.solver.limits.tolerance, 0.5);
  }
  for (const std::string& text : {options.configuration, options.command_line})
    EXPECT_THAT(text, AllOf(Not(HasSubstr("secret")), Not(HasSubstr("file"))))
        << "options of this session alone are not stored";
}

TEST(Options, RequiresEqualValuesInAllRanksUnlessRanksMayDiffer) {
  const auto shared = [](const Arguments& more) { return parsed(more).settings; };
  const auto defaults = shared({});
  for (const Arguments& own : {Arguments{"--notify", "a"},
                               {"--events", "a"},
                               {"--progress", "none"},
                               {"--log-level", "off"},
                               {"--device", "cpu"},
                               {"--threads", "1"},
                               {"--isa", "baseline"}})
    EXPECT_EQ(shared(own), defaults) << own[0];
  EXPECT_EQ(shared({"--tolerance", "0.5"}).at("tolerance"), "0.5");
  EXPECT_EQ(shared({"--wall", "5=8", "--wall", "25=22"}).at("wall"), "5=8, 25=22");
  EXPECT_EQ(shared({"--spacing", "1"}), defaults) << "each rank reads the spacing of its plans";
}

TEST(SolverSettings, ReachSolverProcesses) {
  const SolveConfig sent =
      parsed({"--above",     "-2.5",        "--below",    "-3",     "--wall",
              "25=22",       "--rooms",     "--door",     "7",      "--solver",
              "fastforward", "--tolerance", "0.5",        "--norm", "l2",
              "--spacing",   "0.02",        "--accuracy", "1e-7",   "--max-iterations",
              "7",           "--isa",       "baseline"})
          .solve;
  const SolveConfig received = decode_solve_config(encode(sent));
  std::size_t settings = 0;
  for_each_setting(
      [&](const SolverSetting& setting, const auto& expected, const auto& found,
          const auto& unset) {
        EXPECT_TRUE(found == expected) << setting.name;
        settings += expected == unset ? 0 : 1;
      },
      sent.solver, received.solver, SolverOptions());
  EXPECT_GE(settings, 10U) << "the options above are not the defaults";
  EXPECT_EQ(make_solver_options(sent.solver.settings()).settings(), sent.solver.settings());
}

TEST(SolverSettings, RecordsOnlyOptionsThatAffectResults) {
  const auto settings = [](const Arguments& more) { return parsed(more).solve.solver.settings(); };
  const Attributes defaults = settings({});
  for (const Arguments& same : {Arguments{"--solver-backend", "reference"},
                                {"--isa", "baseline"},
                                {"--accuracy", "1e-7"},
                                {"--above", "18", "--below", "15", "--door", "auto"}})
    EXPECT_EQ(settings(same), defaults) << same[0];
  for (const Arguments& other : {Arguments{"--tolerance", "1e-5"},
                                 {"--max-iterations", "1"},
                                 {"--norm", "l2"},
                                 {"--spacing", "0.02"},
                                 {"--solver", "fastforward"},
                                 {"--solver", "steady"}})
    EXPECT_NE(settings(other), defaults) << other[0];
  const Attributes steady = settings({"--solver", "steady"});
  EXPECT_NE(settings({"--solver", "steady", "--accuracy", "1e-7"}), steady);
  EXPECT_EQ(settings({"--solver", "steady", "--tolerance", "1e-5"}), steady);

  const Attributes asked =
      settings({"--above", "-2.5", "--wall", "25=22", "--wall", "5=8", "--rooms", "--door", "7"});
  EXPECT_EQ(asked.at("above"), "-2.5");
  EXPECT_EQ(asked.at("wall"), "5.0=8.0 25.0=22.0");
  EXPECT_EQ(asked.at("rooms_door"), "7");
  EXPECT_EQ(asked.at("below"), "15.0") << "columns are counted by it, so its default is recorded";
  EXPECT_FALSE(asked.contains("spacing")) << "it has its default";
  EXPECT_EQ(recorded_solver("FILE", asked).settings(), asked);
  EXPECT_EQ(recorded_solver("FILE", defaults).settings(), defaults);
  for (const auto& [name, wrong] :
       {std::pair("wall", "5"), {"above", "nan"}, {"rooms_door", "-2"}, {"tolerance", "-1.0"}}) {
    Attributes damaged = asked;
    damaged[name] = wrong;
    EXPECT_THAT(error_message_of<RunError>([&] { (void)recorded_solver("FILE", damaged); }),
                Mentions({"FILE", name, wrong}));
  }
  Attributes incomplete = asked;
  incomplete.erase("below");
  EXPECT_THAT(error_message_of<RunError>([&] { (void)recorded_thresholds("FILE", incomplete); }),
              Mentions({"FILE", "below"}));
}

}  // namespace
}  // namespace wallheat
