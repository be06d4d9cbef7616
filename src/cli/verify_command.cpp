#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <random>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "core/parallel_for.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_source.hpp"
#include "run/verifier.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct VerifyOptions {
  std::filesystem::path file;
  std::filesystem::path data;
  std::int64_t sample = 0;
  bool all = false;
  std::int64_t seed = 0;  ///< negative: by chance
  std::string backend;
  bool json = false;

  [[nodiscard]] bool recomputes() const { return all || sample > 0; }
};

VerifyOptions parse_verify_options(Options& options) {
  VerifyOptions verify;
  options.describe(
      "FILE --data PLANS [options]",
      "Checks a result file: checksums and decoding of all rows and fields, that inputs are what "
      "they were, that no temperature is impossible, that a stored steady state is within its "
      "error bound; and solves some plans again, with the file's "
      "own settings, to compare every bit. It only reads; the file may be one that is being "
      "written or whose run was killed.\nExit status: 0 all is well, 1 something is not, 2 wrong "
      "usage; if all is well but plans are not solved yet 75, or failed 3.",
      {"wallheat verify results.h5 --data plans",
       "wallheat verify results.h5 --data plans --json"});
  options.add("file", value(verify.file, "FILE"), "the result file (also as an argument)");
  options.add("data,d", value(verify.data, "PLANS"),
              "the floor plans, as for 'wallheat run'; may be left out with --sample 0");
  options.add("sample", value(verify.sample, "N", 10),
              "solve N plans, chosen at random, again; 0: none");
  options.add("all", flag(verify.all), "solve all plans again");
  options.add("seed", value(verify.seed, "S", -1, "random"),
              "0 or more: the same seed chooses the same plans");
  options.add("solver-backend", value(verify.backend, "NAME", "vector"),
              "vector (fast) or reference (plain and sequential, to compare with)");
  options.add("json", flag(verify.json), "print what was found as one JSON object");
  options.positional("file", 1);
  options.parse();
  if (verify.file.empty())
    throw UsageError(verify.data.empty() && verify.recomputes() ? "FILE and --data are missing"
                                                                : "FILE is missing");
  if (verify.sample < 0) throw UsageError("--sample must be at least 0");
  (void)choose<bool>("solver-backend", verify.backend, {{"vector", false}, {"reference", true}});
  if (verify.data.empty() && verify.recomputes())
    throw UsageError("--data is missing (to check the file alone, give --sample 0)");
  return verify;
}

/// What the file was made with. Throws RunError if it cannot be repeated.
SolverOptions recorded_options(const ResultReader& reader, const VerifyOptions& options) {
  SolverOptions made_with = recorded_solver(options.file.string(), reader.settings());
  made_with.reference = options.backend == "reference";
  if (!options.recomputes()) return made_with;
  const std::string solver = recorded_solver_text(reader);
  if (made_with.reference && made_with.kind != SolverKind::jacobi) {
    throw RunError(
        fmt::format("{} was solved by {}, of which there is no reference back end: leave "
                    "out --solver-backend reference",
                    options.file.string(), solver));
  }
  if (solver != made_with.solver_text()) {
    throw RunError(
        fmt::format("{} was solved by {}, and this wallheat has {}: verify it with that one, or "
                    "give --sample 0",
                    options.file.string(), solver, made_with.solver_text()));
  }
  return made_with;
}

/// The plans to solve again, ascending.
std::vector<std::size_t> sampled(const std::vector<std::size_t>& answered,
                                 const VerifyOptions& options, std::uint64_t seed) {
  if (options.all) return answered;
  std::vector<std::size_t> sample;
  std::mt19937_64 random(seed);
  std::sample(answered.begin(), answered.end(), std::back_inserter(sample), options.sample, random);
  return sample;
}

/// Examines all answered plans on all cores. Those of `sample` are solved, too.
Findings examine_all(const Verifier& verifier, const std::vector<std::size_t>& answered,
                     const std::vector<std::size_t>& sample, const SolverOptions& made_with) {
  std::vector<Findings> of_plan(answered.size());
  parallel_for(local_machine().cores.size(), answered.size(), [&] {
    std::shared_ptr<Solver> solver = made_with.make();
    return [&, solver](std::size_t i) {
      const bool chosen = std::binary_search(sample.begin(), sample.end(), answered[i]);
      of_plan[i] = verifier.examine(answered[i], chosen ? solver.get() : nullptr);
    };
  });
  Findings findings;
  for (const Findings& plan : of_plan) findings.append(plan);
  return findings;
}

/// What was looked at, and found.
struct Verification {
  const VerifyOptions& options;
  const ResultReader& reader;
  const SolverOptions& made_with;
  const Findings& findings;
  std::size_t answered = 0;
  std::size_t failed = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] std::size_t pending() const { return reader.count() - answered - failed; }
  [[nodiscard]] std::size_t wrong() const {
    std::size_t count = reader.damage().size();
    for (const auto& sentences : findings.wrong) count += sentences.size();
    return count;
  }
};

