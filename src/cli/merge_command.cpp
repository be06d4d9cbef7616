#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <unordered_set>

#include "cli/command_files.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "core/printable.hpp"
#include "core/version.hpp"
#include "io/print_error.hpp"
#include "store/merge.hpp"
#include "store/result_path.hpp"
#include "view/json.hpp"
#include "view/output_file.hpp"
#include "view/run_status.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {
namespace {

constexpr std::size_t longest_list = 10;

void write_ids_file(const std::filesystem::path& file, const std::vector<std::string>& ids) {
  std::string lines;
  for (const std::string& id : ids) lines += id + '\n';
  try {
    write_output(file, lines);
  } catch (const RunError& error) {
    throw RunError(fmt::format("{}; the merged file itself is complete", error.what()));
  }
}

/// Throws RunError where a list that is to be replaced names anything but plans of this campaign.
void require_list_of_plans(const std::filesystem::path& file, const std::string& part) {
  if (!std::filesystem::is_regular_file(file)) return;  // a pipe or a device is not replaced
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
void check_files_of_merge(const std::filesystem::path& out, const std::vector<std::string>& parts,
                          const std::filesystem::path& missing_ids, const MergeOptions& merge) {
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

void print_merge_json(const std::filesystem::path& out, const MergeReport& report,
                      const std::filesystem::path& missing_ids) {
  const bool has_list = report.written && !report.missing.empty();
  const Json json{{"file", out.string()},
                  {"written", report.written},
                  {"plans", report.plans},
                  {"done", report.done},
                  {"failed", report.failed},
                  {"duplicates", report.duplicates},
                  {"missing", report.missing},
                  {"missing_ids_file", has_list ? Json(missing_ids.string()) : Json()},
                  {"conflicts", report.conflicts},
                  {"warnings", report.warnings}};
  fmt::print("{}", json_text(json));
}

void print_list(const char* what, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < std::min(lines.size(), longest_list); ++i)
    print_error("{}: {}", what, printable(lines[i]));
  if (lines.size() > longest_list)
    print_error("{}: and {} more", what, lines.size() - longest_list);
}

void print_merge_for_people(const MergeReport& report) {
  for (const std::string& sentence : report.warnings)
    print_error("wallheat: warning: {}", printable(sentence));
  print_list("conflict", report.conflicts);
  print_list("missing", report.missing);
  fmt::print("{} of {}, {} missing, {} duplicates, {} conflicts{}\n", report.done, report.plans,
             report.missing.size(), report.duplicates, report.conflicts.size(),
             report.failed > 0 ? fmt::format(", {} failed", report.failed) : "");
}

}  // namespace

int merge_command(Options& options) {
  std::filesystem::path out;
  std::filesystem::path missing_ids;
  std::vector<std::string> parts;
  MergeOptions merge;
  bool json = false;
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
  options.add("json", flag(json), "print what was merged as one JSON object");
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
  const MergeReport report = merge_results(out, {parts.begin(), parts.end()}, merge);
  remove_run_status(status_file(out));  // of a run whose file was there before
  if (json) {
    print_merge_json(out, report, missing_ids);
  } else {
    print_merge_for_people(report);
  }
  if (!report.written) {
    throw RunError(out.string() + " was not written: " +
                   (report.conflicts.empty()
                        ? "plans are missing; run their shards again with --resume, or "
                          "merge with --allow-missing and resume the merged file"
                        : "parts contradict each other; find out which is wrong"));
  }
  if (!report.missing.empty()) {
    write_ids_file(missing_ids, report.missing);
    if (json) return exit_work_left;
    fmt::print(
        "the ids of the missing plans are in {}; 'wallheat run --data PLANS --resume --out {}' "
        "solves them\n",
        missing_ids.string(), out.string());
    return exit_work_left;
  }
  return report.failed > 0 ? exit_some_plans_failed : exit_done;
}

}  // namespace wallheat
