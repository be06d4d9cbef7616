#include <algorithm>
#include <ctime>
#include <optional>

#include "forecast/job_listing.hpp"
#include "forecast/listing_line.hpp"

namespace wallheat {
namespace {

/// A local time in s since 1970. In the hour that autumn repeats there are two: then the first that
/// is not before `not_before_s`. Nothing where there is none.
std::optional<std::int64_t> seconds_of(const std::tm& local, std::int64_t not_before_s) {
  std::optional<std::int64_t> found;
  for (const int daylight_saving : {1, 0, -1}) {
    std::tm time = local;
    time.tm_isdst = daylight_saving;
    const std::time_t seconds = std::mktime(&time);
    // A wrong guess moves the clock; -1 leaves the guess, and a gap of spring, to the system.
    const bool is_time =
        daylight_saving == -1 || (time.tm_hour == local.tm_hour && time.tm_min == local.tm_min);
    if (seconds <= 0 || !is_time) continue;
    if (seconds >= not_before_s) return seconds;
    if (!found) found = seconds;
  }
  return found;
}

/// "[Mon] Sep 25 21:15[:03] [2024] [L]" in the local time of this machine; 0 for "-". The letter
/// says where an expected time comes from. `not_before_s` is what happened earlier.
std::int64_t lsf_time_in(const ListingLines& lines, std::string_view text, std::int64_t now_s,
                         std::int64_t not_before_s = 0) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.empty() || text.substr(0, text.find(' ')) == "-") return 0;
  const auto wrong = [&]() {
    lines.refuse(fmt::format("'{}' is no time as LSF writes it (Sep 25 21:15:03)",
                             text.substr(0, ListingLines::longest)));
  };
  const std::string whole(text);
  std::tm time{};
  const char* rest = nullptr;
  for (const char* format : {"%a %b %d %H:%M", "%b %d %H:%M"})
    if (rest == nullptr) rest = ::strptime(whole.c_str(), format, &time);
  if (rest == nullptr) wrong();
  if (*rest == ':') rest = ::strptime(rest, ":%S", &time);
  if (rest == nullptr) wrong();
  std::tm dated = time;
  const char* const behind_year = ::strptime(rest, " %Y", &dated);
  std::string_view letter = behind_year != nullptr ? behind_year : rest;
  letter.remove_prefix(std::min(letter.find_first_not_of(' '), letter.size()));
  if (letter.size() > 1) wrong();
  const auto seconds_in = [&](int year) {
    std::tm copy = time;
    copy.tm_year = year - 1900;
    const auto seconds = seconds_of(copy, not_before_s);
    if (!seconds) wrong();
    return *seconds;
  };
  if (behind_year != nullptr) return seconds_in(dated.tm_year + 1900);
  const std::time_t now = now_s;
  std::tm today{};
  (void)::localtime_r(&now, &today);
  constexpr std::int64_t minute = 60;  // times without seconds, clocks that differ
  const std::int64_t this_year = seconds_in(today.tm_year + 1900);
  return this_year <= now_s + minute ? this_year : seconds_in(today.tm_year + 1899);
}

/// "1234" or "1234[5]".
void set_number(const ListingLines& lines, std::string_view text, JobRecord& job) {
  const std::size_t mark = std::min(text.find('['), text.size());
  job.job = lines.number<std::uint64_t>(text.substr(0, mark), "job's number");
  if (mark == text.size()) return;
  std::string_view task = text.substr(mark + 1);
  if (task.ends_with(']')) task.remove_suffix(1);
  job.task = lines.number<std::uint32_t>(task, "task");
  job.array = job.job;
}

