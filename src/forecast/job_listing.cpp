#include "forecast/job_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "core/text.hpp"
#include "forecast/listing_line.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

void JobListing::add(JobListing more) { std::ranges::move(more.jobs, std::back_inserter(jobs)); }

void JobListing::close_pending() {
  std::int64_t seen_s = 0;
  for (const JobRecord& job : jobs)
    seen_s = std::max({seen_s, job.submit_s, job.start_s, job.last_seen_s});
  for (JobRecord& job : jobs)
    if (job.is_pending) job.last_seen_s = seen_s;
}

void JobListing::deduplicate() {
  const auto stay = [](const JobRecord& job) { return std::tie(job.job, job.task, job.submit_s); };
  // Sorts pending records last; the longest wait without a start comes before shorter ones.
  std::ranges::stable_sort(jobs, {}, [&](const JobRecord& job) {
    return std::tuple(stay(job), job.is_pending, job.start_s, -job.last_seen_s);
  });
  const auto again = std::ranges::unique(jobs, [&](const JobRecord& a, const JobRecord& b) {
    return stay(a) == stay(b) && (b.is_pending || a.start_s == b.start_s);
  });
  jobs.erase(again.begin(), again.end());
}

namespace {

/// Returns 0 if the time is unknown.
std::int64_t sacct_time_in(const ListingTable& table, std::string_view time, const char* what) {
  if (time.empty() || time == "Unknown" || time == "None" || time == "N/A") return 0;
  if (!parse_number<std::int64_t>(time))
    table.refuse_listing(fmt::format("invalid {} '{}': not a time in seconds since 1970", what,
                                     time.substr(0, ListingLines::longest)));
  return table.time_s(time, what);
}

/// Parses a size such as "4000M", and returns it in bytes. Sizes without a unit are in MiB.
double bytes_in(const ListingLines& lines, std::string_view text) {
  constexpr std::string_view units = "KMGTP";
  double unit = 1 << 20;
  if (!text.empty() && units.find(text.back()) != std::string_view::npos) {
    unit = 1024;
    for (std::size_t power = units.find(text.back()); power > 0; --power) unit *= 1024;
    text.remove_suffix(1);
  }
  return lines.number<double>(text, "memory") * unit;
}

/// Returns the value of a resource in a list such as "cpu=4,mem=16G,node=1"; an empty string if the
/// list does not contain it.
std::string_view resource(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, end);
    if (item.size() > name.size() && item.starts_with(name) && item[name.size()] == '=')
      return item.substr(name.size() + 1);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return {};
}

/// Returns the total requested memory: from the list of all resources, or else from ReqMem, which
/// older versions of Slurm report per node ("n") or per core ("c").
double memory_of(const ListingLines& lines, const JobRecord& job, std::string_view required,
                 std::string_view list) {
  if (const auto text = resource(list, "mem"); !text.empty()) return bytes_in(lines, text);
  if (required.empty()) return 0;
  double count = 1;
  if (required.back() == 'n') count = job.nodes;
  if (required.back() == 'c') count = job.cpus;
  if (required.back() == 'n' || required.back() == 'c') required.remove_suffix(1);
  return required.empty() ? 0 : count * bytes_in(lines, required);
}

/// Returns the array of a task, or the job of a component: 123 for "123_4", "123_[5-9]" and
/// "123+1"; 0 if there is none.
std::uint64_t array_of(const ListingLines& lines, std::string_view job) {
  const std::size_t mark = job.find_first_of("_+");
  return mark == std::string_view::npos ? 0
                                        : lines.number<std::uint64_t>(job.substr(0, mark), "JobID");
}

}  // namespace

