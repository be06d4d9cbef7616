#include "forecast/job_listing.hpp"
#include "forecast/wait_forecast.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

JobListing sacct(const std::string& text) { return parse_sacct("listing.txt", text); }

/// Returns the waits of all partitions.
std::vector<std::int64_t> waits_in(const JobListing& listing) {
  std::vector<std::int64_t> waits;
  for (const PartitionWaits& partition : extract_waits(listing).partitions)
    for (const Wait& wait : partition.waits)
      if (wait.started) waits.push_back(wait.wait_s);
  return waits;
}

TEST(ParseSacct, MeasuresWaitFromEligibleToStart) {
  const JobListing listing = sacct(
      "77|77|medium|normal|COMPLETED|1000|1060|1300|2000|60|2|8|16000M|"
      "billing=8,cpu=8,mem=16000M,node=2\n");
  ASSERT_THAT(listing.jobs, SizeIs(1));
  const JobRecord& job = listing.jobs[0];
  EXPECT_EQ(job.job, 77U);
  EXPECT_EQ(job.limit_s, 3600);
  EXPECT_EQ(job.cpus, 8U);
  EXPECT_EQ(job.memory_bytes, 16000.0 * 1024 * 1024);
  EXPECT_EQ(job.partition, "medium");
  EXPECT_THAT(waits_in(listing), ElementsAre(240)) << "not since the submission";
}

TEST(ParseSacct, SkipsHeldOrDependentJobs) {
  const JobListing listing = sacct(
      "1|1|p|q|PENDING|1000|Unknown|Unknown|Unknown|60|0|0|1G|cpu=1,mem=1G\n"
      "2|2|p|q|CANCELLED by 1000|1000|Unknown|2000|2000|60|0|0|1G|cpu=1,mem=1G\n"
      "3|3|p|q|COMPLETED|1000|5000|5010|6000|60|1|1|1G|cpu=1,mem=1G\n");
  EXPECT_EQ(extract_waits(listing).counts.never_eligible, 2U);
  EXPECT_THAT(waits_in(listing), ElementsAre(10)) << "since its release";
}

TEST(ParseSacct, CountsPendingOrCancelledJobsAsNotStarted) {
  const JobListing listing = sacct(
      "1|1|p|q|CANCELLED by 1000|1000|1000|1700|1700|60|0|0|1G|cpu=4,mem=1G\n"
      "2|2|p|q|CANCELLED|1000|1000|None|1800|60|0|0|1G|cpu=4,mem=1G\n"
      "3|3|p,q|q|PENDING|1000|1000|Unknown|Unknown|60|0|0|1G|cpu=4,mem=1G\n"
      "4|4|p|q|RUNNING|1000|1000|4000|Unknown|60|1|4|1G|cpu=4,mem=1G\n"
      "5|5|p|q|CANCELLED by 1000|1000|1000|1200|1300|60|1|4|1G|cpu=4,mem=1G\n");
  const JobWaits waits = extract_waits(listing);
  EXPECT_EQ(waits.counts.started, 2U) << "a job that was cancelled while it ran had started";
  EXPECT_EQ(waits.counts.waiting, 3U);
  ASSERT_THAT(waits.partitions, SizeIs(1));
  const auto& known = waits.partitions[0].waits;
  EXPECT_EQ(known[0].wait_s, 700);
  EXPECT_EQ(known[1].wait_s, 800);
  EXPECT_EQ(known[2].wait_s, 3000) << "until the time of the listing";
  EXPECT_TRUE(listing.jobs[2].is_pending);
  EXPECT_EQ(listing.jobs[2].cpus, 4U) << "requested";
}

