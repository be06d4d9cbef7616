#include "forecast/job_listing.hpp"

#include <algorithm>

#include "forecast/job_history.hpp"

namespace wallheat {

std::uint32_t Names::place_of(std::string_view name) {
  if (latest_ < names_.size() && names_[latest_] == name) return latest_;
  const auto found = places_.find(name);
  if (found != places_.end()) return latest_ = found->second;
  latest_ = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  places_.emplace(name, latest_);
  return latest_;
}

JobListing parse_listing(const std::string& name, std::string_view text, std::int64_t now_s) {
  const std::string_view begins =
      text.substr(std::min(text.find_first_not_of(" \r\n"), text.size()));
  if (begins.starts_with(history_title)) return parse_history(name, text);
  if (begins.starts_with("Job <") || begins.starts_with("JOBID"))
    return parse_lsf(name, text, now_s);
  return parse_sacct(name, text);
}

}  // namespace wallheat