JobListing parse_sacct(const std::string& name, std::string_view text) {
  enum Column {  // in the order of sacct_fields
    job_raw,
    job_text,
    partition,
    qos,
    state,
    submit,
    eligible,
    start,
    end,
    limit,
    nodes,
    cpus,
    memory,
    resources
  };
  ListingTable table(name, text, split(sacct_fields, ','),
                     fmt::format("SLURM_TIME_FORMAT=%s sacct -X -D -n -P -o {}", sacct_fields));
  JobListing listing;
  while (table.next()) {
    if (table[job_text].find('.') != std::string_view::npos) continue;  // skips steps
    JobRecord job;
    job.job = table.number<std::uint64_t>(table[job_raw], "JobIDRaw");
    job.array = array_of(table, table[job_text]);
    // A pending job may list several partitions.
    job.partition = table[partition].substr(0, table[partition].find(','));
    job.qos = table[qos];
    job.submit_s = sacct_time_in(table, table[submit], "Submit");
    job.eligible_s = sacct_time_in(table, table[eligible], "Eligible");
    job.start_s = sacct_time_in(table, table[start], "Start");
    const std::int64_t ended_s = sacct_time_in(table, table[end], "End");
    if (!table[nodes].empty()) job.nodes = table.number<std::uint32_t>(table[nodes], "AllocNodes");
    if (!table[cpus].empty()) job.cpus = table.number<std::uint32_t>(table[cpus], "AllocCPUS");
    // For a job that was cancelled before it started, sacct reports the time of the cancellation as
    // its start, too, but no nodes.
    if (table[state].starts_with("PENDING") || (job.nodes == 0 && job.cpus == 0)) job.start_s = 0;
    if (job.start_s == 0) {
      job.last_seen_s = ended_s;
      const std::string_view asked = resource(table[resources], "cpu");
      if (!asked.empty()) job.cpus = table.number<std::uint32_t>(asked, "ReqTRES");
    }
    if (const auto minutes = parse_number<std::int64_t>(table[limit]); minutes && *minutes > 0)
      job.limit_s = std::min<std::int64_t>(*minutes, 1'000'000'000) * 60;
    job.is_pending = job.start_s == 0 && job.last_seen_s == 0;
    job.memory_bytes = memory_of(table, job, table[memory], table[resources]);
    listing.jobs.push_back(std::move(job));
  }
  listing.close_pending();
  return listing;
}

namespace {

/// Parses "[Mon] Sep 25 21:15[:03] 2024 [L]" in the local time of this machine. The letter at the
/// end shows how an expected time was computed. Returns nullopt if the text is not such a time.
std::optional<std::int64_t> parse_lsf_time(std::string_view text) {
  const std::string whole(text);
  for (const char* format :
       {"%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M %Y", "%b %d %H:%M:%S %Y", "%b %d %H:%M %Y"}) {
    std::tm time{};
    const char* const rest = ::strptime(whole.c_str(), format, &time);
    if (rest == nullptr) continue;
    const std::string_view letter = rest;
    time.tm_isdst = -1;
    const std::time_t seconds = std::mktime(&time);
    if (seconds > 0 && letter.size() <= 2) return seconds;
  }
  return std::nullopt;
}

/// Returns a time of bjobs; 0 for "-".
std::int64_t bjobs_time_in(const ListingTable& table, std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.empty() || text.substr(0, text.find(' ')) == "-") return 0;
  if (const auto time = parse_lsf_time(text)) return *time;
  table.refuse_listing(fmt::format("'{}' is not a time with a year, such as Sep 25 21:15:03 2023",
                                   text.substr(0, ListingLines::longest)));
}

}  // namespace

JobListing parse_bjobs(const std::string& name, std::string_view text) {
  enum Column { number, index, queue, state, submit, start, finish, slots, limit };
  ListingTable table(name, text,
                     {"JOBID", "JOBINDEX", "QUEUE", "STAT", "SUBMIT_TIME", "START_TIME",
                      "FINISH_TIME", "NREQ_SLOT", "RUNTIMELIMIT"},
                     fmt::format("LSB_DISPLAY_YEAR=Y bjobs -a -o \"{}\"", bjobs_fields));
  JobListing listing;
  while (table.next()) {
    JobRecord job;
    const std::string_view id = table[number];  // "1234" or "1234[5]"
    job.job = table.number<std::uint64_t>(id.substr(0, id.find('[')), "JOBID");
    if (const auto task = parse_number<std::uint32_t>(table[index]); task && *task > 0) {
      job.task = *task;
      job.array = job.job;
    }
    job.partition = table[queue];
    job.submit_s = job.eligible_s = bjobs_time_in(table, table[submit]);
    job.start_s = bjobs_time_in(table, table[start]);
    const bool is_held = table[state] == "PSUSP";
    job.is_pending = is_held || table[state] == "PEND";
    if (job.is_pending) job.start_s = 0;  // bjobs reports the expected start
    if (is_held) job.eligible_s = 0;      // it cannot start
    if (!job.is_pending && job.start_s == 0) job.last_seen_s = bjobs_time_in(table, table[finish]);
    job.cpus = parse_number<std::uint32_t>(table[slots]).value_or(1);
    const std::string_view minutes = table[limit].substr(0, table[limit].find_first_of(" /"));
    if (const auto value = parse_number<double>(minutes); value && *value > 0 && *value < 1e9)
      job.limit_s = static_cast<std::int64_t>(*value * 60);
    listing.jobs.push_back(std::move(job));
  }
  listing.close_pending();
  return listing;
}

namespace {

constexpr std::string_view report_begin = "Sender: LSF System";

/// Returns the text between the last `mark` in a line and `end`; nullopt if `mark` or `end` is
/// missing.
std::optional<std::string_view> text_after(std::string_view line, std::string_view mark,
                                           std::string_view end = "") {
  const std::size_t at = line.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + mark.size());
  const std::size_t length = end.empty() ? line.size() : line.find(end);
  if (length == std::string_view::npos) return std::nullopt;
  return line.substr(0, length);
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Parses the report on one job, line by line.
class LsfReport {
 public:
  explicit LsfReport(const ListingLines& lines) : lines_(lines) {}

