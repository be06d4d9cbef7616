#include <cstdlib>
#include <ctime>

#include "forecast/job_history.hpp"
#include "forecast/job_listing.hpp"
#include "forecast/job_waits.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

JobListing sacct(const std::string& text) { return parse_sacct("listing.txt", text); }

/// The waits of all partitions.
std::vector<std::int64_t> waits_in(const JobListing& listing) {
  std::vector<std::int64_t> waits;
  for (const PartitionWaits& partition : waits_of(listing).partitions)
    for (const Wait& wait : partition.waits)
      if (wait.started) waits.push_back(wait.wait_s);
  return waits;
}

TEST(Sacct, tells_a_wait_from_eligible_to_start) {
  const JobListing listing = sacct(
      "77|77|medium|normal|COMPLETED|1000|1060|1300|2000|60|2|8|16000M|"
      "billing=8,cpu=8,mem=16000M,node=2\n");
  ASSERT_EQ(listing.jobs.size(), 1U);
  const JobRecord& job = listing.jobs[0];
  EXPECT_EQ(job.job, 77U);
  EXPECT_EQ(job.limit_s, 3600);
  EXPECT_EQ(job.cpus, 8U);
  EXPECT_EQ(job.memory_bytes, 16000.0 * 1024 * 1024);
  EXPECT_EQ(listing.names.at(job.partition), "medium");
  EXPECT_EQ(waits_in(listing), std::vector<std::int64_t>{240}) << "not from the submission";
}

TEST(Sacct, leaves_out_what_was_held_or_depends) {
  const JobListing listing = sacct(
      "1|1|p|q|PENDING|1000|Unknown|Unknown|Unknown|60|0|0|1G|cpu=1,mem=1G\n"
      "2|2|p|q|CANCELLED by 1000|1000|Unknown|2000|2000|60|0|0|1G|cpu=1,mem=1G\n"
      "3|3|p|q|COMPLETED|1000|5000|5010|6000|60|1|1|1G|cpu=1,mem=1G\n");
  const JobWaits waits = waits_of(listing);
  EXPECT_EQ(waits.never_eligible, 2U);
  EXPECT_EQ(waits_in(listing), std::vector<std::int64_t>{10}) << "from its release on";
}

TEST(Sacct, counts_what_waits_or_was_cancelled_first_as_not_started) {
  const JobListing listing = sacct(
      "1|1|p|q|CANCELLED by 1000|1000|1000|1700|1700|60|0|0|1G|cpu=4,mem=1G\n"
      "2|2|p|q|CANCELLED|1000|1000|None|1800|60|0|0|1G|cpu=4,mem=1G\n"
      "3|3|p,q|q|PENDING|1000|1000|Unknown|Unknown|60|0|0|1G|cpu=4,mem=1G\n"
      "4|4|p|q|RUNNING|1000|1000|4000|Unknown|60|1|4|1G|cpu=4,mem=1G\n"
      "5|5|p|q|CANCELLED by 1000|1000|1000|1200|1300|60|1|4|1G|cpu=4,mem=1G\n");
  const JobWaits waits = waits_of(listing);
  EXPECT_EQ(waits.started, 2U) << "cancelled while it ran, it had started";
  EXPECT_EQ(waits.waiting, 3U);
  ASSERT_EQ(waits.partitions.size(), 1U);
  const auto& known = waits.partitions[0].waits;
  EXPECT_EQ(known[0].wait_s, 700);
  EXPECT_EQ(known[1].wait_s, 800);
  EXPECT_EQ(known[2].wait_s, 3000) << "until the listing was made";
  EXPECT_TRUE(listing.jobs[2].waits_still);
  EXPECT_EQ(listing.jobs[2].cpus, 4U) << "asked for";
}

TEST(Sacct, counts_each_stay_of_a_requeued_job) {
  const JobListing listing = sacct(
      "9|9|p|q|NODE_FAIL|1000|1000|1100|1500|60|1|1|1G|cpu=1\n"
      "9|9|p|q|COMPLETED|1500|1620|1700|1900|60|1|1|1G|cpu=1\n");
  EXPECT_EQ(waits_in(listing), (std::vector<std::int64_t>{100, 80}));
}

