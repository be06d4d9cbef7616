// What schedulers tell of jobs and partitions.

#include <algorithm>

#include "forecast/cluster.hpp"
#include "forecast/job_waits.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  return {
      "1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|4|4Gn|cpu=4,mem=16G,node=1\n"
      "2|2_[3-4]|p,r|q|PENDING|1000|Unknown|Unknown|Unknown|UNLIMITED|0|0|0|\n"
      "3|3+1|p|q|CANCELLED by 5|1000|1000|None|1900|60|0|0|1G|cpu=1\n",
      "State|JobIDRaw|JobID|Partition|QOS|Submit|Eligible|Start|End|TimelimitRaw|AllocNodes|"
      "AllocCPUS|ReqMem|ReqTRES\nCOMPLETED|5|5|p|q|100|100|160|200|60|1|1|4Gn|\n",
      "JOBID|JOBINDEX|QUEUE|STAT|SUBMIT_TIME|START_TIME|FINISH_TIME|NREQ_SLOT|RUNTIMELIMIT\n"
      "101[3]|3|n|DONE|Sep 25 21:15:00 2023|Mon Sep 25 21:16 2023|-|4|60.0/a\n",
      "medium|up|20|32+|gpu:a100:4(S:0-1),gpu|2-12:30:00|1-infinite\n",
      "9|9|p|q|COMPLETED|9223372036854775807|1|9223372036854775807|1|9223372036854775807|1|1|"
      "9999999999P|\n"};
}

/// By how it begins.
JobListing parse_listing(std::string_view text) {
  const std::string_view begins =
      text.substr(std::min(text.find_first_not_of(" \r\n"), text.size()));
  if (begins.starts_with("JOBID")) return parse_bjobs("listing", text);
  return parse_sacct("listing", text);
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  const std::string_view text = text_of(data, size);
  accepts<RunError>([&] { (void)parse_sinfo("sinfo", text); });
  accepts<RunError>([&] {
    const JobListing listing = parse_listing(text);
    const JobWaits waits = waits_of(listing);
    require(waits.records == listing.jobs.size(), "a record was lost");
    require(
        waits.records == waits.started + waits.waiting + waits.same_burst + waits.never_eligible,
        "a record counts twice");
    for (const PartitionWaits& partition : waits.partitions) {
      for (const Wait& wait : partition.waits) require(wait.wait_s >= 0, "a negative wait");
      const WaitForecast forecast = forecast_waits(partition.waits);
      require(forecast.used() <= forecast.jobs, "waits from nowhere");
    }
    // Of a listing that is there twice each stay counts once.
    JobListing once = listing;
    once.keep_each_once();
    JobListing twice = listing;
    twice.add(listing);
    twice.keep_each_once();
    require(twice.jobs == once.jobs, "a second listing changes the first");
  });
  return 0;
}
