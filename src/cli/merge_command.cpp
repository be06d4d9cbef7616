#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <unordered_set>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "core/version.hpp"
#include "store/merge.hpp"
#include "store/result_path.hpp"
#include "view/output_file.hpp"
#include "view/run_status.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t longest_list = 10;

void write_ids_file(const fs::path& file, const std::vector<std::string>& ids) {
  std::string lines;
  for (const std::string& id : ids) lines += id + '\n';
  try {
    write_output(file, lines);
  } catch (const RunError& error) {
    throw RunError(fmt::format("{}; the merged file itself is complete", error.what()));
  }
}

/// Throws RunError where a list that is to be replaced names anything but plans of this campaign.
void require_list_of_plans(const fs::path& file, const std::string& part) {
  if (!fs::is_regular_file(file)) return;  // a pipe or a device is not replaced
  std::ifstream list(file);
  std::string line;
  if (!std::getline(list, line)) return;  // missing, or empty
  std::unordered_set<std::string> ids;
  ResultReader(part).for_each_row([&](const PlanResult& row) { ids.insert(row.id); });
  do {
    if (!ids.contains(line))
      throw RunError(fmt::format(
          "{} is no list of plans of {}, so --overwrite does not replace it; name another file by "
          "--missing-ids, or remove it first",
          file.string(), part));
  } while (std::getline(list, line));
}

/// Throws if the command would write over a part, or over a list that is there already.
void check_files_of_merge(const fs::path& out, const std::vector<std::string>& parts,
                          const fs::path& missing_ids, const MergeOptions& merge) {
  CommandFiles files;
  for (const std::string& part : parts) {
    require_result_file(part);
    files.reads_store("a part", part);
  }
  files.writes_store("--out", out);
  if (merge.allow_missing) files.makes("--missing-ids", missing_ids, merge.overwrite, "");
  files.check();
  if (merge.overwrite) require_own_results(out);
  if (merge.allow_missing && merge.overwrite) require_list_of_plans(missing_ids, parts.front());
}

Report report_of_merge(const fs::path& out, const MergeReport& merged,
                       const fs::path& missing_ids) {
  Report report{out.filename().string()};
  report.add(Fact{"file", "", out.string()});
  report.add(Fact{"written", "", merged.written});
  report.add(Fact{"plans", "", merged.plans});
  report.add(Fact{"done", "", merged.done});
  report.add(Fact{"failed", "", merged.failed});
  report.add(Fact{"duplicates", "", merged.duplicates});
  report.add(Note{fmt::format("{} of {}, {} missing, {} duplicates, {} conflicts{}", merged.done,
                              merged.plans, merged.missing.size(), merged.duplicates,
                              merged.conflicts.size(),
                              merged.failed > 0 ? fmt::format(", {} failed", merged.failed) : "")});
  const auto list = [&](const char* key, const char* column, const char* name,
                        const std::vector<std::string>& lines) {
    Table& table = report.add(Table{key, "", {{column, name}}});
    table.most_shown = longest_list;
    for (const std::string& line : lines) table.rows.push_back({line});
  };
  list("warnings", "warning", "warning", merged.warnings);
  list("conflicts", "conflict", "conflict", merged.conflicts);
  list("missing", "id", "missing", merged.missing);
  const bool has_list = merged.written && !merged.missing.empty();
  report.add(Fact{"missing_ids_file", has_list ? "ids of missing plans" : "",
                  has_list ? Value(missing_ids.string()) : Value()});
  if (has_list)
    report.add(Note{fmt::format(
        "'wallheat run --data PLANS --resume --out {}' solves the missing plans", out.string())});
  report.exit_status = !merged.written           ? exit_failed
                       : !merged.missing.empty() ? exit_work_left
                       : merged.failed > 0       ? exit_some_plans_failed
                                                 : exit_done;
  if (!merged.written)
    report.error =
        out.string() + " was not written: " +
        (merged.conflicts.empty() ? "plans are missing; run their shards again with --resume, or "
                                    "merge with --allow-missing and resume the merged file"
                                  : "parts contradict each other; find out which is wrong");
  return report;
}

}  // namespace

Report merge_command(Options& options) {
  fs::path out;
  fs::path missing_ids;
  std::vector<std::string> parts;
  MergeOptions merge;
  options.describe(
      "--out FILE [options] PART ...",
      "Gathers the result files of a job array's shards into one. Parts that a run still writes, "
      "or that a kill left, are read as they are by now; no part is changed. Answers of one plan "
      "in several parts must be equal bit for bit.\nExit status: 0 all plans answered, 1 nothing "
      "written (missing plans, conflicts, foreign parts), 2 wrong usage, 3 merged but some plans "
      "failed, 75 merged with plans missing.",
      {"wallheat merge --out all.h5 shards.part-1-of-2.h5 shards.part-2-of-2.h5",
       "wallheat merge --out all.h5 --overwrite --json shards.part-1-of-2.h5 "
       "shards.part-2-of-2.h5"});
  options.add("part", value(parts, "FILE"), "a part (also as an argument); any number");
  options.add("out,o", value(out, "FILE"), "the file to make");
  options.add("allow-missing", flag(merge.allow_missing),
              "make the file even if plans are missing; 'wallheat run --resume --out FILE' then "
              "solves them");
  options.add("missing-ids", value(missing_ids, "FILE"),
              "with --allow-missing: where to list the ids of missing plans, one a line "
              "(default: that of --out with .missing.txt for its extension)");
  options.add("overwrite", flag(merge.overwrite), "replace an existing result file and list");
  options.positional("part", -1);
  options.require({"out", "part"});
  options.parse();
  if (!missing_ids.empty() && !merge.allow_missing)
    throw UsageError("--missing-ids needs --allow-missing");
  if (missing_ids.empty()) (missing_ids = out).replace_extension(".missing.txt");
  check_files_of_merge(out, parts, missing_ids, merge);

  merge.session = {{"wallheat_version", std::string(version())},
                   {"hdf5_library", hdf5_library()},
                   {"end", "merged"},
                   {"started_utc", utc_now()}};
  const MergeReport merged = merge_results(out, {parts.begin(), parts.end()}, merge);
  remove_run_status(status_file(out));  // of a run whose file was there before
  if (merged.written && !merged.missing.empty()) write_ids_file(missing_ids, merged.missing);
  return report_of_merge(out, merged, missing_ids);
}

}  // namespace wallheat
