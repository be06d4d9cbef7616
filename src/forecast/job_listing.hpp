#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// What a scheduler's accounting tells of one stay of a job in a queue. Times are in s since 1970;
/// a time that is unknown or did not come is 0. The user's name is not read.
struct JobRecord {
  std::uint64_t job = 0;
  std::uint32_t task = 0;   ///< of an array, if all its tasks have the array's number (LSF)
  std::uint64_t array = 0;  ///< the array, or the job of several components; 0: none
  std::string partition;    ///< LSF: the queue
  std::string qos;          ///< quality of service; LSF has none
  std::int64_t submit_s = 0;
  std::int64_t eligible_s = 0;  ///< from then on it could have started
  std::int64_t start_s = 0;
  std::int64_t last_seen_s =
      0;                     ///< if it did not start: when it was cancelled, or last seen waiting
  std::int64_t limit_s = 0;  ///< run time that it asked for; 0: no limit, or unknown
  std::uint32_t nodes = 0;
  std::uint32_t cpus = 0;   ///< given; asked for if it did not start
  double memory_bytes = 0;  ///< asked for; 0: unknown
  bool is_pending = false;  ///< as it was seen last
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

struct JobListing {
  std::vector<JobRecord> jobs;

  /// Adds the records of another listing.
  void add(JobListing more);
  /// Says of what waits still how long it was seen waiting: until the listing was made, which is no
  /// earlier than any time in it.
  void close_pending();
  /// Leaves each stay in the queue once: listings of different days overlap. One that waits still
  /// in a listing is dropped if another one has its end; of two that differ in something else the
  /// first is left. The records are then in the order of the
  /// jobs' numbers.
  void deduplicate();
};

/// Reads what `sacct -n -P -o FIELDS` prints (sacct_fields), with times in s since 1970. A first
/// line of names may say other fields or another order. Steps are passed over. `name` is the
/// listing's, for sentences. Throws RunError, which tells the line.
[[nodiscard]] JobListing parse_sacct(const std::string& name, std::string_view text);
inline constexpr const char* sacct_fields =
    "JobIDRaw,JobID,Partition,QOS,State,Submit,Eligible,Start,End,TimelimitRaw,AllocNodes,"
    "AllocCPUS,ReqMem,ReqTRES";

/// Reads what LSF's `LSB_DISPLAY_YEAR=Y bjobs -o FIELDS` (bjobs_fields) prints, with its first
/// line. Throws RunError, which tells the line.
[[nodiscard]] JobListing parse_bjobs(const std::string& name, std::string_view text);
inline constexpr const char* bjobs_fields =
    "jobid jobindex queue stat submit_time start_time finish_time nreq_slot runtimelimit "
    "delimiter='|'";

/// Returns true if a text contains a report that LSF has written at the end of a job's output.
[[nodiscard]] bool has_lsf_report(std::string_view text);
/// Reads the reports of LSF in the outputs of jobs, one output or several in a row; all else in the
/// text is skipped. Such files outlive what bjobs lists. Throws RunError, which names the line, if
/// a report is incomplete.
[[nodiscard]] JobListing parse_lsf_reports(const std::string& name, std::string_view text);

}  // namespace wallheat