TEST(Sacct, counts_an_array_once_per_burst_of_starts) {
  const JobListing listing = sacct(
      "11|10_1|p|q|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1\n"
      "12|10_2|p|q|COMPLETED|1000|1000|1101|2000|60|1|1|1G|cpu=1\n"
      "13|10_3|p|q|COMPLETED|1000|1000|1150|2000|60|1|1|1G|cpu=1\n"
      "14|10_4|p|q|COMPLETED|1000|1000|4000|5000|60|1|1|1G|cpu=1\n"
      "10|10_[5-9]|p|q|PENDING|1000|1000|Unknown|Unknown|60|0|0|1G|cpu=1\n"
      "20|20+0|p|q|COMPLETED|1000|1000|1200|2000|60|1|1|1G|cpu=1\n"
      "21|20+1|p|q|COMPLETED|1000|1000|1200|2000|60|1|1|1G|cpu=1\n");
  const JobWaits waits = waits_of(listing);
  EXPECT_EQ(waits.same_burst, 3U);
  EXPECT_EQ(waits.waiting, 1U);
  EXPECT_EQ(waits_in(listing), (std::vector<std::int64_t>{100, 3000, 200}));
}

TEST(Sacct, takes_a_line_of_names_and_passes_over_steps) {
  const JobListing listing = sacct(
      "State|JobIDRaw|JobID|Partition|QOS|Submit|Eligible|Start|End|TimelimitRaw|AllocNodes|"
      "AllocCPUS|ReqMem|ReqTRES|Elapsed\n"
      "COMPLETED|5|5|p|q|100|100|160|200|UNLIMITED|1|1|4Gn||00:01\n"
      "COMPLETED|5.batch|5.batch|||100|100|160|200||1|1|||00:01\n");
  ASSERT_EQ(listing.jobs.size(), 1U);
  EXPECT_EQ(listing.jobs[0].limit_s, 0) << "no limit";
  EXPECT_EQ(listing.jobs[0].memory_bytes, 4.0 * 1024 * 1024 * 1024);
}

void expect_refused(const std::string& text, const std::string& part) {
  EXPECT_THAT(refusal_of<RunError>([&] { (void)sacct(text); }), HasSubstr(part));
}

TEST(Sacct, names_the_line_that_is_broken) {
  const std::string good = "1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1\n";
  expect_refused(good + "2|2|p|q|COMPLETED|1000\n", "listing.txt, line 2: 6 fields in place of 14");
  expect_refused("1|1|p|q|COMPLETED|2024-09-25T21:15:00|1000|1100|2000|60|1|1|1G|cpu=1\n",
                 "SLURM_TIME_FORMAT=%s");
  expect_refused("x|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1\n", "its JobIDRaw is 'x'");
  expect_refused("1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|-3|1G|cpu=1\n", "AllocCPUS is '-3'");
  expect_refused("1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|3|1G|mem=xG\n", "its memory is 'x'");
  expect_refused("JobIDRaw|JobID\n", "the column Partition is missing");
  expect_refused("bash: sacct: command not found\n", "1 fields in place of 14");
}

TEST(Bhist, tells_waits_of_queues) {
  const JobListing listing = parse_lsf(
      "bhist.txt",
      "\n"
      "Job <101>, User <somebody>, Project <default>, Command <sleep 10>\n"
      "Mon Sep 25 21:15:00 2023: Submitted from host <a>, to Queue <nor\n"
      "                     mal>, CWD <$HOME>, 4 Task(s), Requested Resources <span[pti\n"
      "                     le=4]>;\n"
      "\n"
      " RUNLIMIT                \n"
      " 60.0 min of host\n"
      "Mon Sep 25 21:16:40 2023: Dispatched 4 Task(s) on Host(s) <b> <b>;\n"
      "Mon Sep 25 21:20:00 2023: Pending: Requeued job is waiting for rescheduling;\n"
      "Mon Sep 25 21:20:30 2023: Dispatched 4 Task(s) on Host(s) <b>;\n"
      "Mon Sep 25 21:30:00 2023: Done successfully. The CPU time used is 9.0 seconds;\n"
      "\n"
      "Summary of time in seconds spent in various states by Mon Sep 25 21:30:00\n"
      "  PEND     PSUSP    RUN      USUSP    SSUSP    UNKWN    TOTAL\n"
      "  130      0        770      0        0        0        900\n"
      "------------------------------------------------------------------------------\n"
      "\n"
      "Job <102[3]>, User <somebody>, Project <default>, Command <sleep 10>\n"
      "Mon Sep 25 21:15:00 2023: Submitted from host <a>, to Queue <normal>, CWD <$HOME>;\n"
      "Mon Sep 25 21:25:00 2023: Exited; job has been forced to exit before it was dispatched;\n",
      1700000000);
  ASSERT_EQ(listing.jobs.size(), 3U);
  EXPECT_EQ(listing.names.at(listing.jobs[0].partition), "normal");
  EXPECT_EQ(listing.jobs[0].cpus, 4U);
  EXPECT_EQ(listing.jobs[0].limit_s, 3600);
  EXPECT_EQ(waits_in(listing), (std::vector<std::int64_t>{100, 30})) << "back in the queue";
  EXPECT_EQ(listing.jobs[2].array, 102U);
  EXPECT_EQ(waits_of(listing).waiting, 1U);
}

