#include <fmt/format.h>

#include <optional>

#include "cli/commands.hpp"
#include "cli/configuration.hpp"
#include "cli/result_file.hpp"
#include "core/plan_ids.hpp"
#include "core/program.hpp"
#include "core/text.hpp"
#include "monitor/run_status.hpp"
#include "plans/plan_source.hpp"
#include "run/build_info.hpp"
#include "run/plan_selection.hpp"
#include "store/merge.hpp"
#include "store/repair.hpp"
#include "view/time_text.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

/// Returns a table with one line per row. Text output is limited to `max_shown` rows.
Table lines_table(const char* key, const char* column, const char* name,
                  const std::vector<std::string>& lines, std::size_t max_shown) {
  Table table{key, "", {{column, name}}};
  table.max_text_rows = max_shown;
  for (const std::string& line : lines) table.rows.push_back({line});
  return table;
}

/// The options of a run that select plans.
struct PlanChoice {
  fs::path data;
  std::vector<std::string> ids;
  fs::path ids_file;
  std::size_t first = 0;
};

/// Returns the options that selected the plans of the run that started last; with an empty `data`
/// if no run has recorded them. `data` replaces the recorded plan source unless it is empty.
PlanChoice last_choice(const std::vector<Attributes>& sessions, const fs::path& data) {
  const auto start = [](const Attributes& session) { return text_in(session, "started_utc", ""); };
  const Attributes* last = nullptr;
  for (const Attributes& session : sessions)
    if (session.contains("data") && (last == nullptr || start(*last) <= start(session)))
      last = &session;
  PlanChoice choice;
  choice.data = data;
  if (last == nullptr) return choice;
  if (data.empty()) choice.data = last->at("data");
  for (const auto& [name, word] : parse_settings(text_in(*last, "configuration", ""))) {
    if (name == "id") choice.ids.push_back(word);
    if (name == "ids") choice.ids_file = word;
    if (name == "first") choice.first = parse_number<std::size_t>(word).value_or(0);
  }
  return choice;
}

/// Comparison of the merged plans with the current list of plans, which may have become longer.
struct ListComparison {
  std::optional<std::size_t> listed;  ///< plans in the list; nullopt if the list is unknown
  std::vector<std::string> added{};   ///< IDs in the list that no shard file contains
  std::string note{};  ///< reason if the list cannot be read; empty if it is not recorded
};

ListComparison compare_with_list(const PlanChoice& choice, const StringList& merged) {
  if (choice.data.empty()) return {};
  try {
    const auto source = open_plan_source(choice.data);
    const PlanIds listed = requested_plans(*source, choice.ids, choice.ids_file, choice.first);
    ListComparison found{listed.ids.size()};
    IdIndex known;
    for (const std::string_view id : merged) known.add(id);
    // Shard files contain longer IDs in a shortened form.
    for (const std::string_view id : listed.ids)
      if (id.size() <= max_id_length && !known.find(id)) found.added.emplace_back(id);
    return found;
  } catch (const RunError& error) {
    return {{}, {}, error.what()};
  }
}

Report report_of_merge(const fs::path& out, const MergeReport& merged, const ListComparison& list,
                       const fs::path& data) {
  const auto& [written, plans, done, failed, duplicates, ids, sessions, missing, conflicts,
               warnings] = merged;
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
  report.add_json_fact("listed", list.listed ? Value(*list.listed) : Value());
  report.add(lines_table("not_in_shards", "id", "not in any shard file", list.added, max_shown));
  if (!list.added.empty())
    report.add_note(
        fmt::format("the list of {} now contains {}: {} of them are in no shard file; run the "
                    "shards again with --resume, then merge with --update",
                    data.string(), count_text(*list.listed, "plan"), list.added.size()));
  if (!list.note.empty())
    report.add_note(
        fmt::format("the current list of plans is unknown: {}; specify the plans with --data",
                    escape_control_chars(list.note)));
  if (written && !missing.empty())
    report.add_note(
        fmt::format("to solve the missing plans, run 'wallheat run --data PLANS --resume --out {}'",
                    out.string()));
  report.exit_status =
      written ? exit_status_of(missing.size() + list.added.size(), failed) : int{exit_failed};
  if (!written)
    report.error =
        out.string() + " was not written: " +
        (conflicts.empty() ? "plans are missing; run their shards again with --resume, or merge "
                             "with --allow-missing and resume the merged file"
                           : "shard files have conflicting results; find out which file is wrong");
  return report;
}

}  // namespace