TEST(ParseSacct, CountsArrayOncePerBurstOfStarts) {
  const JobListing listing = sacct(
      "9|9|p|q|NODE_FAIL|1000|1000|1100|1500|60|1|1|1G|cpu=1\n"
      "9|9|p|q|COMPLETED|1500|1620|1700|1900|60|1|1|1G|cpu=1\n"
      "11|10_1|p|q|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1\n"
      "12|10_2|p|q|COMPLETED|1000|1000|1101|2000|60|1|1|1G|cpu=1\n"
      "13|10_3|p|q|COMPLETED|1000|1000|1150|2000|60|1|1|1G|cpu=1\n"
      "14|10_4|p|q|COMPLETED|1000|1000|4000|5000|60|1|1|1G|cpu=1\n"
      "10|10_[5-9]|p|q|PENDING|1000|1000|Unknown|Unknown|60|0|0|1G|cpu=1\n"
      "20|20+0|p|q|COMPLETED|1000|1000|1200|2000|60|1|1|1G|cpu=1\n"
      "21|20+1|p|q|COMPLETED|1000|1000|1200|2000|60|1|1|1G|cpu=1\n");
  EXPECT_EQ(extract_waits(listing).counts.burst_duplicates, 3U);
  EXPECT_EQ(extract_waits(listing).counts.waiting, 1U);
  EXPECT_THAT(waits_in(listing), ElementsAre(100, 80, 100, 3000, 200));
}

TEST(ParseSacct, SkipsJobStepsAfterHeaderLine) {
  const JobListing listing = sacct(
      "State|JobIDRaw|JobID|Partition|QOS|Submit|Eligible|Start|End|TimelimitRaw|AllocNodes|"
      "AllocCPUS|ReqMem|ReqTRES|Elapsed\n"
      "COMPLETED|5|5|p|q|100|100|160|200|UNLIMITED|1|1|4Gn||00:01\n"
      "COMPLETED|5.batch|5.batch|||100|100|160|200||1|1|||00:01\n");
  ASSERT_THAT(listing.jobs, SizeIs(1));
  EXPECT_EQ(listing.jobs[0].limit_s, 0) << "no limit";
  EXPECT_EQ(listing.jobs[0].memory_bytes, 4.0 * 1024 * 1024 * 1024);
}

TEST(ParseSacct, NamesInvalidLine) {
  for (const auto& [text, facts] :
       {std::pair("1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1\n"
                  "2|2|p|q|COMPLETED|1000\n",
                  Facts{"line 2", "6", "14"}),
        {"1|1|p|q|COMPLETED|2024-09-25T21:15:00|1000|1100|2000|60|1|1|1G|cpu=1\n",
         {"line 1", "2024-09-25T21:15:00", "SLURM_TIME_FORMAT=%s"}},
        {"x|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1\n", {"line 1", "JobIDRaw", "'x'"}},
        {"1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|-3|1G|cpu=1\n",
         {"line 1", "AllocCPUS", "'-3'"}},
        {"1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|3|1G|mem=xG\n", {"line 1", "memory", "'x'"}},
        {"JobIDRaw|JobID\n", {"line 1", "column Partition"}},
        {"bash: sacct: command not found\n", {"line 1", "14"}}})
    EXPECT_THAT(error_message_of<RunError>([&, &text = text] { (void)sacct(text); }),
                AllOf(Mentions("listing.txt"), Mentions(facts)));
}

constexpr const char* bjobs_header =
    "JOBID|JOBINDEX|QUEUE|STAT|SUBMIT_TIME|START_TIME|FINISH_TIME|NREQ_SLOT|RUNTIMELIMIT\n";

JobListing bjobs(const std::string& text) { return parse_bjobs("bjobs.txt", bjobs_header + text); }

TEST(ParseBjobs, ReadsWaitsOfSchedulerQueues) {
  const JobListing listing = bjobs(
      "101|0|normal|DONE|Sep 25 21:15:00 2023|Mon Sep 25 21:16:00 2023|Sep 25 21:20:00 2023 L|4|"
      "60.0/a\n"
      "102|1|night|RUN|Sep 25 21:15 2023|Sep 25 21:45 2023|-|1|-\n"
      "102[2]|2|night|PEND|Sep 25 21:15 2023|Sep 28 21:17:00 2023 E|-|1|-\n"
      "103|0|night|PSUSP|Sep 25 21:15 2023|-|-|1|-\n"
      "104|0|normal|EXIT|Dec 31 23:59 2022|-|Jan  1 00:01:00 2023|4|60.0/a\n");
  EXPECT_THAT(waits_in(listing), ElementsAre(1800, 60));
  const JobWaits waits = extract_waits(listing);
  EXPECT_EQ(waits.counts.waiting, 2U);
  EXPECT_EQ(waits.counts.never_eligible, 1U) << "held";
  EXPECT_EQ(listing.jobs[0].limit_s, 3600);
  EXPECT_EQ(listing.jobs[2].array, 102U);
  EXPECT_EQ(listing.jobs[2].last_seen_s - listing.jobs[2].submit_s, 1800)
      << "time of the last event";
  EXPECT_EQ(listing.jobs[4].last_seen_s - listing.jobs[4].submit_s, 120) << "cancelled";
}

