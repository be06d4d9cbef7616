#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "forecast/job_listing.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

/// No scheduler is here that tells of its jobs.
struct NoAccounting : RunError {
  using RunError::RunError;
};

/// Where the history of a queue comes from: the options that commands share which forecast waits.
class QueueSource {
 public:
  /// This must live as long as the Options.
  void declare(Options& options);
  /// Reads the listings that are named, or asks the scheduler. Throws NoAccounting, and RunError
  /// for a broken listing.
  [[nodiscard]] JobListing read();
  /// Whether read() saw no jobs of other users.
  [[nodiscard]] bool own_jobs() const { return own_; }

 private:
  [[nodiscard]] JobListing ask_scheduler();

  std::vector<std::string> sacct_;  ///< names of files
  std::vector<std::string> lsf_;
  int days_ = 0;
  bool own_ = false;
};

}  // namespace wallheat
