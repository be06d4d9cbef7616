#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Parsers for the job accounting of Slurm and LSF.

namespace wallheat {

/// One stay of a job in a scheduler queue, from the accounting of a scheduler. Times are in s since
/// 1970; 0: unknown, or has not happened. The name of the user is not read.
struct JobRecord {
  std::uint64_t job = 0;
  std::uint32_t task = 0;   ///< task of an array whose tasks all have the array's job number (LSF)
  std::uint64_t array = 0;  ///< the job array, or the job of several components; 0: none
  std::string partition;    ///< for LSF, the queue
  std::string qos;          ///< quality of service; always empty for LSF
  std::int64_t submit_s = 0;
  std::int64_t eligible_s = 0;  ///< time from which the job could have started
  std::int64_t start_s = 0;
  /// If it did not start: the time of its cancellation, or at which it was last seen waiting.
  std::int64_t last_seen_s = 0;
  std::int64_t limit_s = 0;  ///< requested run time; 0: unlimited or unknown
  std::uint32_t nodes = 0;
  std::uint32_t cpus = 0;   ///< allocated; requested, if it did not start
  double memory_bytes = 0;  ///< requested; 0: unknown
  bool is_pending = false;  ///< in the latest listing
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

struct JobListing {
  std::vector<JobRecord> jobs;

  /// Adds the records of another listing.
  void add(JobListing more);
  /// Sets the wait of each pending job to the time until the listing was made, taken as the latest
  /// time that occurs in it.
  void close_pending();
  /// Removes duplicate records of a stay, because listings of different days overlap, and sorts by
  /// job number. A pending record is dropped if another listing shows the start or the end of the
  /// job, or a longer wait. Of several records with the same start, the one with the longest wait
  /// is kept, otherwise the first.
  void deduplicate();
};

/// Parses the output of `sacct -n -P -o FIELDS` (sacct_fields), with times in s since 1970. A first
/// line of column names may define other columns or another order. Steps are skipped. `name` is the
/// name of the listing in messages. Throws RunError, whose message contains the line number.
[[nodiscard]] JobListing parse_sacct(const std::string& name, std::string_view text);
inline constexpr const char* sacct_fields =
    "JobIDRaw,JobID,Partition,QOS,State,Submit,Eligible,Start,End,TimelimitRaw,AllocNodes,"
    "AllocCPUS,ReqMem,ReqTRES";

/// Parses the output of LSF's `LSB_DISPLAY_YEAR=Y bjobs -o FIELDS` (bjobs_fields), including its
/// first line. Throws RunError, whose message contains the line number.
[[nodiscard]] JobListing parse_bjobs(const std::string& name, std::string_view text);
inline constexpr const char* bjobs_fields =
    "jobid jobindex queue stat submit_time start_time finish_time nreq_slot runtimelimit "
    "delimiter='|'";

/// Returns true if a text contains a report that LSF has written at the end of a job's output.
[[nodiscard]] bool has_lsf_report(std::string_view text);
/// Parses the reports of LSF in the outputs of jobs: one output, or several in a row. All other
/// text is skipped. Such files remain available after bjobs no longer lists the jobs. Throws
/// RunError, whose message contains the line number, if a report is incomplete.
[[nodiscard]] JobListing parse_lsf_reports(const std::string& name, std::string_view text);

}  // namespace wallheat
