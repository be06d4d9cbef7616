#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "forecast/job_listing.hpp"

namespace wallheat {

// Accounting is purged, so what it told is kept as CSV (RFC 4180): a line of title and version, a
// line of names, a line a record.

inline constexpr std::string_view history_title = "# wallheat queue history ";

/// Reads a history. `name` is its name, for sentences. Throws RunError, which tells the line, or
/// that another version wrote it.
[[nodiscard]] JobListing parse_history(const std::string& name, std::string_view text);
/// Leaves out what waits still: it will be seen again.
[[nodiscard]] std::string history_text(const JobListing& listing);

/// Adds the records of `more` that `listing` does not have: those that differ in job, task, time of
/// submission or start. Returns how many were added.
std::size_t merge_listings(JobListing& listing, const JobListing& more);

/// Adds a listing to the history in a file, which is made where there is none, and returns all of
/// it, with what waits still in the listing. Readers of the file see the old history or the new
/// one, and so does whoever looks after a crash. The name is that of result_path(). Throws
/// RunError, also where another process is adding to the file.
[[nodiscard]] JobListing keep_history(const std::filesystem::path& file, const JobListing& listing);

}  // namespace wallheat
