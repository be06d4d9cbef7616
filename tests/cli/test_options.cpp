#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/commands.hpp"
#include "cli/run_option_parser.hpp"
#include "run/configuration_file.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

Arguments with_plans(const Arguments& more) {
  Arguments arguments{"--data", "plans", "--out", "results.h5"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

RunOptions parsed_alone(const Arguments& arguments) {
  Options options("run", arguments);
  return parse_run_options(options);
}

RunOptions parsed(const Arguments& more) { return parsed_alone(with_plans(more)); }

std::string refusal(const Arguments& arguments) {
  return refusal_of<UsageError>([&] { (void)parsed_alone(arguments); });
}

/// Refusals of what is given beside --data and --out, each with a part of its sentence.
void expect_refused(const std::vector<std::pair<Arguments, std::string>>& refusals) {
  for (const auto& [more, sentence] : refusals)
    EXPECT_THAT(refusal(with_plans(more)), HasSubstr(sentence)) << testing::PrintToString(more);
}

TEST(RunOptions, have_the_defaults_of_the_reference) {
  const RunOptions options = parsed({});
  EXPECT_EQ(options.job.solver.limits.tolerance, 1e-4);
  EXPECT_EQ(options.job.solver.limits.max_iterations, 20000);
  EXPECT_EQ(options.job.solver.isa, available_isas().back());
  EXPECT_FALSE(options.job.solver.reference);
  EXPECT_FALSE(options.job.save_fields);
  EXPECT_EQ(options.device, DeviceChoice::automatic);
}

TEST(RunOptions, stand_in_a_file_as_well_and_the_command_line_comes_first) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "run.cfg")
      << "# a comment\ntolerance = 0.5\nmax-iterations = 7\nsave-fields = true\n";
  const RunOptions options =
      parsed({"--config", (directory / "run.cfg").string(), "--tolerance", "0.25"});
  EXPECT_EQ(options.job.solver.limits.tolerance, 0.25);
  EXPECT_EQ(options.job.solver.limits.max_iterations, 7);
  EXPECT_TRUE(options.job.save_fields);
}

TEST(RunOptions, of_a_file_cannot_name_another_file) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a.cfg") << "config = b.cfg\n";
  EXPECT_THAT(refusal({"--config", (directory / "a.cfg").string()}),
              AllOf(HasSubstr("a.cfg"), HasSubstr("cannot name another")));
}

TEST(RunOptions, of_a_campaign_are_ready_to_use) {
  const RunOptions options = parsed({"--config", WALLHEAT_CONFIGS "/many-buildings.cfg"});
  EXPECT_TRUE(options.resume);
  EXPECT_TRUE(options.job.save_fields);
}

TEST(RunOptions, are_recorded_in_the_form_of_a_configuration_file) {
  const RunOptions options = parsed({"--tolerance", "0.5", "--save-fields", "--id=x \"y\"",
                                     "--id=#", "--notify=a secret", "--events", "file"});
  const TemporaryDirectory directory;
  std::ofstream(directory / "again.cfg") << options.configuration;
  const RunOptions again = parsed_alone({"--config", (directory / "again.cfg").string()});
  EXPECT_EQ(again.configuration, options.configuration);
  EXPECT_THAT(again.ids, ElementsAre("x \"y\"", "#"));
  EXPECT_EQ(again.job.solver.limits.tolerance, 0.5);
  for (const std::string& text : {options.configuration, options.command_line, options.settings})
    EXPECT_THAT(text, AllOf(Not(HasSubstr("secret")), Not(HasSubstr("file"))))
        << "what concerns this session alone is not stored";
}

