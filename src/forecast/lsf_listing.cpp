#include <algorithm>
#include <ctime>

#include "forecast/job_listing.hpp"
#include "forecast/listing_line.hpp"

namespace wallheat {
namespace {

std::string bjobs_command() {
  return fmt::format("LSB_DISPLAY_YEAR=Y bjobs -a -o \"{}\"", bjobs_fields);
}

/// "[Mon] Sep 25 21:15[:03] 2024 [L]" in the local time of this machine; 0 for "-". The letter says
/// where an expected time comes from.
std::int64_t bjobs_time_in(const ListingLines& lines, std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.empty() || text.substr(0, text.find(' ')) == "-") return 0;
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
  lines.refuse(
      fmt::format("'{}' is no time with a year, as Sep 25 21:15:03 2023; make the listing "
                  "with {}",
                  text.substr(0, ListingLines::longest), bjobs_command()));
}

}  // namespace

JobListing parse_bjobs(const std::string& name, std::string_view text) {
  JobListing listing;
  ListingLines lines(name, text);
  std::vector<std::string_view> header;
  std::vector<std::string_view> fields;
  enum Field { number, index, queue, state, submit, start, finish, slots, limit };
  std::vector<std::size_t> places;
  for (std::string_view line; lines.next(line);) {
    if (line.empty()) continue;
    split(line, '|', fields);
    if (header.empty()) {
      header = fields;
      places = places_of(lines, header,
                         {"JOBID", "JOBINDEX", "QUEUE", "STAT", "SUBMIT_TIME", "START_TIME",
                          "FINISH_TIME", "NREQ_SLOT", "RUNTIMELIMIT"},
                         bjobs_command());
      continue;
    }
    if (fields.size() != header.size())
      lines.refuse(fmt::format("{} fields in place of {}", fields.size(), header.size()));
    const auto field = [&](Field which) { return fields[places[which]]; };
    JobRecord job;
    const std::string_view id = field(number);  // "1234" or "1234[5]"
    job.job = lines.number<std::uint64_t>(id.substr(0, id.find('[')), "JOBID");
    if (const auto task = number_of<std::uint32_t>(field(index)); task && *task > 0) {
      job.task = *task;
      job.array = job.job;
    }
    job.partition = listing.names.place_of(field(queue));
    job.qos = listing.names.place_of("");
    job.submit_s = job.eligible_s = bjobs_time_in(lines, field(submit));
    job.start_s = bjobs_time_in(lines, field(start));
    const bool is_held = field(state) == "PSUSP";
    job.waits_still = is_held || field(state) == "PEND";
    if (job.waits_still) job.start_s = 0;  // it is the expected one
    if (is_held) job.eligible_s = 0;       // it cannot start
    if (!job.waits_still && job.start_s == 0) job.until_s = bjobs_time_in(lines, field(finish));
    job.cpus = number_of<std::uint32_t>(field(slots)).value_or(1);
    const std::string_view minutes = field(limit).substr(0, field(limit).find_first_of(" /"));
    if (const auto value = number_of<double>(minutes); value && *value > 0 && *value < 1e9)
      job.limit_s = static_cast<std::int64_t>(*value * 60);
    listing.jobs.push_back(job);
  }
  listing.end_what_waits();
  return listing;
}

}  // namespace wallheat