Report merge_command(Options& options) {
  fs::path out;
  std::vector<std::string> parts;
  fs::path data;
  MergeOptions merge;
  options.describe(
      "--out FILE [options] PART ...",
      "Merges the shard files of a job array. Shard files that a run is still writing, or whose "
      "run was killed, are read as they are; no shard file is changed. Results of one plan in "
      "several shard files must be bit-identical. The list of plans may have grown between two "
      "jobs; the merge compares with the current list and reports the plans that are in no shard "
      "file.\nExit status: 0 all plans are solved, 1 nothing was written (plans are missing, or "
      "results conflict), 2 usage error, 3 merged but some plans failed, 75 merged with plans "
      "missing.",
      {"wallheat merge --out all.h5 shards.part-1-of-2.h5 shards.part-2-of-2.h5",
       "wallheat merge --out all.h5 --overwrite --json shards.part-1-of-2.h5 "
       "shards.part-2-of-2.h5"});
  options.add("part", file(parts, FileRole::results_in_use).positional().required(),
              "shard file to merge (also as an argument); repeat for more");
  options.add("out,o", file(out, FileRole::new_results).required(), "merged result file");
  options.add(
      "allow-missing", flag(merge.allow_missing_plans),
      "write the file even if plans are missing; 'wallheat run --resume' solves them later");
  options.add("overwrite", flag(merge.overwrite), "overwrite an existing result file");
  options.add("update", flag(merge.update),
              "if FILE is an earlier merged file, keep all its results and add those of the shard "
              "files; any other existing file is an error");
  options.add("data,d", file(data, FileRole::plans, "PLANS"),
              "compare with the list of these plans (default: the plans of the last run of the "
              "shard files)");
  options.add_conflict("update", {"overwrite"});
  options.check([&] { std::ranges::for_each(parts, require_result_file); });
  options.parse();

  merge.session = {{"wallheat_version", std::string(version())},
                   {"hdf5_library", hdf5_library()},
                   {"end", "merged"},
                   {"started_utc", utc_now()}};
  if (*source_commit != '\0') merge.session["commit"] = source_commit;
  const MergeReport merged = merge_results(out, {parts.begin(), parts.end()}, merge);
  remove_run_status(status_file(out));  // of an earlier run with this result file
  const PlanChoice choice = last_choice(merged.sessions, data);
  return report_of_merge(out, merged, compare_with_list(choice, merged.ids), choice.data);
}

Report repair_command(Options& options) {
  std::string file;
  options.describe(
      "FILE [options]",
      "Repairs the result file of a killed run without another run: compacts the file and its "
      "journals, and compares every row and field with its checksum. If a result is damaged and is "
      "in no journal, its plan becomes pending. A file that needs no repair is not changed.\nExit "
      "status: 0 success, 1 error, 2 usage error, 75 success with plans pending.",
      {"wallheat repair results.h5", "wallheat repair results.h5 --json"});
  declare_result_file(options, file);
  options.parse();
  require_result_file(file);
  const auto [changed, messages, lost, done, failed, pending] = repair_results(file);
  remove_run_status(status_file(file));  // of the killed run

  constexpr std::size_t max_shown = 20;
  Report report{fs::path(file).filename().string()};
  report.add_json_fact("file", file);
  report.add_json_fact("changed", changed);
  report.add(lines_table("findings", "finding", "found and repaired", messages, max_shown));
  report.add(lines_table("lost", "id", "lost", lost, max_shown));
  report.add_note(fmt::format("{} {}: {} done, {} failed, {} pending", file,
                              changed ? "is compacted" : "needed no repair", done, failed,
                              pending));
  report.add_json_fact("done", done);
  report.add_json_fact("failed", failed);
  report.add_json_fact("pending", pending);
  report.exit_status = pending > 0 ? exit_incomplete : exit_done;
  return report;
}

}  // namespace wallheat
