#include "forecast/job_history.hpp"

#include <unordered_set>

#include "forecast/listing_line.hpp"
#include "io/posix_file.hpp"

namespace wallheat {
namespace {

constexpr std::string_view version = "1";
constexpr std::string_view columns =
    "job,task,array,partition,qos,submit_s,eligible_s,start_s,until_s,limit_s,nodes,cpus,"
    "memory_bytes";

/// What tells two stays in a queue apart.
struct Stay {
  std::uint64_t job;
  std::uint32_t task;
  std::int64_t submit_s;
  std::int64_t start_s;
  friend bool operator==(const Stay&, const Stay&) = default;
};
struct HashOfStay {
  std::size_t operator()(const Stay& stay) const {
    std::uint64_t hash = stay.job;
    for (const auto part :
         {static_cast<std::uint64_t>(stay.task), static_cast<std::uint64_t>(stay.submit_s),
          static_cast<std::uint64_t>(stay.start_s)}) {
      constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio
      hash = (hash ^ part) * odd;
      hash ^= hash >> 29;
    }
    return hash;
  }
};
Stay stay_of(const JobRecord& job) { return {job.job, job.task, job.submit_s, job.start_s}; }

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
    split(line, ',', fields);
    if (fields.size() != width)
      lines.refuse(fmt::format("{} fields in place of {}", fields.size(), width));
    JobRecord job;
    job.job = lines.number<std::uint64_t>(fields[0], "job");
    job.task = lines.number<std::uint32_t>(fields[1], "task");
    job.array = lines.number<std::uint64_t>(fields[2], "array");
    job.partition = listing.names.place_of(fields[3]);
    job.qos = listing.names.place_of(fields[4]);
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
                   job.job, job.task, job.array, listing.names.at(job.partition),
                   listing.names.at(job.qos), job.submit_s, job.eligible_s, job.start_s,
                   job.until_s, job.limit_s, job.nodes, job.cpus, job.memory_bytes);
  }
  return text;
}

std::size_t merge_listings(JobListing& listing, const JobListing& more) {
  std::unordered_set<Stay, HashOfStay> known;
  known.reserve(listing.jobs.size() + more.jobs.size());
  for (const JobRecord& job : listing.jobs) known.insert(stay_of(job));
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
  JobListing all;
  const bool is_new = !std::filesystem::exists(file);
  if (!is_new) all = parse_history(file.string(), read_whole(real_system(), file));
  if (merge_listings(all, listing) > 0 || is_new)
    replace_text(real_system(), file, history_text(all));
  return all;
}

}  // namespace wallheat
