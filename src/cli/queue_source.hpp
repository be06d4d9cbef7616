#pragma once

#include <cstdint>
#include <filesystem>
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
  /// Asks the scheduler, or reads what is named, and keeps it where that is wanted. Throws
  /// NoAccounting, and RunError for a broken listing.
  [[nodiscard]] JobListing read();
  /// Whether read() saw no jobs of other users.
  [[nodiscard]] bool own_jobs() const { return own_; }

 private:
  [[nodiscard]] JobListing ask_scheduler();

  std::string sacct_;
  std::string lsf_;
  std::filesystem::path history_;
  std::int64_t days_ = 0;
  bool own_ = false;
};

}  // namespace wallheat