TEST(ParseBjobs, NamesInvalidLine) {
  for (const std::string when : {"yesterday", "Sep 25 21:15:00", "Sep 25 21:15 2023 later"})
    EXPECT_THAT(
        error_message_of<RunError>([&] { (void)bjobs("101|0|n|DONE|" + when + "|-|-|4|60\n"); }),
        Mentions({"bjobs.txt", "line 2", "'" + when + "'", "LSB_DISPLAY_YEAR=Y bjobs"}));
  EXPECT_THAT(error_message_of<RunError>([] { (void)bjobs("101|0|n\n"); }),
              Mentions({"bjobs.txt", "line 2", "3", "9"}));
  EXPECT_THAT(error_message_of<RunError>([] { (void)parse_bjobs("short.txt", "JOBID|QUEUE\n"); }),
              Mentions({"short.txt", "line 1", "column JOBINDEX"}));
}

/// Returns a report of LSF as it ends the output of a job.
std::string lsf_report(const std::string& subject, const std::string& hosts,
                       const std::string& started) {
  return "Sender: LSF System <lsfadmin@node1>\nSubject: Job " + subject +
         "\n\nJob <walls> was submitted from host <login> by user <someone> in cluster <example> "
         "at "
         "Mon Sep 25 21:15:00 2023\n" +
         hosts +
         "</home/someone> was used as the home directory.\n"
         "</home/someone/walls> was used as the working directory.\n" +
         started +
         "Terminated at Mon Sep 25 21:25:00 2023\n"
         "Results reported at Mon Sep 25 21:25:00 2023\n\n"
         "Your job looked like:\n\n"
         "------------------------------------------------------------\n"
         "# LSBATCH: User input\n#!/bin/bash\n#BSUB -W 1:30\n#BSUB -R \"rusage[mem=1GB]\"\n"
         "python simulate.py 10\n\n"
         "------------------------------------------------------------\n\n"
         "Successfully completed.\n\nResource usage summary:\n\n"
         "    CPU time :                                   60.00 sec.\n"
         "    Max Memory :                                 100 MB\n"
         "    Total Requested Memory :                     8192.00 MB\n"
         "    Run time :                                   300 sec.\n\n"
         "The output (if any) is above this job summary.\n\n";
}

TEST(ParseLsfReports, ReadsWaitsFromOutputsOfJobs) {
  const std::string hosts =
      "Job was executed on host(s) <4*node1>, in queue <short>, as user <someone> in cluster "
      "<example> at Mon Sep 25 21:20:00 2023\n                            <4*node2>\n";
  const std::string started = "Started at Mon Sep 25 21:20:00 2023\n";
  const std::string text =
      "building_id, mean_temp\nStarted at noon\n1, 2\n\n"
      "------------------------------------------------------------\n" +
      lsf_report("4711: <walls> in cluster <example> Done", hosts, started) +
      "the output of the next job\n" +
      lsf_report("4712[3]: <walls[1-4]> in cluster <example> Exited",
                 "Job was executed on host(s) <node1>, in queue <short>, as user <someone> in "
                 "cluster <example> at Mon Sep 25 21:16:40 2023\n",
                 "Started at Mon Sep 25 21:16:40 2023\n") +
      lsf_report("4713: <walls> in cluster <example> Exited", "", "");
  EXPECT_TRUE(has_lsf_report(text));
  EXPECT_FALSE(has_lsf_report(bjobs_header));
  const JobListing listing = parse_lsf_reports("jobs.out", text);
  ASSERT_THAT(listing.jobs, SizeIs(3));
  const JobRecord& job = listing.jobs[0];
  EXPECT_EQ(job.job, 4711U);
  EXPECT_EQ(job.partition, "short");
  EXPECT_EQ(job.start_s - job.submit_s, 300);
  EXPECT_EQ(job.cpus, 8U);
  EXPECT_EQ(job.nodes, 2U);
  EXPECT_EQ(job.limit_s, 5400);
  EXPECT_EQ(job.memory_bytes, 8192.0 * 1024 * 1024);
  EXPECT_EQ(listing.jobs[1].task, 3U);
  EXPECT_EQ(listing.jobs[1].array, 4712U);
  EXPECT_EQ(listing.jobs[1].cpus, 1U);
  EXPECT_EQ(listing.jobs[2].start_s, 0) << "it was killed while it waited";
  EXPECT_THAT(waits_in(listing), ElementsAre(300, 100));
  EXPECT_EQ(extract_waits(listing).counts.waiting, 1U);
}

