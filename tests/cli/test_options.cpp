#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/commands.hpp"
#include "cli/in_process.hpp"
#include "run/run_options.hpp"
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

std::string refusal(const Arguments& arguments) {
  return error_message_of<UsageError>([&] { (void)parsed_alone(arguments); });
}
/// Refusals of what is given beside --data and --out, each with a part of its sentence.
void expect_refused(const std::vector<std::pair<Arguments, std::string>>& refusals) {
  for (const auto& [more, sentence] : refusals)
    EXPECT_THAT(refusal(with_plans(more)), HasSubstr(sentence)) << testing::PrintToString(more);
}

/// What a command prints of its options; nothing where it refuses them.
std::optional<std::string> configuration_of(const std::string& command, Arguments more = {}) {
  more.insert(more.begin(), command);
  more.emplace_back("--print-config");
  const Finished printed = run_here(more);
  return printed.status == 0 ? std::optional(printed.out) : std::nullopt;
}

/// The words before " = " of a configuration, and before its placeholders.
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

TEST(Options, are_given_as_people_type_them) {
  const RunOptions options =
      parsed_alone({"-d", "plans", "--out=a=b", "-t3", "--above", "-2.5", "x", "--", "--y"});
  EXPECT_EQ(options.job.data, "plans");
  EXPECT_EQ(options.out, "a=b");
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.job.solver.thresholds.above, -2.5);
  EXPECT_THAT(options.ids, ElementsAre("x", "--y"));
  expect_refused({{{"--events"}, "--events needs a value, FILE"},
                  {{"--events", "--resume"}, "--events needs a value"},
                  {{"--resume=true"}, "--resume takes no value"},
                  {{"--spacing", "1", "--spacing", "1"}, "--spacing is given twice"},
                  {{"-x"}, "there is no option '-x'"},
                  {{"--tolerence", "1"}, "did you mean '--tolerance'?"},
                  {{"-overwrite"}, "there is no option '-overwrite'; did you mean '--overwrite'?"},
                  {{"--check", "-data", "x"}, "there is no option '-data'; did you mean '--data'?"},
                  {{"--frobnicate=1"}, "there is no option '--frobnicate'"},
                  {{"--=plans"}, "there is no option '--'"}});
}

TEST(Options, take_the_values_that_make_sense_and_name_them) {
  expect_refused(
      {{{"--tolerance", "-1"}, "--tolerance must be a number of at least 0, not '-1'"},
       {{"--tolerance", "nan"}, "not 'nan'"},
       {{"--tolerance", "inf"}, "not 'inf'"},
       {{"--tolerance", "100%"}, "not '100%'"},
       {{"--accuracy", "0"}, "--accuracy must be a number above 0, not '0'"},
       {{"--max-iterations", "0"}, "a whole number of at least 1"},
       {{"--first", "-2"}, "--first must be a whole number from 0 to 18446744073709551615"},
       {{"--above", "2e300"}, "--above must be a number from -1e+300 to 1e+300"},
       {{"--device", "gpux"}, "one of auto, cpu, gpu, not 'gpux'; did you mean 'gpu'?"},
       {{"--wall", "5"}, "--wall must be KIND=DEGREES"},
       {{"--wall", "5=8", "--wall", "5=9"}, "each KIND once"},
       {{"--rooms", "--door", "-1"}, "from 0 to 10000, not '-1'"}});
  expect_refused({{{"--resume", "--overwrite"}, "--resume and --overwrite exclude each other"},
                  {{"--ids", "f", "10000"}, "--ids and ID exclude each other"},
                  {{"--door", "4"}, "--door goes with --rooms"},
                  {{"--solver", "steady", "--device", "gpu"},
                   "--solver steady runs on the CPU, so leave out --device gpu"},
                  {{"--solver", "fastforward", "--solver-backend", "reference"},
                   "so leave out --solver fastforward"}});
  for (const std::string value : {" x", "x ", "x\t", "a\nb", "a\rb", "\n"})
    expect_refused({{{"--events=" + value}, "a value has no line break"}});
  for (const Arguments& on_cpu :
       {Arguments{"--solver", "steady"}, {"--solver-backend", "reference"}, {"--norm", "l2"}})
    EXPECT_EQ(parsed(on_cpu).device, DeviceChoice::cpu);
}

