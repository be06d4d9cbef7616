#include <algorithm>
#include <ctime>

#include "forecast/job_listing.hpp"
#include "forecast/listing_line.hpp"

namespace wallheat {
namespace {

/// "[Mon] Sep 25 21:15[:03] 2024 [L]" in the local time of this machine; 0 for "-". The letter at
/// the end tells how an expected time was found.
std::int64_t bjobs_time_in(const ListingTable& table, std::string_view text) {
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
  table.refuse_listing(fmt::format("'{}' is no time with a year, as Sep 25 21:15:03 2023",
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
    if (const auto task = number_of<std::uint32_t>(table[index]); task && *task > 0) {
      job.task = *task;
      job.array = job.job;
    }
    job.partition = table[queue];
    job.submit_s = job.eligible_s = bjobs_time_in(table, table[submit]);
    job.start_s = bjobs_time_in(table, table[start]);
    const bool is_held = table[state] == "PSUSP";
    job.waits_still = is_held || table[state] == "PEND";
    if (job.waits_still) job.start_s = 0;  // it is the expected one
    if (is_held) job.eligible_s = 0;       // it cannot start
    if (!job.waits_still && job.start_s == 0) job.until_s = bjobs_time_in(table, table[finish]);
    job.cpus = number_of<std::uint32_t>(table[slots]).value_or(1);
    const std::string_view minutes = table[limit].substr(0, table[limit].find_first_of(" /"));
    if (const auto value = number_of<double>(minutes); value && *value > 0 && *value < 1e9)
      job.limit_s = static_cast<std::int64_t>(*value * 60);
    listing.jobs.push_back(std::move(job));
  }
  listing.end_what_waits();
  return listing;
}

}  // namespace wallheat