TEST(ParseLsfReports, NamesLineOfIncompleteReport) {
  const std::string begin =
      "1, 2\nSender: LSF System <lsfadmin@node1>\nSubject: Job 4711: <walls> Done\n";
  const std::string submitted = "Job <walls> was submitted from host <login> at ";
  for (const auto& [text, facts] :
       {std::pair(begin, Facts{"line 3", "was submitted from"}),
        {begin + submitted + "Mon Sep 25 21:15:00 2023\n", {"line 4", "Started at"}},
        {begin + submitted + "noon\n", {"line 4", "'noon'"}},
        {"Sender: LSF System <a>\nSubject: Job x: <walls> Done\n", {"line 2", "job ID", "'x'"}}})
    EXPECT_THAT(error_message_of<RunError>(
                    [&, &text = text] { (void)parse_lsf_reports("jobs.out", text); }),
                AllOf(Mentions("jobs.out"), Mentions(facts)));
}

TEST(JobListing, CountsEachWaitOnceWhenListingsOverlap) {
  const std::string first = "1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1,mem=1G\n";
  const std::string waiting = "2|2|r|q|PENDING|1500|1500|Unknown|Unknown|60|0|0|1G|cpu=1\n";
  JobListing all = sacct(first + waiting);
  all.add(sacct("2|2|r|s|COMPLETED|1500|1500|1900|2000|60|1|1|1G|cpu=1\n" + first));
  all.deduplicate();
  EXPECT_THAT(waits_in(all), ElementsAre(100, 400));
  EXPECT_EQ(extract_waits(all).counts.waiting, 0U) << "the other listing has its start";
  EXPECT_EQ(all.jobs[1].qos, "s");
  all.add(sacct(first + "1|1|p|q|COMPLETED|2100|2100|2130|2200|60|1|1|1G|cpu=1\n"));
  all.deduplicate();
  EXPECT_EQ(all.jobs.size(), 3U) << "the requeued job waited again";
  JobListing later = sacct(first + waiting);
  later.add(sacct(waiting + "3|3|p|q|COMPLETED|1500|1500|7000|8000|60|1|1|1G|cpu=1\n"));
  later.deduplicate();
  ASSERT_EQ(later.jobs.size(), 3U);
  EXPECT_EQ(later.jobs[1].last_seen_s, 7000) << "time of the last event";
}

TEST(SizeClasses, MatchesPublishedTable) {
  SizeClasses classes;
  EXPECT_THAT(classes.names(), ElementsAre("< 4 CPU hours", "4 - 16 CPU hours", "16 - 64 CPU hours",
                                           "> 64 CPU hours"));
  EXPECT_EQ(classes.of_hours(3.9), 0U);
  EXPECT_EQ(classes.of_hours(4), 1U);
  EXPECT_EQ(classes.of_hours(64), 2U);
  EXPECT_EQ(classes.of_hours(65), 3U);
  JobRecord job;
  job.cpus = 8;
  job.limit_s = 3600;
  EXPECT_EQ(classes.of(job), 1U);
  job.limit_s = 0;
  EXPECT_EQ(classes.of(job), 3U) << "no time limit counts as the longest one";
  classes.by_memory = true;
  EXPECT_EQ(classes.names()[3], "> 64 GB hours");
  EXPECT_FALSE(classes.of(job)) << "its memory is unknown";
}

}  // namespace
}  // namespace wallheat