/// Stdout of a command that takes these arguments; nothing where it refuses them.
std::optional<std::string> printed_by(const std::string& command, Arguments more) {
  more.insert(more.begin(), command);
  more.emplace_back("--print-config");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = app_main(more);
  (void)testing::internal::GetCapturedStderr();
  const std::string out = testing::internal::GetCapturedStdout();
  return status == 0 ? std::optional(out) : std::nullopt;
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

std::vector<std::string> all_commands() {
  testing::internal::CaptureStdout();
  EXPECT_EQ(app_main({"help"}), 0);
  std::istringstream overview(testing::internal::GetCapturedStdout());
  std::vector<std::string> commands;
  for (std::string line; std::getline(overview, line);)
    if (line.starts_with("  ") && !line.starts_with("   "))
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  // These become scripts.
  std::erase_if(commands, [](const auto& name) { return name == "launch" || name == "submit"; });
  return commands;
}

TEST(Options, that_take_no_word_say_what_they_take) {
  std::size_t refused = 0;
  for (const std::string& command : all_commands()) {
    for (const std::string& option : options_in(printed_by(command, {}).value())) {
      testing::internal::CaptureStdout();
      testing::internal::CaptureStderr();
      const int status = app_main({command, "--" + option + "=two~", "--print-config"});
      (void)testing::internal::GetCapturedStdout();
      const std::string told = testing::internal::GetCapturedStderr();
      if (status == 0) continue;  // it takes words
      ++refused;
      EXPECT_THAT(told, AllOf(HasSubstr("--" + option),
                              testing::AnyOf(HasSubstr("must be a whole number up to "),
                                             HasSubstr("must be a whole number from 0 to "),
                                             HasSubstr("must be a number, not 'two~'"),
                                             HasSubstr("does not take any arguments"),
                                             HasSubstr("Valid choices are"))))
          << command;
    }
  }
  EXPECT_GT(refused, 90U);
}

TEST(Configurations, of_all_commands_keep_values_of_any_letters) {
  const TemporaryDirectory directory;
  const std::string file = (directory / "a.cfg").string();
  const std::vector<std::string> values{"pl#2", "# all",    "x #y",     "\"q\"",       "a\"b",
                                        "\"",   "\\",       "a\\nb",    "=",           "a = b",
                                        "[s]",  "\xC3\xA9", "\xFF\xFE", "%value%",     "'",
                                        "-x",   "--y",      "\x1b",     "\xEF\xBB\xBF"};
  std::size_t tried = 0;
  for (const std::string& command : all_commands()) {
    const auto usual = printed_by(command, {});
    ASSERT_TRUE(usual) << command;
    EXPECT_THAT(*usual, Not(HasSubstr("(="))) << command;
    std::vector<std::string> texts;  // the options that take no numbers
    for (const std::string& option : options_in(*usual))
      if (printed_by(command, {"--" + option + "=pl#2"})) texts.push_back(option);
    for (const std::string& value : values) {
      SCOPED_TRACE(testing::Message() << command << " '" << value << "'");
      Arguments given;
      for (const std::string& option : texts) given.push_back("--" + option + "=" + value);
      const auto printed = printed_by(command, given);
      ASSERT_TRUE(printed);
      std::vector<std::string> found;
      for (const Setting& setting : settings_in(*printed)) {
        EXPECT_EQ(setting.value, value) << setting.name;
        found.push_back(setting.name);
      }
      EXPECT_EQ(found, texts);
      std::ofstream(file, std::ios::binary) << *printed;
      EXPECT_EQ(printed_by(command, {"--config", file}), printed);
      tried += texts.size();
    }
  }
  EXPECT_GT(tried, 2000U);
  EXPECT_THAT(*printed_by("generate", {"--seed", "7"}), HasSubstr("\nseed = 7\n"));
}

TEST(Configurations, refuse_values_that_no_line_holds) {
  for (const std::string value : {" x", "x ", "x\t", "a\nb", "a\rb", "\n"})
    expect_refused(
        {{{"--events=" + value}, "--events"}, {{"--id=" + value}, "a value has no line break"}});
}

TEST(Configurations, have_comments_and_blanks_as_people_write_them) {
  const TemporaryDirectory directory;
  const std::string file = (directory / "a.cfg").string();
  std::ofstream(file) << "\xEF\xBB\xBF# a comment\r\n  data=plans\r\n"
                         "out = a # \"b\"\n\t#id = 7\nthreads = 3";
  const RunOptions options = parsed_alone({"--config", file});
  EXPECT_EQ(options.job.data, "plans");
  EXPECT_EQ(options.out, "a # \"b\"") << "a # within a value is a part of it";
  EXPECT_TRUE(options.ids.empty());
  EXPECT_EQ(options.threads, 3);
  const auto refused = [&](const std::string& text) {
    std::ofstream(file) << "threads = 1\n" << text << "\n";
    return refusal({"--config", file});
  };
  EXPECT_THAT(refused("data plans"),
              AllOf(HasSubstr("line 2"), HasSubstr("neither 'name = value' nor a comment")));
  EXPECT_THAT(refused("[run]"), HasSubstr("neither 'name = value' nor a comment"));
  EXPECT_THAT(refused("-d = plans"), HasSubstr("there is no option '-d'"));
}

TEST(Configurations, come_from_pipes_and_end) {
  const TemporaryDirectory directory;
  const auto told = run_script(directory.path(), WALLHEAT_PROGRAM,
                               "wallheat run --print-config --config <(echo 'data = a#b');"
                               "echo 'out = c' | wallheat run --print-config -c /dev/stdin");
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("\ndata = a#b\n"), HasSubstr("\nout = c\n")));
  const auto endless = run_program({WALLHEAT_PROGRAM, "run", "--config", "/dev/zero"});
  EXPECT_EQ(endless.status, 2);
  EXPECT_THAT(endless.err, HasSubstr("/dev/zero is no configuration file"));
}

