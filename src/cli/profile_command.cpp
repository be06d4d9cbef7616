#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "bench/reference_profile.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run_option_parser.hpp"
#include "plans/plan_source.hpp"
#include "run/catalogue.hpp"
#include "view/bench_report.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
int profile_command(const Arguments& arguments) {
  std::string id;
  std::filesystem::path data;
  bool json = false;
  SolverOptionParser solver_options;
  Options options(
      "profile ID --data PLANS [options]",
      "Shows where the published program's algorithm spends its time: whole arrays, step "
      "by step, as a line profiler shows it for NumPy; and what the solver takes for the "
      "same bits.",
      {"wallheat profile 00001 --data plans",
       "wallheat profile 00001 --data plans --solver fastforward"});
  options.add("id", value(id, "ID"), "the plan (also as an argument)");
  options.add("data,d", value(data, "PLANS"),
              "directory with ID_domain.npy, ID_interior.npy and maybe ID_source.npy, or a zip "
              "archive of one");
  options.add("json", flag(json), "print one JSON object");
  solver_options.declare(options);
  options.positional("id", 1);
  options.require({"id", "data"});
  if (!options.parse(arguments)) return exit_done;
  const SolverOptions solver = solver_options.finish(data);
  const SharedPlanSource source = open_plan_source(data);
  require_plans(*source, {id});
  const FloorPlan plan = source->load(id);
  if (plan.has_source() || solver.limits.norm != Norm::max)
    throw RunError(fmt::format(
        "plan {}: the published program that is profiled has neither sources nor --norm l2", id));
  const ReferenceProfile profile = profile_reference(plan, solver);
  if (json) {
    fmt::print("{}", to_json_text(profile, id, solver.device_text()));
  } else {
    print_tables(profile, id, solver.device_text());
  }
  return exit_done;
}

}  // namespace wallheat
