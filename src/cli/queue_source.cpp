#include "cli/queue_source.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "core/printable.hpp"
#include "forecast/job_history.hpp"
#include "io/print_error.hpp"
#include "io/program_output.hpp"
#include "store/result_path.hpp"

namespace wallheat {
namespace {

using Words = std::vector<std::string>;

/// What a scheduler's command prints; nothing where it is not installed.
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
  options.add("sacct", file(sacct_, FileRole::read),
              "read what 'SLURM_TIME_FORMAT=%s sacct -X -D -n -P --allusers -S now-30days -o "
              "FIELDS' printed, with the FIELDS JobIDRaw,JobID,Partition,QOS,State,Submit,"
              "Eligible,Start,End,TimelimitRaw,AllocNodes,AllocCPUS,ReqMem,ReqTRES; - is stdin; "
              "default: call it");
  options.add("lsf", file(lsf_, FileRole::read),
              "read what LSF's 'bhist -l' printed, or 'LSB_DISPLAY_YEAR=Y bjobs -a -u all -o "
              "FIELDS' with the FIELDS jobid jobindex queue stat submit_time start_time "
              "finish_time nreq_slot runtimelimit delimiter='|'; - is stdin");
  options.add("own", flag(own_), "the listing has only jobs of your own");
  options.add("days", value(days_, "N", 30), "ask sacct for the last N days");
  options.add("history", file(history_, FileRole::written),
              "keep what was read in FILE, and use all that it holds: accounting forgets");
  options.check([this] {
    if (!sacct_.empty() && !lsf_.empty()) throw UsageError("--sacct and --lsf exclude each other");
    if (days_ < 1) throw UsageError("--days must be at least 1");
  });
}

JobListing QueueSource::read() {
  const auto name = [](const std::string& file) { return file == "-" ? "stdin" : file; };
  JobListing listing;
  if (!sacct_.empty()) {
    listing = parse_sacct(name(sacct_), text_of(sacct_));
  } else if (!lsf_.empty()) {
    listing = parse_lsf(name(lsf_), text_of(lsf_), std::time(nullptr));
  } else {
    listing = ask_scheduler();
  }
  return history_.empty() ? std::move(listing) : keep_history(result_path(history_), listing);
}

JobListing QueueSource::ask_scheduler() {
  const Words seconds{"SLURM_TIME_FORMAT=%s"};
  const std::string since = fmt::format("now-{}days", days_);
  const auto slurm = listing_of(
      {"sacct", "-X", "-D", "-n", "-P", "--allusers", "-S", since, "-o", sacct_fields}, seconds);
  // Where others' jobs are hidden, all jobs are no more than one's own; root sees all.
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
    return parse_lsf("bjobs", *lsf, std::time(nullptr));
  }
  if (history_.empty() || !std::filesystem::exists(history_))
    throw NoAccounting(
        "neither sacct nor bjobs is here; save what one of them prints on the cluster, and name it "
        "with --sacct or --lsf");
  print_error("wallheat: neither sacct nor bjobs is here, so only {} is read",
              printable(history_.string()));
  return {};
}

}  // namespace wallheat