TEST(RunOptions, refuse_what_makes_no_sense) {
  const TemporaryDirectory directory;
  expect_refused({{{"--tolerance", "-1"}, "--tolerance"},
                  {{"--tolerance", "nan"}, "--tolerance"},
                  {{"--tolerance", "warm"}, "tolerance"},
                  {{"--max-iterations", "0"}, "--max-iterations"},
                  {{"--threads", "-2"}, "--threads"},
                  {{"--first", "-2"}, "--first"},
                  {{"--device", "tpu"}, "auto, cpu, gpu"},
                  {{"--device", "gpu", "--solver-backend", "reference"}, "leave out --device gpu"},
                  {{"--isa", "mmx"}, "avx512"},
                  {{"--resume", "--overwrite"}, "exclude"},
                  {{"--ids", "f", "10000"}, "not both"},
                  {{"--frobnicate"}, "frobnicate"},
                  {{"--config", (directory / "none.cfg").string()}, "none.cfg"},
                  {{"--config", directory.path().string()}, "cannot be read"}});
}

TEST(RunOptions, that_are_missing_are_named_in_one_sentence) {
  EXPECT_EQ(refusal({}), "--data and --out are missing");
  EXPECT_EQ(refusal({"--data", "", "--out", "y"}), "--data is missing");
  EXPECT_EQ(refusal({"--data", "x"}), "--out is missing");
}

TEST(RunOptions, that_are_missing_may_be_what_an_argument_without_a_name_is) {
  EXPECT_THAT(refusal({"./plans", "results.h5"}),
              AllOf(HasSubstr("'./plans' and 'results.h5' stand without the name of an option"),
                    HasSubstr("did you mean --data ./plans --out results.h5?")));
  EXPECT_THAT(refusal({"--data", "plans", "results.h5"}),
              AllOf(HasSubstr("--out is missing"), HasSubstr("did you mean --out results.h5?")));
  EXPECT_THAT(refusal({"./a", "./b", "./c", "./d"}),
              HasSubstr("'./a', './b', './c' and others stand"));
  EXPECT_EQ(refusal({"10000", "--data", "."}), "--out is missing") << "10000 is a plan";
}

TEST(RunOptions, that_are_misspelt_are_answered_with_the_nearest) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "typo.cfg") << "tolerence = 0.5\n";
  EXPECT_THAT(refusal({"--tolerence", "1"}), HasSubstr("did you mean '--tolerance'?"));
  EXPECT_THAT(refusal({"--config", (directory / "typo.cfg").string()}),
              AllOf(HasSubstr("typo.cfg"), HasSubstr("did you mean 'tolerance'?")));
  EXPECT_THAT(refusal({"-data", "plans"}), HasSubstr("did you mean '--data'?"));
  EXPECT_THAT(refusal({"-overwrite"}), HasSubstr("did you mean '--overwrite'?"));
  EXPECT_THAT(refusal({"--data", "x", "--out", "y", "--device", "gpux"}),
              HasSubstr("did you mean 'gpu'?"));
  EXPECT_EQ(parsed({"-t3"}).threads, 3) << "a short option with its value is no slip";
}

TEST(RunOptions, refuse_what_looks_like_a_place_in_a_sentence_of_boost) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "place.cfg") << "threads %original_token%= 2\n";
  EXPECT_THAT(refusal({"--config", (directory / "place.cfg").string()}),
              AllOf(HasSubstr("place.cfg"), HasSubstr("%original_token%")));
  std::ofstream(directory / "line.cfg") << "da%%%&%invalid_line%\n";
  EXPECT_THAT(refusal({"--config", (directory / "line.cfg").string()}),
              HasSubstr("%invalid_line%"));
  EXPECT_THAT(refusal({"--tolerance", "%value%"}), HasSubstr("%value%"));
  EXPECT_THAT(refusal({"--%option%"}), HasSubstr("%option%"));
  EXPECT_THAT(refusal({"--tolerance", "100%"}), HasSubstr("tolerance"));
  EXPECT_EQ(parsed({"--events", "%value%"}).events, "%value%");
}