TEST(Bjobs, tells_waits_of_queues) {
  const std::string header =
      "JOBID|JOBINDEX|QUEUE|STAT|SUBMIT_TIME|START_TIME|FINISH_TIME|NREQ_SLOT|RUNTIMELIMIT\n";
  const JobListing listing = parse_lsf(
      "bjobs.txt",
      header +
          "101|0|normal|DONE|Sep 25 21:15:00 2023|Sep 25 21:16:00 2023|Sep 25 21:20:00 2023|4|"
          "60.0/a\n"
          "102|1|night|RUN|Sep 25 21:15|Sep 25 21:45|-|1|-\n"
          "102|2|night|PEND|Sep 25 21:15|-|-|1|-\n"
          "103|0|night|PSUSP|Sep 25 21:15|-|-|1|-\n",
      1695800000);  // two days later
  EXPECT_EQ(waits_in(listing), (std::vector<std::int64_t>{1800, 60}));
  EXPECT_EQ(waits_of(listing).waiting, 1U);
  EXPECT_EQ(waits_of(listing).never_eligible, 1U) << "held";
  const std::string broken = header + "101|0|normal|DONE|yesterday|-|-|4|60\n";
  EXPECT_THAT(refusal_of<RunError>([&] { (void)parse_lsf("bjobs.txt", broken, 1695800000); }),
              HasSubstr("bjobs.txt, line 2: 'yesterday' is no time"));
}

TEST(Bjobs, passes_over_the_letter_of_an_expected_time) {
  const JobListing listing = parse_lsf(
      "bjobs.txt",
      "JOBID|JOBINDEX|QUEUE|STAT|SUBMIT_TIME|START_TIME|FINISH_TIME|NREQ_SLOT|RUNTIMELIMIT\n"
      "101|0|normal|RUN|Sep 25 21:15|Sep 25 21:16|Sep 25 21:17 L|4|60.0/a\n"
      "102|0|normal|EXIT|Sep 25 21:15|-|Sep 25 21:17 L|4|60.0/a\n"
      "103|0|normal|PEND|Sep 25 21:15|Sep 28 21:17:00 2023 E|-|4|60.0/a\n",
      1695800000);  // two days later
  EXPECT_EQ(waits_in(listing), std::vector<std::int64_t>{60});
  EXPECT_EQ(listing.jobs.at(1).until_s - listing.jobs[1].submit_s, 120);
  EXPECT_TRUE(listing.jobs.at(2).waits_still);
}

