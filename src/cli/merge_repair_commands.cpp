#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/result_file.hpp"
#include "core/program.hpp"
#include "store/merge.hpp"
#include "store/repair.hpp"
#include "view/run_status.hpp"
#include "view/time_text.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

/// A line a row; people see the first ones.
Table lines_table(const char* key, const char* column, const char* name,
                  const std::vector<std::string>& lines, std::size_t max_shown) {
  Table table{key, "", {{column, name}}};
  table.max_text_rows = max_shown;
  for (const std::string& line : lines) table.rows.push_back({line});
  return table;
}

Report report_of_merge(const fs::path& out, const MergeReport& merged) {
  const auto& [written, plans, done, failed, duplicates, missing, conflicts, warnings] = merged;
  constexpr std::size_t max_shown = 10;
  Report report{out.filename().string()};
  report.add_json_fact("file", out.string());
  report.add_json_fact("written", written);
  report.add_json_fact("plans", plans);
  report.add_json_fact("done", done);
  report.add_json_fact("failed", failed);
  report.add_json_fact("duplicates", duplicates);
  report.add_note(fmt::format("{} of {}, {} missing, {} duplicates, {} conflicts{}", done, plans,
                              missing.size(), duplicates, conflicts.size(),
                              failed > 0 ? fmt::format(", {} failed", failed) : ""));
  report.add(lines_table("warnings", "warning", "warning", warnings, max_shown));
  report.add(lines_table("conflicts", "conflict", "conflict", conflicts, max_shown));
  report.add(lines_table("missing", "id", "missing", missing, max_shown));
  if (written && !missing.empty())
    report.add_note(fmt::format(
        "'wallheat run --data PLANS --resume --out {}' solves the missing plans", out.string()));
  report.exit_status = written ? exit_status_of(missing.size(), failed) : int{exit_failed};
  if (!written)
    report.error =
        out.string() + " was not written: " +
        (conflicts.empty() ? "plans are missing; run their shards again with --resume, or merge "
                             "with --allow-missing and resume the merged file"
                           : "parts contradict each other; find out which is wrong");
  return report;
}

}  // namespace

Report merge_command(Options& options) {
  fs::path out;
  std::vector<std::string> parts;
  MergeOptions merge;
  options.describe(
      "--out FILE [options] PART ...",
      "Joins the result files of a job array's shards. Parts that a run still writes, or that a "
      "kill left, are read as they are; no part is changed. Answers of one plan in several parts "
      "must be equal bit for bit.\nExit status: 0 all plans are solved, 1 nothing was written "
      "(plans are missing, or parts contradict each other), 2 wrong usage, 3 merged but some plans "
      "failed, 75 merged with plans missing.",
      {"wallheat merge --out all.h5 shards.part-1-of-2.h5 shards.part-2-of-2.h5",
       "wallheat merge --out all.h5 --overwrite --json shards.part-1-of-2.h5 "
       "shards.part-2-of-2.h5"});
  options.add("part", file(parts, FileRole::results_in_use).positional().required(),
              "a part (also as an argument); any number");
  options.add("out,o", file(out, FileRole::new_results).required(), "the file to make");
  options.add("allow-missing", flag(merge.allow_missing_plans),
              "make the file even if plans are missing; 'wallheat run --resume' solves them");
  options.add("overwrite", flag(merge.overwrite), "replace an existing result file");
  options.check([&] { std::ranges::for_each(parts, require_result_file); });
  options.parse();

  merge.session = {{"wallheat_version", std::string(version())},
                   {"hdf5_library", hdf5_library()},
                   {"end", "merged"},
                   {"started_utc", utc_now()}};
  const MergeReport merged = merge_results(out, {parts.begin(), parts.end()}, merge);
  remove_run_status(status_file(out));  // of a run whose file was there before
  return report_of_merge(out, merged);
}

Report repair_command(Options& options) {
  std::string file;
  options.describe(
      "FILE [options]",
      "Makes the result file of a killed run whole without a run: puts the journals into it, and "
      "compares every row and field with its checksum. If a damaged answer is in no journal, its "
      "plan becomes pending. A file that needs nothing is left as it is.\nExit status: 0 whole, 1 "
      "it cannot be done, 2 wrong usage, 75 whole with plans pending.",
      {"wallheat repair results.h5", "wallheat repair results.h5 --json"});
  declare_result_file(options, file);
  options.parse();
  require_result_file(file);
  const auto [changed, messages, lost, done, failed, pending] = repair_results(file);
  remove_run_status(status_file(file));  // of the run that died

  constexpr std::size_t max_shown = 20;
  Report report{fs::path(file).filename().string()};
  report.add_json_fact("file", file);
  report.add_json_fact("changed", changed);
  report.add(lines_table("findings", "finding", "found and repaired", messages, max_shown));
  report.add(lines_table("lost", "id", "lost", lost, max_shown));
  report.add_note(fmt::format("{} {}: {} done, {} failed, {} pending", file,
                              changed ? "is whole" : "needed nothing", done, failed, pending));
  report.add_json_fact("done", done);
  report.add_json_fact("failed", failed);
  report.add_json_fact("pending", pending);
  report.exit_status = pending > 0 ? exit_incomplete : exit_done;
  return report;
}

}  // namespace wallheat
