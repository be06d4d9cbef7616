// What schedulers tell of jobs and partitions, and a history that is kept.

#include <algorithm>

#include "forecast/cluster.hpp"
#include "forecast/job_history.hpp"
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
      "101[3]|3|n|DONE|Sep 25 21:15:00 2023|Mon Sep 25 21:16|-|4|60.0/a\n",
      "Job <101[2]>, User <u>\nMon Sep 25 21:15:00: Submitted from host <a>, to Queue <n\n"
      "                     ormal>, 4 Task(s);\n RUNLIMIT\n 60.0 min\n"
      "Mon Sep 25 21:16:40: Dispatched 4 Task(s) on Host(s) <b>;\n"
      "Mon Sep 25 21:20:00: Pending: Requeued job is waiting;\n"
      "Mon Sep 25 21:30:00: Exited;\n",
      "# wallheat queue history 1\njob,task,array,partition,qos,submit_s,eligible_s,start_s,"
      "until_s,limit_s,nodes,cpus,memory_bytes\n1,0,0,p,q,1000,1000,1100,0,3600,1,4,1e9\n",
      "medium|up|20|32+|gpu:a100:4(S:0-1),gpu|2-12:30:00|1-infinite\n",
      "9|9|p|q|COMPLETED|9223372036854775807|1|9223372036854775807|1|9223372036854775807|1|1|"
      "9999999999P|\n"};
}

/// By how it begins.
JobListing parse_listing(std::string_view text) {
  const std::string_view begins =
      text.substr(std::min(text.find_first_not_of(" \r\n"), text.size()));
  if (begins.starts_with(history_title)) return parse_history("history", text);
  if (begins.starts_with("Job <") || begins.starts_with("JOBID"))
    return parse_lsf("listing", text, 1'700'000'000);
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
    // What is kept is what was read, but for what waits still.
    const JobListing kept = parse_history("history", history_text(listing));
    const auto ended = std::count_if(listing.jobs.begin(), listing.jobs.end(),
                                     [](const JobRecord& job) { return !job.waits_still; });
    require(kept.jobs.size() == static_cast<std::size_t>(ended), "the history lost a record");
  });
  return 0;
}
