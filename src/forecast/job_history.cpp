#include "forecast/job_history.hpp"

#include <fcntl.h>

#include <set>
#include <span>
#include <tuple>

#include "forecast/listing_line.hpp"
#include "io/file_names.hpp"
#include "io/files.hpp"
#include "io/write_lock.hpp"

namespace wallheat {
namespace {

constexpr std::string_view version = "1";
constexpr std::string_view columns =
    "job,task,array,partition,qos,submit_s,eligible_s,start_s,until_s,limit_s,nodes,cpus,"
    "memory_bytes";

/// What tells two stays in a queue apart.
auto stay_of(const JobRecord& job) {
  return std::tuple(job.job, job.task, job.submit_s, job.start_s);
}

std::string unquoted(std::string_view field) {
  if (!field.starts_with('"')) return std::string(field);
  std::string name;
  for (std::size_t i = 1; i + 1 < field.size(); ++i) {
    name += field[i];
    if (field[i] == '"') ++i;  // it stands twice
  }
  return name;
}

/// Splits a line at the commas that are not within quotes.
void split_csv(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t begin = 0; begin <= line.size();) {
    bool quoted_here = false;
    std::size_t end = begin;
    for (; end < line.size() && (quoted_here || line[end] != ','); ++end)
      if (line[end] == '"') quoted_here = !quoted_here;
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// Replaces the file durably: whatever happens, the old history or the new one is there.
void replace_durably(const std::filesystem::path& file, std::string_view text) {
  const auto temporary = temporary_path(file);
  try {
    File out = File::make(temporary);
    take_rights_of(file, out);
    out.append(std::as_bytes(std::span(text)));
    out.sync();
    rename_durably(temporary, file);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

}  // namespace

JobListing parse_history(const std::string& name, std::string_view text) {
  JobListing listing;
  ListingLines lines(name, text);
  std::string_view line;
  if (!lines.next(line) || line != std::string(history_title) + std::string(version))
    lines.refuse(
        fmt::format("this is no history of version {} of 'wallheat queue --history'; name "
                    "another file, and it begins a new one",
                    version));
  std::vector<std::string_view> fields;
  if (!lines.next(line) || line != columns)
    lines.refuse(fmt::format("the names of the columns are not {}", columns));
  const auto width = static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ',')) + 1;
  while (lines.next(line)) {
    split_csv(line, fields);
    if (fields.size() != width)
      lines.refuse(fmt::format("{} fields in place of {}", fields.size(), width));
    JobRecord job;
    job.job = lines.number<std::uint64_t>(fields[0], "job");
    job.task = lines.number<std::uint32_t>(fields[1], "task");
    job.array = lines.number<std::uint64_t>(fields[2], "array");
    job.partition = listing.names.place_of(unquoted(fields[3]));
    job.qos = listing.names.place_of(unquoted(fields[4]));
    job.submit_s = lines.time_s(fields[5], "submit_s");
    job.eligible_s = lines.time_s(fields[6], "eligible_s");
    job.start_s = lines.time_s(fields[7], "start_s");
    job.until_s = lines.time_s(fields[8], "until_s");
    job.limit_s = lines.time_s(fields[9], "limit_s");
    job.nodes = lines.number<std::uint32_t>(fields[10], "nodes");
    job.cpus = lines.number<std::uint32_t>(fields[11], "cpus");
    job.memory_bytes = lines.number<double>(fields[12], "memory_bytes");
    listing.jobs.push_back(job);
  }
  return listing;
}

std::string history_text(const JobListing& listing) {
  std::string text = fmt::format("{}{}\n{}\n", history_title, version, columns);
  for (const JobRecord& job : listing.jobs) {
    if (job.waits_still) continue;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{},{},{:.0f}\n",
                   job.job, job.task, job.array, csv_cell(listing.names.at(job.partition)),
                   csv_cell(listing.names.at(job.qos)), job.submit_s, job.eligible_s, job.start_s,
                   job.until_s, job.limit_s, job.nodes, job.cpus, job.memory_bytes);
  }
  return text;
}

std::size_t merge_listings(JobListing& listing, const JobListing& more) {
  std::set<decltype(stay_of({}))> known;
  // Accounting lists jobs in order, so most come last.
  for (const JobRecord& job : listing.jobs) known.insert(known.end(), stay_of(job));
  std::size_t added = 0;
  for (JobRecord job : more.jobs) {
    if (!known.insert(stay_of(job)).second) continue;
    job.partition = listing.names.place_of(more.names.at(job.partition));
    job.qos = listing.names.place_of(more.names.at(job.qos));
    listing.jobs.push_back(job);
    ++added;
  }
  return added;
}

JobListing keep_history(const std::filesystem::path& file, const JobListing& listing) {
  std::size_t added = 0;
  const auto merged = [&] {
    JobListing all;
    const bool is_new = !is_there(file);
    if (!is_new) all = parse_history(file.string(), read_whole(file));
    added = merge_listings(all, listing) + (is_new ? 1 : 0);
    return all;
  };
  JobListing all = merged();
  if (added == 0) return all;
  // Another one may have added records since.
  const WriteLock lock(file);
  all = merged();
  replace_durably(file, history_text(all));
  return all;
}

}  // namespace wallheat
