#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/run_option_parser.hpp"
#include "core/text.hpp"
#include "mpi/mpi_session.hpp"
#include "report/file_status.hpp"
#include "run/run.hpp"
#include "run/run_options.hpp"
#include "store/result_path.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Prints what can be told before the start. Returns an ExitStatus.
int print_readiness(const RunOptions& options) {
  const Readiness found = examine_readiness(options);
  if (options.json) {
    Json json{{"ready", found.problems.empty()}, {"facts", Json::object()}};
    for (const auto& [about, sentence] : found.facts) json["facts"][about] = sentence;
    json["done"] = !found.done.empty();
    json["warnings"] = found.warnings;
    json["problems"] = found.problems;
    fmt::print("{}", json_text(json));
    return found.problems.empty() ? exit_done : exit_failed;
  }
  for (const auto& [about, sentence] : found.facts)
    fmt::print("{:<9} {}\n", about, printable(sentence));
  for (const std::string& warning : found.warnings)
    fmt::print("warning   {}\n", printable(warning));
  for (const std::string& problem : found.problems)
    fmt::print("problem   {}\n", printable(problem));
  if (found.problems.empty() && !found.done.empty()) {
    fmt::print("done      {}\n", found.done);
    return exit_done;
  }
  if (found.problems.empty()) {
    fmt::print("ready     the same command without --check starts the run\n");
    return exit_done;
  }
  throw RunError("the run cannot start: " + counted(found.problems.size(), "problem"));
}

/// Prints the shards, from that of the options on and round about, that have plans left and that
/// nobody solves.
void print_open_shards(const RunOptions& options) {
  const std::size_t count = options.shard.count;
  if (count == 1) throw UsageError("--print-open-shards needs --shard K/N");
  for (std::size_t step = 0; step < count; ++step) {
    const Shard shard{(options.shard.number - 1 + step) % count + 1, count};
    const std::filesystem::path part = shard_path(options.whole, shard);
    if (is_being_written(part)) continue;
    if (!has_results(part) || status_of({part}).plans.pending > 0) fmt::print("{}\n", shard.text());
  }
}

}  // namespace

int run_command(Options& options) {
  const RunOptions run_options = parse_run_options(options);
  if (run_options.print_out) {
    fmt::print("{}\n", result_path(run_options.out).string());
    return exit_done;
  }
  if (run_options.print_open_shards) {
    print_open_shards(run_options);
    return exit_done;
  }
  if (run_options.check != CheckFor::nothing)
    return launched_rank() == 0 ? print_readiness(run_options) : exit_done;
  return run(run_options);
}

}  // namespace wallheat
