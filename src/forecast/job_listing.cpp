#include "forecast/job_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <tuple>

#include "core/printable.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

void JobListing::add(JobListing more) { std::ranges::move(more.jobs, std::back_inserter(jobs)); }

void JobListing::end_what_waits() {
  std::int64_t seen_s = 0;
  for (const JobRecord& job : jobs)
    seen_s = std::max({seen_s, job.submit_s, job.start_s, job.until_s});
  for (JobRecord& job : jobs)
    if (job.waits_still) job.until_s = seen_s;
}

void JobListing::keep_each_once() {
  const auto stay = [](const JobRecord& job) { return std::tie(job.job, job.task, job.submit_s); };
  // What waits still comes last, and what waited longer then before what waited less.
  std::ranges::stable_sort(jobs, {}, [&](const JobRecord& job) {
    return std::tuple(stay(job), job.waits_still, job.start_s, -job.until_s);
  });
  const auto again = std::ranges::unique(jobs, [&](const JobRecord& a, const JobRecord& b) {
    return stay(a) == stay(b) && (b.waits_still || a.start_s == b.start_s);
  });
  jobs.erase(again.begin(), again.end());
}

std::string read_text_file(const std::string& file) {
  std::ifstream named;
  if (file != "-") {
    named.open(file, std::ios::binary);
    if (!named || std::filesystem::is_directory(file))
      throw RunError(fmt::format("{} cannot be read: {}", printable(file),
                                 named ? "it is a directory" : std::strerror(errno)));
  }
  std::istream& in = file == "-" ? std::cin : named;
  std::string text;
  std::string part(std::size_t{1} << 20, '\0');
  while (in) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    const std::string_view read(part.data(), static_cast<std::size_t>(in.gcount()));
    // So that a device of zeros is not read without end.
    if (read.find('\0') != std::string_view::npos)
      throw RunError(fmt::format("{} is no text: it has zero bytes", printable(file)));
    text += read;
  }
  if (in.bad()) throw RunError(fmt::format("{} cannot be read to its end", printable(file)));
  return text;
}

}  // namespace wallheat
