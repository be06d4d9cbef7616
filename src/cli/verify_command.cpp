#include <fmt/format.h>

#include <random>

#include "cli/commands.hpp"
#include "cli/plan_options.hpp"
#include "cli/result_file.hpp"
#include "cli/solver_command_options.hpp"
#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "plans/plan_source.hpp"
#include "report/summary.hpp"
#include "run/verifier.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::size_t max_shown = 20;  // limit for findings, and for damaged rows

struct VerifyOptions {
  std::filesystem::path file;
  std::filesystem::path data;
  std::size_t sample = 0;
  bool all = false;
  std::int64_t seed = 0;  ///< negative: random
  SolverOptions solver;   ///< only the back end, and the solver command of the user

  [[nodiscard]] bool recomputes() const { return all || sample > 0; }
};

VerifyOptions parse_verify_options(Options& options) {
  VerifyOptions verify;
  options.describe(
      "FILE --data PLANS [options]",
      "Checks a result file: the checksums of all rows and fields, whether the plans are "
      "unchanged, whether a temperature is impossible, and whether a steady state is within its "
      "error bound. Solves some plans again and compares every bit. Reads only; the run may be in "
      "progress, or may have been killed.\nExit status: 0 no findings, 1 findings or an error, 2 "
      "usage error; without findings 75 if plans are pending, otherwise 3 if plans failed.",
      {"wallheat verify results.h5 --data plans",
       "wallheat verify results.h5 --data plans --json"});
  options.add("file", file(verify.file, FileRole::results_in_use).positional().required(),
              "result file (also as an argument)");
  options.add("data,d", file(verify.data, FileRole::plans, "PLANS"),
              "floor plans; not required with --sample 0");
  options.add("sample", value(verify.sample, "N", 10),
              "solve N randomly chosen plans again; 0: none");
  options.add("all", flag(verify.all), "solve all plans again");
  options.add("seed", value(verify.seed, "S", -1, "random"),
              "seed of the random choice, 0 or more; the same seed chooses the same plans");
  declare_setting(options, verify.solver, "solver_backend",
                  "implementation of jacobi: vector (fast) or reference (plain, for comparison)");
  declare_solver_command(options, verify.solver);
  options.parse();
  if (verify.data.empty() && verify.recomputes())
    throw UsageError("--data is missing; use --sample 0 to check only the file");
  return verify;
}

/// Replaces the recorded solver command by that of the user: a command of a file that others may
/// have written is never started. Throws RunError if the user gave none, or one that has solved no
/// plan of the file.
void use_given_command(const ResultReader& reader, const VerifyOptions& options,
                       SolverOptions& made_with) {
  const std::string file = options.file.string();
  const SolverCommand& recorded = made_with.command;
  const SolverCommand& given = options.solver.command;
  if (given.words.empty() || !plans_by_solver(reader).contains(options.solver.solver_text()))
    throw RunError(fmt::format(
        "{} was solved with --solver-command '{}' ({}), and the given command is {}; "
        "give that one, or --sample 0",
        file, escape_control_chars(recorded.line), escape_control_chars(recorded.files),
        given.words.empty() ? "missing" : fmt::format("'{}' ({})", given.line, given.files)));
  made_with.command = given;
}

/// Returns the solver options of the file. Throws RunError if its plans must be solved again and
/// this program cannot repeat them.
SolverOptions recorded_options(const ResultReader& reader, const VerifyOptions& options) {
  const std::string file = options.file.string();
  if (!options.recomputes()) return recorded_solver(file, reader.settings());
  SolverOptions made_with =
      recorded_solver_options(file, reader, "use that version, or --sample 0");
  if (made_with.kind == SolverKind::command) use_given_command(reader, options, made_with);
  made_with.backend = options.solver.backend;
  if (made_with.backend == SolverBackend::reference && made_with.kind != SolverKind::jacobi)
    throw RunError(
        fmt::format("{} was solved by {}, which has no reference implementation; omit "
                    "--solver-backend reference",
                    file, made_with.solver_text()));
  return made_with;
}

/// The checks that were made, and the messages on their findings.
struct Checks {
  Table made{
      "checks",
      "",
      {{"check", "check"}, {"ok", ""}, {"examined", ""}, {"findings", ""}, {"result", "result"}}};
  Table wrong{"wrong", "", {{"check", "check"}, {"finding", "finding"}}, {}, {}, max_shown};

  /// Adds a check. `examined` is the number of things, called `thing`, that were checked.
  void add(const char* name, std::size_t examined, const std::vector<std::string>& messages,
           const char* thing, const char* how) {
    const bool is_ok = messages.empty();
    made.rows.push_back(
        {name, is_ok, examined, messages.size(),
         fmt::format("{}: {}{}", is_ok ? "ok" : "NOT OK, " + count_text(messages.size(), "finding"),
                     count_text(examined, thing), how)});
    for (const std::string& message : messages) wrong.rows.push_back({name, message});
  }
  void leave_out(const char* name, const char* why) {
    made.rows.push_back({name, Value(), Value(), Value(), why});
  }
};

