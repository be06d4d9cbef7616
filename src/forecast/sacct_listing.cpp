#include <algorithm>
#include <utility>

#include "forecast/job_listing.hpp"
#include "forecast/listing_line.hpp"

namespace wallheat {
namespace {

bool is_unknown(std::string_view time) {
  return time.empty() || time == "Unknown" || time == "None" || time == "N/A" || time == "0";
}

/// 0 where it is unknown.
std::int64_t sacct_time_in(const ListingLines& lines, std::string_view text, const char* what) {
  if (is_unknown(text)) return 0;
  if (!number_of<std::int64_t>(text))
    lines.refuse(
        fmt::format("its {} is '{}', which is no time in seconds since 1970; make the "
                    "listing with SLURM_TIME_FORMAT=%s",
                    what, text.substr(0, ListingLines::longest)));
  return lines.time_s(text, what);
}

/// "4000M" in bytes; sizes without a unit are MiB.
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

/// What the list "cpu=4,mem=16G,node=1" says of a resource; empty: nothing.
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

/// The memory that was asked for in all: of all resources, else ReqMem, which older Slurms give for
/// a node ("n") or a core ("c").
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

/// "123_4" is a task of array 123, and so is "123_[5-9]"; "123+1" is a part of 123.
std::uint64_t array_of(const ListingLines& lines, std::string_view job) {
  const std::size_t mark = job.find_first_of("_+");
  return mark == std::string_view::npos ? 0
                                        : lines.number<std::uint64_t>(job.substr(0, mark), "JobID");
}

}  // namespace

JobListing parse_sacct(const std::string& name, std::string_view text) {
  enum Field {  // in the order of sacct_fields
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
  JobListing listing;
  ListingLines lines(name, text);
  std::vector<std::string_view> names;
  split(sacct_fields, ',', names);
  std::vector<std::size_t> places = places_of(lines, names, names, "");
  std::vector<std::string_view> fields;
  std::size_t width = names.size();
  bool first = true;
  for (std::string_view line; lines.next(line);) {
    if (line.empty()) continue;
    split(line, '|', fields);
    if (std::exchange(first, false) &&
        std::find(fields.begin(), fields.end(), names[job_raw]) != fields.end()) {
      places = places_of(lines, fields, names, fmt::format("sacct -X -D -P -o {}", sacct_fields));
      width = fields.size();
      continue;
    }
    if (fields.size() != width)
      lines.refuse(
          fmt::format("{} fields in place of {}; make the listing with sacct -X -D -n -P -o "
                      "{}",
                      fields.size(), width, sacct_fields));
    const auto field = [&](Field which) { return fields[places[which]]; };
    if (field(job_text).find('.') != std::string_view::npos) continue;  // a step

    JobRecord job;
    job.job = lines.number<std::uint64_t>(field(job_raw), "JobIDRaw");
    job.array = array_of(lines, field(job_text));
    // While it waits, a job may name several partitions.
    job.partition = listing.names.place_of(field(partition).substr(0, field(partition).find(',')));
    job.qos = listing.names.place_of(field(qos));
    job.submit_s = sacct_time_in(lines, field(submit), "Submit");
    job.eligible_s = sacct_time_in(lines, field(eligible), "Eligible");
    job.start_s = sacct_time_in(lines, field(start), "Start");
    const std::int64_t ended_s = sacct_time_in(lines, field(end), "End");
    if (!field(nodes).empty()) job.nodes = lines.number<std::uint32_t>(field(nodes), "AllocNodes");
    if (!field(cpus).empty()) job.cpus = lines.number<std::uint32_t>(field(cpus), "AllocCPUS");
    // Cancelled before it started, a job has the time of that as its start, too, but no nodes.
    if (field(state).starts_with("PENDING") || (job.nodes == 0 && job.cpus == 0)) job.start_s = 0;
    if (job.start_s == 0) {
      job.until_s = ended_s;
      const std::string_view asked = resource(field(resources), "cpu");
      if (!asked.empty()) job.cpus = lines.number<std::uint32_t>(asked, "ReqTRES");
    }
    if (const auto minutes = number_of<std::int64_t>(field(limit)); minutes && *minutes > 0)
      job.limit_s = std::min<std::int64_t>(*minutes, 1'000'000'000) * 60;
    job.waits_still = job.start_s == 0 && job.until_s == 0;
    job.memory_bytes = memory_of(lines, job, field(memory), field(resources));
    listing.jobs.push_back(job);
  }
  listing.end_what_waits();
  return listing;
}

}  // namespace wallheat
