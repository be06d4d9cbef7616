#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "report/compare.hpp"
#include "report/html.hpp"
#include "report/time_ledger.hpp"
#include "view/json.hpp"
#include "view/time_text.hpp"

namespace wallheat {
namespace {

CompareReport compare_runs(const Answers& run, const Answers& other) {
  CompareReport report;
  report.comparisons = {compare(run, other)};
  report.plans = run.count();
  for (const Answers* of : {&run, &other})
    if (auto time = time_of(of->name, *of->reader)) report.times.push_back(*time);
  return report;
}

using LedgerEntries = std::vector<std::pair<std::string, double>>;

/// Where the time of all threads of all sessions went, in s.
struct ThreadTime {
  double total_s = 0;
  LedgerEntries entries;  ///< empty where no session tells
};

/// Gives `entries` those names of `others` that it lacks, in their places, with 0: only sessions
/// with GPUs have parts for them.
void add_names(const LedgerEntries& others, LedgerEntries& entries) {
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::string& name = others[i].first;
    if (std::ranges::find(entries, name, &LedgerEntries::value_type::first) == entries.end())
      entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(std::min(i, entries.size())),
                     {name, 0.0});
  }
}

ThreadTime thread_time(const Answers& run) {
  ThreadTime time;
  for (const TimeLedger& ledger :
       ledgers_of(lanes_of(rows_of(*run.reader)), run.reader->sessions())) {
    time.total_s += ledger.total_s();
    if (time.entries.empty()) {
      time.entries = ledger.entries;
      continue;
    }
    LedgerEntries entries = ledger.entries;
    add_names(entries, time.entries);
    add_names(time.entries, entries);
    for (std::size_t i = 0; i < entries.size(); ++i) time.entries[i].second += entries[i].second;
  }
  return time;
}

std::string ledgers_html(const Answers& run, const Answers& other) {
  ThreadTime first = thread_time(run);
  ThreadTime second = thread_time(other);
  for (const auto& [time, of] : {std::pair{&first, &run}, std::pair{&second, &other}})
    if (time->entries.empty())
      return fmt::format("<p>{} does not tell where its time went.</p>\n", escaped(of->name));
  add_names(second.entries, first.entries);
  add_names(first.entries, second.entries);
  std::vector<std::vector<std::string>> rows{
      {"thread time", run.name, "share", other.name, "share"}};
  const auto share = [](double seconds, const ThreadTime& of) {
    return fmt::format("{:.2f} %", 100 * seconds / of.total_s);
  };
  for (std::size_t i = 0; i < first.entries.size(); ++i) {
    const auto& [name, seconds] = first.entries[i];
    const double other_seconds = second.entries.at(i).second;
    rows.push_back({name, duration_text(seconds), share(seconds, first),
                    duration_text(other_seconds), share(other_seconds, second)});
  }
  rows.push_back({"all threads", duration_text(first.total_s), "100.00 %",
                  duration_text(second.total_s), "100.00 %"});
  return table("lrrrr", rows);
}

std::string table_of(const TextTable& text) {
  return text.rows.empty() ? "" : table(text.alignment, text.rows);
}

std::string heading(const char* text) { return fmt::format("<h3>{}</h3>\n", text); }

}  // namespace

std::string comparison_html(const Answers& run, const Answers& other) {
  const CompareReport report = compare_runs(run, other);
  const Comparison& found = report.comparisons.front();
  std::string html = heading("Settings");
  html += found.settings.empty() ? "<p>Settings, version and devices are the same.</p>\n"
                                 : table_of(settings_table(found));
  html += heading("Times");
  for (const Answers* of : {&run, &other})
    if (!time_of(of->name, *of->reader))
      html += fmt::format("<p>No session of {} left its wall time.</p>\n", escaped(of->name));
  html += table_of(times_table(report));
  html += table_of(gpu_times_table(report));
  html += heading("Answers that differ");
  constexpr std::size_t longest_list = 20;
  TextTable plans = plans_table(found, longest_list);
  plans.rows.insert(plans.rows.begin(), {"", ""});
  html += table_of(plans) + table_of(columns_table(found));
  if (found.fields)
    html +=
        fmt::format("<p>field: over all cells of the {} plans whose fields both files hold</p>\n",
                    found.compared_fields);
  constexpr int height = 420;
  if (!found.histogram().bins.empty() || report.times.size() > 1)
    html += inline_plot(compare_plot(report), height);
  return html + heading("Where the time went") + ledgers_html(run, other);
}

Json comparison_json(const Answers& run, const Answers& other) {
  const CompareReport report = compare_runs(run, other);
  Json json{{"file", other.name}};
  json.update(to_json(report));
  for (const auto& [name, of] :
       {std::pair{"thread_seconds", &run}, std::pair{"other_thread_seconds", &other}}) {
    json[name] = Json::object();
    for (const auto& [entry, seconds] : thread_time(*of).entries) json[name][entry] = seconds;
  }
  return json;
}

}  // namespace wallheat
