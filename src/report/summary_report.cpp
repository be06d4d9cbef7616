#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/text.hpp"
#include "report/summary.hpp"
#include "view/advice.hpp"

namespace wallheat {
namespace {

const Style celsius{Form::decimals, 3, "°C"};

/// With lines at mean and median; and the plans that lie far from the others.
void add_means(const Summary& summary, std::size_t most_bins, Report& report) {
  const Histogram histogram = histogram_of(summary.means, most_bins);
  Figure& figure =
      add_histogram(histogram, counted(summary.means.size(), "plan") + " by mean temperature",
                    "mean temperature of a plan, °C", report);
  if (!figure.series.empty()) {
    const double highest = 1.08 * std::ranges::max(figure.series.front().y);
    for (const auto& [name, at, is_dashed] : {std::tuple("mean", summary.mean_of_means, false),
                                              {"median", summary.median_of_means, true}})
      figure.add_upright(fmt::format("{} {:#.4g} °C", name, at), at, 0, highest, is_dashed);
  }
  Table& outliers = report.add(Table{
      "outliers", "far from the others", {{"id", "plan"}, {"mean_temp", "mean", {.unit = "°C"}}}});
  outliers.most_shown = 10;
  for (const std::size_t i : histogram.outliers)
    outliers.rows.push_back({summary.ids[i], summary.means[i]});
}

Table table_of_seconds(const char* key, const char* name,
                       const std::vector<std::pair<std::string, double>>& entries) {
  Table table{key,
              name,
              {{"name", "where"},
               {"seconds", "time", {Form::duration}},
               {"percent", "share", {Form::decimals, 1, "%"}}}};
  double all = 0;
  for (const auto& [entry, seconds] : entries) all += seconds;
  if (!(all > 0)) return table;
  for (const auto& [entry, seconds] : entries)
    table.rows.push_back({entry, seconds, 100 * seconds / all});
  return table;
}

void add_gpus(const WallTime& wall, Report& report) {
  std::vector<std::pair<std::string, double>> entries;
  for (const GpuSessionPart& part : gpu_session_parts)
    entries.emplace_back(part.text, wall.on_gpus.*part.seconds);
  report.add(table_of_seconds("on_gpus", "where the time of plans on GPUs went", entries));
  if (!wall.kernels.empty()) report.add_note(wall.kernels);
}

void add_plans_to_name(const Summary& summary, Report& report) {
  Table& slowest = report.add(Table{"slowest",
                                    "slowest plans",
                                    {{"id", "plan"},
                                     {"seconds", "time", {Form::duration}},
                                     {"iterations", "iterations"},
                                     {"interior_cells", "interior cells"},
                                     {"device", "device"},
                                     {"host", "host"}}});
  for (const PlanResult& row : summary.slowest)
    slowest.rows.push_back(
        {row.id, row.seconds, row.iterations, row.interior_cells, row.device, row.host});
  if (summary.rooms) {
    Table& rooms = report.add(Table{"coldest_rooms",
                                    "coldest rooms",
                                    {{"id", "plan"},
                                     {"room", "room"},
                                     {"mean_temp", "mean", celsius},
                                     {"min_temp", "least", celsius},
                                     {"max_temp", "largest", celsius},
                                     {"pct_below",
                                      fmt::format("below {} °C", summary.thresholds.below),
                                      {Form::decimals, 1, "%"}},
                                     {"cells", "cells"},
                                     {"rows", "rows"},
                                     {"cols", "columns"}}});
    rooms.most_shown = 5;
    for (const auto& [room, id] : summary.rooms->coldest)
      rooms.rows.push_back({id, room.room, room.mean_temp, room.min_temp, room.max_temp,
                            pct_below(room), room.cells,
                            fmt::format("{} to {}", room.first_row, room.last_row),
                            fmt::format("{} to {}", room.first_col, room.last_col)});
  }
}

/// What failed, whichever plan it was: its sentence without the plan's name, as a word of it.
std::string without_id(std::string error, const std::string& id) {
  const auto is_of_a_word = [&](std::size_t at) {
    return at < error.size() && std::isalnum(static_cast<unsigned char>(error[at])) != 0;
  };
  for (std::size_t at = 0; !id.empty() && (at = error.find(id, at)) != std::string::npos; ++at) {
    if (is_of_a_word(at - 1) || is_of_a_word(at + id.size())) continue;
    return error.replace(at, id.size(), "ID");
  }
  return error;
}

/// By cause, and for scripts each.
void add_failures(const std::vector<FailedPlan>& failed, const std::string& file, Report& report) {
  Table& each =
      report.add(Table{"failed_plans", "", {{"id", ""}, {"attempts", ""}, {"error", ""}}});
  std::map<std::string, std::vector<const FailedPlan*>> by_cause;
  for (const FailedPlan& plan : failed) {
    const auto& [id, attempts, error] = plan;
    each.rows.push_back({id, attempts, error});
    by_cause[without_id(error, id)].push_back(&plan);
  }
  Table& causes = report.add(Table{
      "failures",
      "failed plans",
      {{"plans", "plans"}, {"cause", "cause"}, {"ids", "such as"}, {"again", "to try one again"}}});
  constexpr std::size_t few = 3;
  for (const auto& [cause, plans] : by_cause) {
    const FailedPlan& first = *plans.front();
    std::string ids = first.id;
    for (std::size_t i = 1; i < std::min(plans.size(), few); ++i) ids += ", " + plans[i]->id;
    causes.rows.push_back({plans.size(), plans.size() == 1 ? first.error : cause, ids,
                           fmt::format("wallheat solve {} --data PLANS", first.id)});
  }
  if (!failed.empty() && !file.empty())
    report.add_note("All of them again, once their input is mended: " + resume_command(file) +
                    and_retry_failed);
}

void add_record(const ResultReader& reader, Report& report) {
  Table& settings =
      report.add(Table{"settings", "settings of the run", {{"name", "name"}, {"value", "value"}}});
  settings.is_folded = true;
  for (const auto& [name, setting] : reader.settings()) settings.rows.push_back({name, setting});
  Table& sessions =
      report.add(Table{"sessions",
                       fmt::format("sessions ({})", reader.sessions().size()),
                       {{"started_utc", "started", {Form::time}},
                        {"ended_utc", "ended (- if killed, or still running)", {Form::time}},
                        {"end", "end"},
                        {"solved", "solved"},
                        {"failed", "failed"},
                        {"restored", ""},
                        {"seconds", "wall time", {Form::duration}},
                        {"threads", "threads"},
                        {"plans_at_once", ""},
                        {"rank_memory", ""},
                        {"command_line", "command"}}});
  sessions.is_folded = true;
  for (const Attributes& session : reader.sessions()) {
    Table::Row& row = sessions.rows.emplace_back();
    for (const Table::Column& column : sessions.columns) {
      const auto found = session.find(column.key);
      const auto number = found == session.end() ? std::nullopt : number_of<double>(found->second);
      row.push_back(found == session.end() ? Value() : number ? Value(*number) : found->second);
    }
  }
}

/// In the order in which people read it; with the sections that only a page has.
Report report_with(const Summary& summary, const SummarySource& of, const SummaryPage* page) {
  const ResultReader* const reader = of.reader.get();
  const bool closed_well = reader == nullptr || reader->closed_well();
  std::optional<WallTime> wall;
  if (reader != nullptr && of.are_all_rows) wall = wall_time(reader->sessions());
  Report report{std::filesystem::path(of.file).filename().string()};
  report.parts.assign(of.left_out.begin(), of.left_out.end());
  add_summary_facts(summary, wall, of.cell_metres, report);
  report.add_data("closed_well", closed_well);
  if (!closed_well)
    report.add_line(
        "state", "the file is still being written, or its writer was killed: go on with --resume");
  if (page != nullptr) page->add_origin(report);
  add_means(summary, of.most_bins, report);
  if (page != nullptr) page->add_plans(report);
  // A ledger tells more than the phases of plans.
  if (page == nullptr || !page->has_ledgers())
    report.add(table_of_seconds("phases", "where the time of solver threads went", summary.phases));
  if (wall) add_gpus(*wall, report);
  add_plans_to_name(summary, report);
  add_failures(summary.failed, of.file, report);
  if (page != nullptr) page->add_times(report);
  if (reader != nullptr) add_record(*reader, report);
  if (page != nullptr) page->add_rows(report);
  return report;
}

}  // namespace

Report report_of(const Summary& summary, const SummarySource& of) {
  Report report = report_with(summary, of, nullptr);
  if (of.reader)
    report.for_page = [summary, of] {
      const SummaryPage page(of, summary.thresholds);
      return report_with(summary, of, &page);
    };
  return report;
}

}  // namespace wallheat