TEST(SolverSettings, name_what_decides_the_answers_and_not_how_fast_they_come) {
  const Attributes vector = parsed({}).job.solver.settings();
  EXPECT_EQ(parsed({"--solver-backend", "reference"}).job.solver.settings(), vector);
  EXPECT_EQ(parsed({"--isa", "baseline"}).job.solver.settings(), vector);
  EXPECT_NE(parsed({"--tolerance", "1e-5"}).job.solver.settings(), vector);
  EXPECT_NE(parsed({"--max-iterations", "1"}).job.solver.settings(), vector);
  const Attributes steady = parsed({"--solver", "steady"}).job.solver.settings();
  EXPECT_NE(steady, vector);
  EXPECT_NE(parsed({"--solver", "steady", "--accuracy", "1e-7"}).job.solver.settings(), steady);
  EXPECT_EQ(parsed({"--solver", "steady", "--tolerance", "1e-5"}).job.solver.settings(), steady);
  EXPECT_EQ(parsed({"--accuracy", "1e-7"}).job.solver.settings(), vector);
  EXPECT_NE(parsed({"--solver", "fastforward"}).job.solver.settings(), vector);
}

TEST(SolverSettings, name_questions_only_where_they_are_not_the_studys) {
  const Attributes usual = parsed({}).job.solver.settings();
  EXPECT_EQ(parsed({"--above", "18", "--below", "15", "--door", "auto"}).job.solver.settings(),
            usual);
  const Attributes asked =
      parsed({"--above", "-2.5", "--wall", "25=22", "--wall", "5=8", "--rooms", "--door", "7"})
          .job.solver.settings();
  EXPECT_EQ(asked.at("above"), "-2.5");
  EXPECT_EQ(asked.at("wall"), "5.0=8.0 25.0=22.0");
  EXPECT_EQ(asked.at("rooms_door"), "7");
  EXPECT_FALSE(asked.contains("below"));
  EXPECT_EQ(recorded_solver("FILE", asked).settings(), asked);
  EXPECT_EQ(recorded_solver("FILE", usual).settings(), usual);
  for (const auto& [name, wrong] :
       {std::pair("wall", "5"), {"above", "nan"}, {"rooms_door", "-2"}, {"tolerance", "-1.0"}}) {
    Attributes damaged = asked;
    damaged[name] = wrong;
    EXPECT_EQ(refusal_of<RunError>([&] { (void)recorded_solver("FILE", damaged); }),
              std::string("FILE: its ") + name + " is '" + wrong + "'");
  }
  expect_refused({{{"--wall", "5"}, "--wall must be KIND=DEGREES"},
                  {{"--wall", "5=8", "--wall", "5=9"}, "each KIND once"},
                  {{"--above", "nan"}, "must be temperatures"},
                  {{"--door", "4"}, "--door goes with --rooms"},
                  {{"--rooms", "--door", "-1"}, "within 0 and 10000, not '-1'"}});
}

TEST(RunOptions, take_solvers_that_run_on_cpus_only) {
  EXPECT_EQ(parsed({"--solver", "steady"}).device, DeviceChoice::cpu);
  EXPECT_EQ(parsed({"--solver", "fastforward"}).device, DeviceChoice::cpu);
  EXPECT_EQ(parsed({"--solver-backend", "reference"}).device, DeviceChoice::cpu);
  EXPECT_EQ(parsed({"--solver", "steady", "--accuracy", "1e-6"}).job.solver.limits.accuracy, 1e-6);
  expect_refused({{{"--solver", "steady", "--device", "gpu"},
                   "--solver steady runs on the CPU, so leave out --device gpu"},
                  {{"--solver", "fastforward", "--solver-backend", "reference"},
                   "so leave out --solver fastforward"},
                  {{"--accuracy", "0"}, "--accuracy must be a number above 0"},
                  {{"--solver", "magic"}, "magic"}});
}

}  // namespace
}  // namespace wallheat