/// What stands between < and > behind a word; empty: nothing.
std::string_view named(std::string_view text, std::string_view word) {
  const std::size_t found = text.find(word);
  if (found == std::string_view::npos) return {};
  text.remove_prefix(found + word.size());
  const std::size_t open = text.find('<');
  const std::size_t close = text.find('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return text.substr(open + 1, close - open - 1);
}

/// The number before a word, as in "4 Task(s)"; 1 where there is none.
std::uint32_t count_before(std::string_view text, std::string_view word) {
  const std::size_t found = text.find(word);
  if (found == std::string_view::npos) return 1;
  const std::string_view before = text.substr(0, found);
  const std::size_t start = before.find_last_not_of("0123456789") + 1;
  return number_of<std::uint32_t>(before.substr(start)).value_or(1);
}

/// What one event of `bhist -l` does to the record of its job; a dispatch completes a record.
class BhistJob {
 public:
  BhistJob(JobListing& listing, std::int64_t now_s) : listing_(listing), now_s_(now_s) {}

  void begin(const ListingLines& lines, std::string_view line) {
    finish();
    job_ = {};
    set_number(lines, named(line, "Job "), job_);
    open_ = true;
  }

  void event(const ListingLines& lines, std::string_view when, std::string_view what) {
    if (!open_) return;
    if (what.find("Submitted from") != std::string_view::npos) {
      job_.submit_s = job_.eligible_s = lsf_time_in(lines, when, now_s_);
      const std::string_view queue = named(what, "to Queue ");
      if (queue.empty()) lines.refuse("the job's queue is missing");
      job_.partition = listing_.names.place_of(queue);
      job_.qos = listing_.names.place_of("");
      job_.cpus = std::max(count_before(what, " Task(s)"), count_before(what, " Processors"));
    } else if (what.starts_with("Dispatched")) {
      if (job_.eligible_s == 0 || !waits_) return;
      job_.start_s = lsf_time_in(lines, when, now_s_, job_.eligible_s);
      listing_.jobs.push_back(job_);
      waits_ = false;
    } else if (what.find("equeue") != std::string_view::npos && what.starts_with("Pending")) {
      if (job_.submit_s == 0) return;
      // Back in the queue: it keeps the time of its submission, but waits from now on.
      job_.eligible_s = lsf_time_in(lines, when, now_s_, std::max(job_.eligible_s, job_.start_s));
      job_.start_s = 0;
      waits_ = true;
    } else if (what.starts_with("Exited") || what.starts_with("Done")) {
      job_.until_s = lsf_time_in(lines, when, now_s_, job_.eligible_s);
    }
  }

  void limit(double minutes) {
    job_.limit_s = static_cast<std::int64_t>(std::min(minutes, 1e9) * 60);
  }

  void finish() {
    if (open_ && waits_ && job_.eligible_s != 0) {
      job_.waits_still = job_.until_s == 0;
      if (job_.waits_still) job_.until_s = now_s_;
      listing_.jobs.push_back(job_);
    }
    open_ = false;
    waits_ = true;
  }

 private:
  JobListing& listing_;
  std::int64_t now_s_;
  JobRecord job_;
  bool open_ = false;
  bool waits_ = true;
};

/// Lines that are too long go on behind blanks, broken anywhere.
JobListing parse_bhist(const std::string& name, std::string_view text, std::int64_t now_s) {
  JobListing listing;
  ListingLines lines(name, text);
  BhistJob job(listing, now_s);
  std::string whole;
  bool limit_follows = false;
  const auto take = [&] {
    if (whole.starts_with("Job <")) {
      job.begin(lines, whole);
    } else if (const std::size_t mark = whole.find(": "); mark != std::string::npos) {
      // "Mon Sep 25 21:15:00: Submitted from ..."
      const std::string_view when = std::string_view(whole).substr(0, mark);
      if (std::count(when.begin(), when.end(), ':') == 2 && when.size() < ListingLines::longest)
        job.event(lines, when, std::string_view(whole).substr(mark + 2));
    }
    whole.clear();
  };
  for (std::string_view line; lines.next(line);) {
    constexpr std::size_t margin = 5;  // of what goes on
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    if (limit_follows && start < line.size()) {
      std::string_view minutes = line.substr(start);
      minutes = minutes.substr(0, minutes.find(' '));
      job.limit(lines.number<double>(minutes, "run limit"));
      limit_follows = false;
    } else if (start >= margin && !whole.empty()) {
      whole += line.substr(start);
    } else {
      take();
      whole = line.substr(start);
      limit_follows = whole.starts_with("RUNLIMIT");
    }
  }
  take();
  job.finish();
  return listing;
}

JobListing parse_bjobs(const std::string& name, std::string_view text, std::int64_t now_s) {
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
                         fmt::format("bjobs -a -o \"{}\"", bjobs_fields));
      continue;
    }
    if (fields.size() != header.size())
      lines.refuse(fmt::format("{} fields in place of {}", fields.size(), header.size()));
    const auto field = [&](Field which) { return fields[places[which]]; };
    JobRecord job;
    set_number(lines, field(number), job);
    if (const auto task = number_of<std::uint32_t>(field(index)); task && *task > 0) {
      job.task = *task;
      job.array = job.job;
    }
    job.partition = listing.names.place_of(field(queue));
    job.qos = listing.names.place_of("");
    job.submit_s = job.eligible_s = lsf_time_in(lines, field(submit), now_s);
    job.start_s = lsf_time_in(lines, field(start), now_s, job.submit_s);
    if (field(state) == "PEND" || field(state) == "PSUSP") job.start_s = 0;
    if (field(state) == "PSUSP") job.eligible_s = 0;  // held: it cannot start
    if (job.start_s == 0) {
      job.waits_still = field(state) == "PEND" || field(state) == "PSUSP";
      job.until_s =
          job.waits_still ? now_s : lsf_time_in(lines, field(finish), now_s, job.submit_s);
    }
    job.cpus = number_of<std::uint32_t>(field(slots)).value_or(1);
    const std::string_view minutes = field(limit).substr(0, field(limit).find_first_of(" /"));
    if (const auto value = number_of<double>(minutes); value && *value > 0 && *value < 1e9)
      job.limit_s = static_cast<std::int64_t>(*value * 60);
    listing.jobs.push_back(job);
  }
  return listing;
}

}  // namespace

JobListing parse_lsf(const std::string& name, std::string_view text, std::int64_t now_s) {
  const bool is_table = text.find("JOBID") < text.find('\n');
  return is_table ? parse_bjobs(name, text, now_s) : parse_bhist(name, text, now_s);
}

}  // namespace wallheat