/// A check that was not made is null.
void print_verify_json(const Verification& verification) {
  const auto& [options, reader, made_with, findings, answered, failed, seed] = verification;
  const auto check = [](std::size_t examined, const std::vector<std::string>& wrong) {
    return Json{{"ok", wrong.empty()}, {"examined", examined}, {"findings", wrong}};
  };
  const auto of = [&check, &findings = findings](Check which) {
    const auto number = static_cast<std::size_t>(which);
    return check(findings.examined[number], findings.wrong[number]);
  };
  Json damaged = Json::array();
  for (const std::size_t index : reader.damaged()) damaged.push_back(reader.row(index).id);
  const Json checks{{"rows", check(reader.count(), reader.damage())},
                    {"fields", of(Check::fields)},
                    {"inputs", options.data.empty() ? Json() : of(Check::inputs)},
                    {"physics", of(Check::physics)},
                    {"answers", options.recomputes() ? of(Check::answers) : Json()}};
  const Json json{{"file", options.file.string()},
                  {"plans", reader.count()},
                  {"done", answered},
                  {"failed", failed},
                  {"pending", verification.pending()},
                  {"closed_well", reader.closed_well()},
                  {"damaged", damaged},
                  {"checks", checks},
                  {"seed", options.recomputes() && !options.all ? Json(seed) : Json()},
                  {"findings", verification.wrong()}};
  fmt::print("{}", json_text(json));
}

/// Prints a line, and the sentences that belong to it.
void print_check(const char* name, const std::vector<std::string>& wrong, const std::string& what) {
  fmt::print("{:<14}{}: {}\n", name,
             wrong.empty() ? "ok" : fmt::format("NOT OK, {} finding(s)", wrong.size()), what);
  for (const std::string& sentence : wrong) fmt::print("  {}\n", printable(sentence));
}

void print_verify_for_people(const Verification& verification) {
  const auto& [options, reader, made_with, findings, answered, failed, seed] = verification;
  fmt::print(
      "{:<14}{} of {} plan(s) done, {} failed, {} pending{}\n", "coverage", answered,
      reader.count(), failed, verification.pending(),
      reader.closed_well()
          ? ""
          : "; the file is still being written, or its run was killed (go on with --resume)");
  print_check(
      "rows", reader.damage(),
      fmt::format("checksums of {} row(s), of the list of ids, of the log", reader.count()));
  for (const std::size_t index : reader.damaged()) {
    fmt::print(
        "  row {}, plan {}: damaged, or without the field that belongs to it; --resume solves it "
        "again\n",
        index, reader.row(index).id);
  }
  const auto print = [&findings = findings](const char* name, Check check, const char* what) {
    const auto number = static_cast<std::size_t>(check);
    print_check(name, findings.wrong[number],
                fmt::format(fmt::runtime(what), findings.examined[number]));
  };
  print("fields", Check::fields, "checksums and decoding of {} stored field(s)");
  if (options.data.empty()) {
    fmt::print("{:<14}not checked, as there is no --data\n", "inputs");
    print("physics", Check::physics, "percentages, iterations, last delta of {} answer(s)");
  } else {
    print("inputs", Check::inputs, "{} plan(s) are what they were when they were solved");
    print("physics", Check::physics,
          made_with.kind == SolverKind::steady
              ? "maximum principle, percentages, iterations, error bound of {} answer(s)"
              : "maximum principle, percentages, iterations, last delta of {} answer(s)");
  }
  if (!options.recomputes()) {
    fmt::print("{:<14}not solved again (--sample 0)\n", "answers");
  } else {
    print("answers", Check::answers, "{} plan(s) solved again, every bit compared");
    if (!options.all) fmt::print("{:<14}chosen by --seed {}\n", "", seed);
  }
  if (verification.wrong() > 0) {
    fmt::print("{}: {} finding(s)\n", printable(options.file.string()), verification.wrong());
  } else {
    fmt::print("{}: all is well{}\n", printable(options.file.string()),
               verification.pending() > 0 ? ", but plans are left"
               : failed > 0               ? ", but plans failed"
                                          : "");
  }
}

}  // namespace

int verify_command(Options& all_options) {
  const VerifyOptions options = parse_verify_options(all_options);
  require_result_file(options.file);
  const ResultReader reader(options.file);
  const SolverOptions made_with = recorded_options(reader, options);
  const SharedPlanSource plans = options.data.empty() ? nullptr : open_plan_source(options.data);

  std::vector<std::size_t> answered;
  std::size_t failed = 0;
  std::size_t index = 0;
  reader.for_each_row([&](const PlanResult& row) {
    if (is_answer(row.status)) answered.push_back(index);
    if (row.status == PlanStatus::failed) ++failed;
    ++index;
  });
  const std::uint64_t seed =
      options.seed >= 0 ? static_cast<std::uint64_t>(options.seed) : std::random_device()();
  const auto sample = sampled(answered, options, seed);
  if (!sample.empty()) {
    print_error("solving {} of {} answered plan(s) again", sample.size(), answered.size());
  }
  const Findings findings =
      examine_all(Verifier(reader, plans, made_with), answered, sample, made_with);

  const Verification verification{options,         reader, made_with, findings,
                                  answered.size(), failed, seed};
  if (options.json) {
    print_verify_json(verification);
  } else {
    print_verify_for_people(verification);
  }
  if (verification.wrong() > 0) return exit_failed;
  if (verification.pending() > 0) return exit_work_left;
  return failed > 0 ? exit_some_plans_failed : exit_done;
}

}  // namespace wallheat
