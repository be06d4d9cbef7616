#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "forecast/campaign_choices.hpp"
#include "forecast/job_listing.hpp"
#include "wallheat/error.hpp"

// Data about a cluster, read from the commands of its scheduler or from files with their output,
// which may have been saved on another machine. "-" is stdin. All functions throw RunError for an
// invalid listing or an unreadable file.

namespace wallheat {

/// The history of jobs is not available: no scheduler is installed on this machine, or its command
/// failed.
struct AccountingUnavailable : RunError {
  using RunError::RunError;
};

/// The partitions are not known: Slurm's sinfo is not installed on this machine, failed, did not
/// answer, or lists none.
struct SchedulerUnavailable : RunError {
  using RunError::RunError;
};

/// Source of the history of jobs.
struct JobHistorySource {
  std::vector<std::string> sacct;  ///< files with the output of Slurm's sacct
  std::vector<std::string> lsf;    ///< files with the output of LSF's bjobs, or outputs of jobs
  int days = 30;                   ///< number of days for which sacct is called if there is no file
  bool own_jobs = false;           ///< the files contain only the jobs of the user
};

struct JobHistory {
  JobListing listing;
  bool own_jobs = false;  ///< the listing contains only jobs of the user
};

/// Reads the files of the source. If there are none, calls sacct or bjobs, and throws
/// AccountingUnavailable if that is not possible.
[[nodiscard]] JobHistory read_job_history(const JobHistorySource& source);

/// Returns the partitions of the cluster that have cores. If `sinfo_file` is empty, calls sinfo,
/// and throws SchedulerUnavailable if it does not list any. Throws RunError if the file lists none.
[[nodiscard]] std::vector<Partition> read_partitions(const std::string& sinfo_file);

/// Returns the maximum number of tasks of a job array. If `scontrol_file` is empty, calls scontrol;
/// if that is not possible, returns Slurm's default and adds a note.
[[nodiscard]] std::size_t read_max_array_tasks(const std::string& scontrol_file,
                                               std::vector<std::string>& notes);

}  // namespace wallheat