  void read(std::string_view line) {
    if (job_.job == 0 && line.starts_with("Subject: Job ")) {
      const std::string_view id = line.substr(13, line.substr(13).find(':'));
      job_.job = lines_.number<std::uint64_t>(id.substr(0, id.find('[')), "job ID");
      if (const auto task = text_after(id, "[", "]")) {
        job_.task = lines_.number<std::uint32_t>(*task, "array index");
        job_.array = job_.job;
      }
    } else if (job_.submit_s == 0 && line.starts_with("Job <") &&
               line.find("> was submitted from ") != line.npos) {
      job_.submit_s = job_.eligible_s = time_after(line, " at ");
    } else if (line.starts_with("Job was executed on host(s)")) {
      if (const auto queue = text_after(line, "in queue <", ">")) job_.partition = *queue;
      is_host_list_ = true;
      add_host(text_after(line, "host(s) <", ">"));
    } else if (is_host_list_ && line.starts_with(' ')) {  // a further host
      add_host(text_after(line, "<", ">"));
    } else {
      is_host_list_ = false;
      if (job_.start_s == 0 && line.starts_with("Started at "))
        job_.start_s = time_after(line, "Started at ");
      if (end_s_ == 0 && line.starts_with("Terminated at "))
        end_s_ = time_after(line, "Terminated at ");
      if (line.starts_with("#BSUB ")) read_options(line);
      if (const auto memory = text_after(line, "Total Requested Memory :")) read_memory(*memory);
    }
  }

  [[nodiscard]] JobRecord finish() {
    for (const auto& [value, what] :
         {std::pair(job_.job, "Subject: Job"),
          {static_cast<std::uint64_t>(job_.submit_s), "was submitted from"},
          {static_cast<std::uint64_t>(job_.start_s + end_s_), "Started at"}})
      if (value == 0)
        lines_.throw_at_line(
            fmt::format("the LSF report that ends here has no line with '{}'; remove the report "
                        "if its output was truncated",
                        what));
    if (job_.start_s == 0) job_.last_seen_s = end_s_;
    return std::move(job_);
  }

 private:
  std::int64_t time_after(std::string_view line, std::string_view mark) {
    const std::string_view text = without_blanks(text_after(line, mark).value_or(line));
    const auto time = parse_lsf_time(text);
    if (!time)
      lines_.throw_at_line(
          fmt::format("'{}' is not a time of LSF, such as Mon Sep 25 21:15:03 2023",
                      text.substr(0, ListingLines::longest)));
    return *time;
  }

  /// Adds a host, such as "4*node1" or "node1".
  void add_host(std::optional<std::string_view> host) {
    if (!host) return;
    const std::size_t star = host->find('*');
    ++job_.nodes;
    job_.cpus += star == std::string_view::npos
                     ? 1
                     : lines_.number<std::uint32_t>(host->substr(0, star), "number of slots");
  }

  /// Reads the time limit, in minutes or as HOURS:MINUTES, from an option of the job script.
  void read_options(std::string_view line) {
    const auto option = text_after(line, " -W ");
    if (!option) return;
    const std::string_view text = without_blanks(*option);
    const std::string_view limit = text.substr(0, text.find_first_of(" \t/#"));
    constexpr std::int64_t max = 1'000'000;
    if (const auto minutes = parse_number<std::int64_t>(limit);
        minutes && *minutes > 0 && *minutes < max)
      job_.limit_s = *minutes * 60;
    if (const auto time = parse_pair<std::int64_t>(':', limit);
        time && time->first >= 0 && time->first < max && time->second >= 0 && time->second < max)
      job_.limit_s = (time->first * 60 + time->second) * 60;
  }

  /// Parses "4096.00 MB" or "-". Units of LSF are powers of 1024.
  void read_memory(std::string_view text) {
    text = without_blanks(text);
    const std::size_t blank = text.find(' ');
    const auto value = parse_number<double>(text.substr(0, blank));
    if (!value || blank == std::string_view::npos || !(*value > 0) || blank + 1 >= text.size())
      return;
    job_.memory_bytes =
        bytes_in(lines_, fmt::format("{}{}", text.substr(0, blank), text[blank + 1]));
  }

  const ListingLines& lines_;
  JobRecord job_;
  std::int64_t end_s_ = 0;
  bool is_host_list_ = false;
};

}  // namespace

bool has_lsf_report(std::string_view text) {
  return text.starts_with(report_begin) ||
         text.find('\n' + std::string(report_begin)) != std::string_view::npos;
}

JobListing parse_lsf_reports(const std::string& name, std::string_view text) {
  JobListing listing;
  ListingLines lines(name, text);
  std::optional<LsfReport> report;
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with(report_begin)) {
      if (report) listing.jobs.push_back(report->finish());
      report.emplace(lines);
    } else if (report) {
      report->read(line);
      if (line.starts_with("The output (if any) ")) {
        listing.jobs.push_back(report->finish());
        report.reset();
      }
    }
  }
  if (report) listing.jobs.push_back(report->finish());
  return listing;
}

}  // namespace wallheat