Checks checks_of(const VerifyOptions& options, const ResultReader& reader,
                 const SolverOptions& made_with, const Findings& findings) {
  Checks checks;
  const auto add = [&](const char* name, Check check, const char* thing, const char* how) {
    const auto number = static_cast<std::size_t>(check);
    checks.add(name, findings.examined[number], findings.problems[number], thing, how);
  };
  checks.add("rows", reader.count(), reader.damage_messages(), "row",
             ", the list of IDs and the journals, by their checksums");
  add("fields", Check::fields, "stored field", ", by their checksums, decoded");
  if (options.data.empty())
    checks.leave_out("inputs", "not checked (no --data)");
  else
    add("inputs", Check::inputs, "plan", ", unchanged since they were solved");
  add("physics", Check::physics, "result",
      options.data.empty() ? ": percentages, iterations, last delta"
      : made_with.kind == SolverKind::steady
          ? ": maximum principle, percentages, iterations, error bound"
          : ": maximum principle, percentages, iterations, last delta");
  if (options.recomputes())
    add("answers", Check::answers, "plan", " solved again, every bit compared");
  else
    checks.leave_out("answers", "not solved again (--sample 0)");
  return checks;
}

}  // namespace

Report verify_command(Options& all_options) {
  const VerifyOptions options = parse_verify_options(all_options);
  const std::string file = options.file.string();
  require_result_file(options.file);
  const ResultReader reader(options.file);
  const SolverOptions made_with = recorded_options(reader, options);
  const SharedPlanSource source = options.data.empty() ? nullptr : open_plan_source(options.data);
  const PlanCounts plans = counts_of(reader);
  std::vector<std::size_t> answered;
  std::vector<std::size_t> repeatable;  // by the given program
  reader.for_each_row([&](const PlanResult& row) {
    if (!is_solved(row.status)) return;
    answered.push_back(row.index);
    if (made_with.kind != SolverKind::command || row.solver == made_with.solver_text())
      repeatable.push_back(row.index);
  });
  const std::size_t other_programs = answered.size() - repeatable.size();
  const std::uint64_t seed =
      options.seed >= 0 ? static_cast<std::uint64_t>(options.seed) : std::random_device()();
  const auto sample = options.all ? repeatable : sample_rows(repeatable, options.sample, seed);
  if (!sample.empty())
    print_error("solving {} of {} again", sample.size(),
                count_text(answered.size(), "solved plan"));
  Checks checks = checks_of(options, reader, made_with,
                            verify_rows(reader, source.get(), made_with, answered, sample));

  Report report{options.file.filename().string()};
  report.add_json_fact("file", file);
  report.add_fact("plans", "plans", reader.count());
  report.add_fact("done", "  done", answered.size());
  report.add_fact("failed", "  failed", plans.failed);
  report.add_fact("pending", "  pending", plans.pending);
  report.add_json_fact("closed_well", reader.closed_cleanly());
  if (!reader.closed_cleanly())
    report.add_note("the file is still being written, or its run was killed; resume with --resume");
  const std::size_t wrong = checks.wrong.rows.size();
  report.add(std::move(checks.made));
  report.add(std::move(checks.wrong));
  Table& damaged = report.add(Table{"damaged",
                                    "damaged, or without field; --resume solves them again",
                                    {{"row", "row"}, {"id", "plan"}}});
  damaged.max_text_rows = max_shown;
  for (const std::size_t row : reader.damaged_rows())
    damaged.rows.push_back({row, reader.row(row).id});
  const bool is_sample = options.recomputes() && !options.all;
  report.add_fact("seed", is_sample ? "seed of the sample" : "",
                  is_sample ? Value(static_cast<std::int64_t>(seed)) : Value());
  report.add_json_fact("findings", wrong);
  report.add_json_fact("other_programs", options.recomputes() ? Value(other_programs) : Value());
  if (options.recomputes() && other_programs > 0)
    report.add_note(
        fmt::format("{} not solved again, because another program solved them ({}); to check them, "
                    "give that program by --solver-command",
                    count_text(other_programs, "plan was", "plans were"),
                    solvers_text(plans_by_solver(reader), reader.settings())));
  const char* left = plans.pending > 0  ? ", but plans are pending"
                     : plans.failed > 0 ? ", but plans failed"
                                        : "";
  report.add_note(wrong > 0 ? fmt::format("{}: {}", file, count_text(wrong, "finding"))
                            : fmt::format("{}: no findings{}", file, left));
  report.exit_status = wrong > 0 ? int{exit_failed} : exit_status_of(plans.pending, plans.failed);
  return report;
}

}  // namespace wallheat