TEST(Options, that_are_missing_are_named_in_one_sentence) {
  EXPECT_EQ(refusal({}), "--data and --out are missing");
  EXPECT_EQ(refusal({"--data", "", "--out", "y"}), "--data is missing");
  EXPECT_EQ(error_message_of<UsageError>([] {
              Options options("summary", {"a.h5", "b.h5", "c.h5"});
              (void)summary_command(options);
            }),
            "'b.h5' stands without the name of an option");
}

TEST(Options, of_all_commands_say_what_they_take) {
  std::size_t refused = 0;
  for (const std::string& command : all_commands()) {
    for (const std::string& option : options_in(configuration_of(command).value())) {
      const Finished output = run_here({command, "--" + option + "=two~", "--print-config"});
      if (output.status == 0) continue;  // it takes words
      ++refused;
      EXPECT_THAT(output.err, testing::ContainsRegex("--" + option +
                                                     " (must be .*, not 'two~'|takes no value)"))
          << command;
    }
  }
  EXPECT_GT(refused, 90U);
}

TEST(Configurations, come_after_the_command_line) {
  const TemporaryDirectory directory;
  const std::string file = directory / "run.cfg";
  std::ofstream(file) << "\xEF\xBB\xBF# a comment\r\n  data=plans\r\n"
                         "out = a # \"b\"\n\t#id = 7\nthreads = 3\ntolerance = 0.5\nresume = true";
  const RunOptions options = parsed_alone({"--config", file, "--tolerance", "0.25"});
  EXPECT_EQ(options.job.data, "plans");
  EXPECT_EQ(options.out, "a # \"b\"") << "a # within a value is a part of it";
  EXPECT_TRUE(options.ids.empty());
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.job.solver.limits.tolerance, 0.25);
  EXPECT_TRUE(options.resume);
  for (const auto& [line, sentence] :
       {std::pair{"data plans", "line 2, 'data plans': it is neither 'name = value' nor a comment"},
        {"-d = plans", "there is no option '-d'"},
        {"help = true", "there is no option 'help'"},
        {"tolerence = 1", "did you mean 'tolerance'?"},
        {"threads = 2", "--threads is given twice"},
        {"resume = maybe", "--resume must be one of true, false"},
        {"config = b.cfg", "cannot name another one"}}) {
    std::ofstream(file) << "threads = 1\n" << line << "\n";
    EXPECT_THAT(refusal({"--config", file}), AllOf(StartsWith(file + ": "), HasSubstr(sentence)));
  }
  EXPECT_THAT(refusal({"--config", (directory / "none.cfg").string()}), HasSubstr("none.cfg"));
  EXPECT_THAT(refusal({"--config", directory.path().string()}), HasSubstr("cannot be read"));
}

TEST(Configurations, come_from_pipes_and_end) {
  const TemporaryDirectory directory;
  const auto output = run_script(directory.path(), WALLHEAT_PROGRAM,
                                 "wallheat run --print-config --config <(echo 'data = a#b');"
                                 "echo 'out = c' | wallheat run --print-config -c /dev/stdin");
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out, AllOf(HasSubstr("\ndata = a#b\n"), HasSubstr("\nout = c\n")));
  EXPECT_THAT(refusal({"--config", "/dev/zero"}), HasSubstr("/dev/zero is no configuration file"));
}

TEST(Configurations, are_printed_and_recorded_with_values_of_any_letters) {
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
    EXPECT_EQ(again.job.solver.limits.tolerance, 0.5);
  }
  for (const std::string& text : {options.configuration, options.command_line, options.settings})
    EXPECT_THAT(text, AllOf(Not(HasSubstr("secret")), Not(HasSubstr("file"))))
        << "what concerns this session alone is not stored";
}

TEST(SolverSettings, name_what_decides_the_answers_and_not_how_fast_they_come) {
  const auto settings = [](const Arguments& more) { return parsed(more).job.solver.settings(); };
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
  EXPECT_FALSE(asked.contains("below")) << "that is the study's";
  EXPECT_EQ(recorded_solver("FILE", asked).settings(), asked);
  EXPECT_EQ(recorded_solver("FILE", defaults).settings(), defaults);
  for (const auto& [name, wrong] :
       {std::pair("wall", "5"), {"above", "nan"}, {"rooms_door", "-2"}, {"tolerance", "-1.0"}}) {
    Attributes damaged = asked;
    damaged[name] = wrong;
    EXPECT_EQ(error_message_of<RunError>([&] { (void)recorded_solver("FILE", damaged); }),
              std::string("FILE: its ") + name + " is '" + wrong + "'");
  }
}

}  // namespace
}  // namespace wallheat
