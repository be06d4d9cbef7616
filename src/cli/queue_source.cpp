#include "cli/queue_source.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "core/printable.hpp"
#include "io/program_output.hpp"

namespace wallheat {
namespace {

using Words = std::vector<std::string>;

/// What a scheduler's command prints; nothing if it is not installed.
std::optional<std::string> listing_of(const Words& words, const Words& environment) {
  auto output = output_of(words, {}, environment);
  if (!output) return std::nullopt;
  if (output->status != 0)
    throw NoAccounting(
        fmt::format("{} failed: {}", words.front(),
                    printable(output->messages.substr(0, output->messages.find('\n')))));
  return std::move(output->out);
}

std::ptrdiff_t lines_in(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

void QueueSource::declare(Options& options) {
  options.add(
      "sacct", file(sacct_, FileRole::read),
      fmt::format("read what 'SLURM_TIME_FORMAT=%s sacct -X -D -n -P --allusers -S now-30days "
                  "-o {}' printed (-: stdin); again for more listings, which may overlap; "
                  "default: call it",
                  sacct_fields));
  options.add("lsf", file(lsf_, FileRole::read),
              fmt::format("read what LSF's 'LSB_DISPLAY_YEAR=Y bjobs -a -u all -o \"{}\"' printed; "
                          "again for more listings",
                          bjobs_fields));
  options.add("own", flag(own_), "the listing has only your own jobs");
  options.add("days", value(days_, "N", 30).at_least(1), "ask sacct for the last N days");
  options.exclude("sacct", {"lsf"});
}

JobListing QueueSource::read() {
  if (sacct_.empty() && lsf_.empty()) return ask_scheduler();
  const auto name = [](const std::string& file) { return file == "-" ? "stdin" : file; };
  JobListing all;
  for (const std::string& file : sacct_) all.add(parse_sacct(name(file), read_text_file(file)));
  for (const std::string& file : lsf_) all.add(parse_bjobs(name(file), read_text_file(file)));
  all.keep_each_once();
  return all;
}

JobListing QueueSource::ask_scheduler() {
  const Words seconds{"SLURM_TIME_FORMAT=%s"};
  const std::string since = fmt::format("now-{}days", days_);
  const auto slurm = listing_of(
      {"sacct", "-X", "-D", "-n", "-P", "--allusers", "-S", since, "-o", sacct_fields}, seconds);
  // If others' jobs are hidden, all jobs are no more than one's own; root sees all.
  if (slurm) {
    const auto own =
        ::getuid() == 0
            ? std::nullopt
            : listing_of({"sacct", "-X", "-D", "-n", "-P", "-S", since, "-o", "JobIDRaw"}, seconds);
    own_ = own_ || (own && lines_in(*own) >= lines_in(*slurm));
    return parse_sacct("sacct", *slurm);
  }
  const Words year{"LSB_DISPLAY_YEAR=Y"};
  const auto lsf = listing_of({"bjobs", "-a", "-u", "all", "-o", bjobs_fields}, year);
  if (lsf) {
    const auto own = listing_of({"bjobs", "-a", "-o", "jobid"}, year);
    own_ = own_ || (own && lines_in(*own) >= lines_in(*lsf));
    return parse_bjobs("bjobs", *lsf);
  }
  throw NoAccounting(
      "neither sacct nor bjobs is here; save what one of them prints on the cluster, and name it "
      "with --sacct or --lsf");
}

}  // namespace wallheat
