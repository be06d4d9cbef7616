#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "run/catalogue.hpp"
#include "run/signals.hpp"
#include "store/packs/plan_pack.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

/// Says every few seconds how far a step is.
std::function<void(std::size_t)> progress(const char* verb, std::size_t total) {
  return [verb, total, told = Clock::now()](std::size_t done) mutable {
    const auto now = Clock::now();
    if (now - told < std::chrono::seconds(5)) return;
    told = now;
    print_error("{} {} of {} plan(s)", verb, done, total);
  };
}

void print_pack_json(const std::filesystem::path& out, const PackReport& report, double seconds) {
  Json left_out = Json::array();
  for (const LeftOut& plan : report.left_out)
    left_out.push_back({{"id", plan.id}, {"reason", plan.reason}});
  const Json json{{"file", out.string()},          {"plans", report.plans},
                  {"left_out", left_out},          {"bytes_in", report.bytes_in},
                  {"bytes_out", report.bytes_out}, {"seconds", seconds}};
  fmt::print("{}", json_text(json));
}

void print_pack_for_people(const std::filesystem::path& out, const PackReport& report,
                           double seconds) {
  for (const LeftOut& plan : report.left_out)
    print_error("plan {} is left out: {}", printable(plan.id), printable(plan.reason));
  fmt::print(
      "{}: {} plan(s) packed and read back{}; {:.1f} MB of cells in, {:.1f} MB out, 1 : {:.0f}; "
      "{:.1f} s\n",
      out.string(), report.plans,
      report.left_out.empty() ? "" : fmt::format(", {} left out", report.left_out.size()),
      static_cast<double>(report.bytes_in) * 1e-6, static_cast<double>(report.bytes_out) * 1e-6,
      static_cast<double>(report.bytes_in) / static_cast<double>(report.bytes_out), seconds);
}

}  // namespace

int pack_command(const Arguments& arguments) {
  std::filesystem::path data;
  std::filesystem::path out;
  std::filesystem::path ids_file;
  std::vector<std::string> ids;
  std::int64_t first = 0;
  int threads = 0;
  bool json = false;
  PackOptions pack;
  Options options("pack --data DIR --out FILE [options] [ID ...]",
                  "Puts floor plans into one compressed HDF5 file, without loss of a bit. --data "
                  "FILE then stands for the directory in every command. Each plan is read back and "
                  "compared before the file gets its name. A plan that cannot be read is left out, "
                  "with the reason, and fails in a run.\nExit status: 0 all packed, 1 nothing "
                  "written, 2 wrong usage, 3 packed, but some plans were left out.",
                  {"wallheat pack --data plans --out plans.h5",
                   "wallheat pack --data plans --out few.h5 --first 2"});
  options.add(
      "data,d", value(data, "PLANS"),
      "directory with ID_domain.npy, ID_interior.npy and maybe ID_source.npy, or another pack");
  options.add("out,o", value(out, "FILE"), "the pack to make");
  options.add("id", value(ids, "ID"),
              "pack this plan (also as an argument); default: all of --ids");
  options.add("ids", value(ids_file, "FILE"),
              "file with one id a line, # begins a comment (default: building_ids.txt of a "
              "directory; all its plans where it has none; all of a pack)");
  options.add("first,n", value(first, "N", 0), "only the first N ids; 0: all");
  options.add("threads,t", value(threads, "N", 0),
              "threads that read and compress; 0: one for each core");
  options.add("overwrite", flag(pack.overwrite), "replace an existing pack");
  options.add("json", flag(json), "print what was packed as one JSON object");
  options.positional("id", -1);
  options.require({"data", "out"});
  if (!options.parse(arguments)) return exit_done;
  if (!ids.empty() && !ids_file.empty())
    throw UsageError("give ids as arguments or in --ids, not both");
  if (first < 0) throw UsageError("--first must be at least 0");
  if (threads < 0) throw UsageError("--threads must be at least 0");

  CommandFiles files;
  files.reads_plans("--data", data);
  files.reads("--ids", ids_file);
  files.writes_store("--out", out);
  files.check();
  catch_stop_signals();
  const auto start = Clock::now();
  const SharedPlanSource source = open_plan_source(data);
  const PlanIds plans = requested_plans(*source, ids, ids_file, static_cast<std::size_t>(first));
  if (!plans.note.empty()) print_error("{}", printable(plans.note));
  for (const std::string& id : plans.duplicates)
    print_error("plan {} is named more than once; it is packed once", printable(id));
  pack.threads = threads > 0 ? static_cast<std::size_t>(threads)
                             : std::max<std::size_t>(local_machine().cores.size(), 1);
  pack.packed = progress("packed", plans.ids.size());
  pack.checked = progress("read back", plans.ids.size());
  pack.interrupted = stop_requested;
  pack.spacing = spacing_of_plans(data);
  const PackReport report = pack_plans(out, *source, plans.ids, pack);

  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (json) {
    print_pack_json(out, report, seconds);
  } else {
    print_pack_for_people(out, report, seconds);
  }
  return report.left_out.empty() ? exit_done : exit_some_plans_failed;
}

}  // namespace wallheat
