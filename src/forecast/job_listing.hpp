#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// What a scheduler's accounting tells of one stay of a job in a queue. Times are in s since 1970;
/// 0 where they are unknown or did not come. Who the user is, is not read.
struct JobRecord {
  std::uint64_t job = 0;
  std::uint32_t task = 0;       ///< of an array, where all tasks have the array's number (LSF)
  std::uint64_t array = 0;      ///< the array, or the job of several components; 0: none
  std::uint32_t partition = 0;  ///< place among the names; LSF: the queue
  std::uint32_t qos = 0;        ///< place among the names
  std::int64_t submit_s = 0;
  std::int64_t eligible_s = 0;  ///< from then on it could have started
  std::int64_t start_s = 0;
  std::int64_t until_s = 0;  ///< where it did not start: cancelled then, or last seen waiting
  std::int64_t limit_s = 0;  ///< run time that it asked for; 0: no limit, or unknown
  std::uint32_t nodes = 0;
  std::uint32_t cpus = 0;    ///< given, or asked for where it did not start
  double memory_bytes = 0;   ///< asked for; 0: unknown
  bool waits_still = false;  ///< as it was seen last
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

/// Texts that stand in many records, each once.
class Names {
 public:
  std::uint32_t place_of(std::string_view name);
  [[nodiscard]] const std::string& at(std::uint32_t place) const { return names_.at(place); }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
  std::uint32_t latest_ = 0;
};

struct JobListing {
  Names names;
  std::vector<JobRecord> jobs;

  /// Adds the records of another listing.
  void add(const JobListing& more);
  /// Says of what waits still how long it was seen waiting: until the listing was made, which is no
  /// earlier than any time in it.
  void end_what_waits();
  /// Leaves each stay in the queue once: listings of different days overlap. One that waits still
  /// in a listing is dropped if another one has its end. The records are then in the order of the
  /// jobs' numbers.
  void keep_each_once();
};

/// The text of a file; - is stdin. Throws RunError.
[[nodiscard]] std::string text_of(const std::string& file);

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

}  // namespace wallheat