/// Another time zone for the length of a test.
class Zone {
 public:
  explicit Zone(const char* name) {
    const char* before = std::getenv("TZ");
    if (before != nullptr) before_ = before;
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  ~Zone() {
    before_.empty() ? ::unsetenv("TZ") : ::setenv("TZ", before_.c_str(), 1);
    ::tzset();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  std::string before_;
};

TEST(Lsf, puts_the_hour_that_autumn_repeats_in_order) {
  const Zone zone("CET-1CEST,M3.5.0,M10.5.0/3");  // on 2023-10-29 at 3:00 it is 2:00 again
  constexpr std::int64_t after_s = 1698700000;
  const JobListing table = parse_lsf(
      "bjobs.txt",
      "JOBID|JOBINDEX|QUEUE|STAT|SUBMIT_TIME|START_TIME|FINISH_TIME|NREQ_SLOT|RUNTIMELIMIT\n"
      "101|0|normal|DONE|Oct 29 02:50|Oct 29 02:10|Oct 29 03:30|4|60.0/a\n"
      "102|0|normal|DONE|Oct 29 01:50|Oct 29 02:10|Oct 29 03:30|4|60.0/a\n"
      "103|0|normal|EXIT|Oct 29 02:50:00 2023|-|Oct 29 02:05:00 2023|4|60.0/a\n",
      after_s);
  EXPECT_EQ(waits_in(table), (std::vector<std::int64_t>{1200, 1200}));
  EXPECT_EQ(waits_of(table).waiting, 1U);
  EXPECT_EQ(waits_of(table).never_eligible, 0U);
  const JobListing events = parse_lsf(
      "bhist.txt",
      "Job <101>, User <somebody>, Project <default>, Command <sleep 10>\n"
      "Sun Oct 29 02:40:00 2023: Submitted from host <a>, to Queue <normal>, CWD <$HOME>;\n"
      "Sun Oct 29 02:50:00 2023: Dispatched 1 Task(s) on Host(s) <b>;\n"
      "Sun Oct 29 02:05:00 2023: Pending: Requeued job is waiting for rescheduling;\n"
      "Sun Oct 29 02:10:00 2023: Dispatched 1 Task(s) on Host(s) <b>;\n",
      after_s);
  EXPECT_EQ(waits_in(events), (std::vector<std::int64_t>{600, 300}));
}

TEST(History, keeps_each_stay_once) {
  const TemporaryDirectory directory;
  const auto file = directory / "history.csv";
  const std::string old = "1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1,mem=1G\n";
  const std::string waiting = "2|2|p|q|PENDING|1500|1500|Unknown|Unknown|60|0|0|1G|cpu=1\n";
  EXPECT_EQ(keep_history(file, sacct(old + waiting)).jobs.size(), 2U);
  EXPECT_EQ(parse_history("history", file_text(file)).jobs.size(), 1U) << "one waits still";
  const JobListing all =
      keep_history(file, sacct(old + "2|2|p|q|COMPLETED|1500|1500|1900|2000|60|1|1|1G|cpu=1\n"));
  EXPECT_EQ(all.jobs.size(), 2U);
  EXPECT_EQ(waits_in(all), (std::vector<std::int64_t>{100, 400}));
  // The same again changes nothing; and accounting may have forgotten.
  const std::string text = file_text(file);
  EXPECT_EQ(keep_history(file, sacct(old)).jobs.size(), 2U);
  EXPECT_EQ(file_text(file), text);
  EXPECT_EQ(parse_history("history", text).jobs[0], sacct(old).jobs[0]);
}

TEST(History, keeps_names_with_commas_and_quotes) {
  const JobListing listing = sacct(
      "1|1|a,b|normal,high|CANCELLED|1000|1000|None|1100|60|1|1|1G|cpu=1\n"
      "2|2|\"big\"|say \"now, please\"|COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1\n"
      "3|3|p||COMPLETED|1000|1000|1100|2000|60|1|1|1G|cpu=1\n");
  const JobListing kept = parse_history("history", history_text(listing));
  ASSERT_EQ(kept.jobs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(kept.names.at(kept.jobs[i].partition), listing.names.at(listing.jobs[i].partition));
    EXPECT_EQ(kept.names.at(kept.jobs[i].qos), listing.names.at(listing.jobs[i].qos));
    EXPECT_EQ(kept.jobs[i].until_s, listing.jobs[i].until_s);
  }
}

TEST(History, of_another_version_or_broken_is_refused) {
  const auto refusal = [](const std::string& text) {
    return refusal_of<RunError>([&] { (void)parse_history("h.csv", text); });
  };
  EXPECT_THAT(refusal("# wallheat queue history 2\n"), HasSubstr("h.csv, line 1: this is no"));
  const std::string good = history_text({});
  EXPECT_THAT(refusal(good + "1,2,3\n"), HasSubstr("h.csv, line 3: 3 fields in place of 13"));
  EXPECT_THAT(refusal(good + "1,0,0,p,\"q,1,1,1,1,1,1,1,1\n"), HasSubstr("5 fields in place of"));
  EXPECT_THAT(refusal(good + "1,0,0,p,q,a,1,1,1,1,1,1,1\n"), HasSubstr("its submit_s is 'a'"));
}

TEST(SizeClasses, are_those_of_the_published_table) {
  SizeClasses classes;
  EXPECT_EQ(classes.names()[0], "< 4 CPU hours");
  EXPECT_EQ(classes.names()[1], "4 - 16 CPU hours");
  EXPECT_EQ(classes.names()[2], "16 - 64 CPU hours");
  EXPECT_EQ(classes.names()[3], "> 64 CPU hours");
  EXPECT_EQ(classes.of_hours(3.9), 0U);
  EXPECT_EQ(classes.of_hours(4), 1U);
  EXPECT_EQ(classes.of_hours(64), 2U);
  EXPECT_EQ(classes.of_hours(65), 3U);
  JobRecord job;
  job.cpus = 8;
  job.limit_s = 3600;
  EXPECT_EQ(classes.of(job), 1U);
  job.limit_s = 0;
  EXPECT_EQ(classes.of(job), 3U) << "no limit is the longest";
  classes.by_memory = true;
  EXPECT_EQ(classes.names()[3], "> 64 GB hours");
  EXPECT_FALSE(classes.of(job)) << "its memory is not known";
}

}  // namespace
}  // namespace wallheat
