// Text input of users and other programs.

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "cli/commands.hpp"
#include "forecast/campaign_choices.hpp"
#include "forecast/wait_forecast.hpp"
#include "report/recording.hpp"
#include "report/result_csv.hpp"
#include "report/row_table.hpp"
#include "run/run_options.hpp"
#include "support/results.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {
namespace {

using Seeds = std::vector<std::string>;

Seeds config_seeds() {
  Seeds files{
      "first = 10\ntolerance = 1e-4\nmax-iterations = 20000\nsolver-backend = vector\n"
      "isa = baseline\nthreads = 2\nsave-fields = true\n",
      "id = 10000\nid = a b\ndevice = cpu\nresume = on\nmax-attempts = 3\n"
      "retry-failed = 1\nprogress = none\nlog-level = info\n",
      "ids = ids.txt\nshard = 2/10\ntime-limit = 1h30m\nplan-timeout = 60.5\n"
      "worker-timeout = 1e9\noverwrite = yes\nevents = events.jsonl\n",
      "time-limit = 1:30:00\nshard = none\nconfig = other.cfg\nhelp = 1\n",
      "[section]\ntolerance = nan\nthreads = 99999999999999999999\n",
      "time-limit = 999999d999999h\n",
      "threads %original_token%= 2\nda%%%&%invalid_line%\n"};
  for (std::string& file : files) file.insert(0, "# a run\ndata = plans\nout = results.h5\n");
  return files;
}

void read_config(std::string_view text) {
  const auto file = directory() / "run.cfg";
  write_bytes(file, text);
  const auto start = std::chrono::steady_clock::now();
  accepts<UsageError>([&] {
    Options options("run", {"--config", file.string()});
    const RunOptions run = parse_run_options(options);
    require(!run.solve.data.empty() && !run.out.empty(), "a run without plans or result file");
    require(run.solve.solver.limits.tolerance >= 0, "a negative tolerance");
    require(run.solve.solver.limits.max_iterations >= 1, "a run without iterations");
    require(run.shard.number >= 1 && run.shard.number <= run.shard.count, "an invalid shard");
    require(!run.deadline || *run.deadline >= start, "a time limit before the start");
  });
}

Seeds recording_seeds() {
  return {"time,seconds,cpu,gpu0_pwr\nT,1,50,\nT,2,1e300,200\n",
          "# gpu   pwr gtemp\n# Idx     W     C\n    0    31     -\n    1    26    28\n",
          "0, gpuUtil , 1673214742538187, 0\n0, memUtil , 1673214743709403, 8\n", "#\n#\n0\n",
          ",,,\n"};
}

/// Recordings: CSV files of this program, or listings of nvidia-smi.
void read_recording_file(std::string_view text) {
  const auto file = directory() / "recording.txt";
  write_bytes(file, text);
  accepts<RunError>([&] {
    const Recording recording = read_recording(file);
    require(!recording.series.empty(), "a recording without series");
    for (const Series& series : recording.series)
      require(series.curve.x.size() == series.curve.y.size(), "values without times");
    std::ostringstream json;
    write_json(make_report(summary_of(recording)), json);
  });
}

Seeds formula_seeds() {
  return {"id = 'villa' AND status != 'converged' or mean_temp / 2 < 1.5e-05",
          "status in ('failed', \"empty\") and not (id like '%a''b%')",
          "max(abs(mean_temp), round(rows, 1)) between 3 and iif(id == \"x\", 4, seconds)",
          "1) from row; select (1",
          "case when host is null then 3 else error end collate nocase",
          "count(*) over () && 3 || x < 1 < mean_temp",
          "-- /* ?1 :a @b $c [id] `id` x'00' 0x1F \"mean_tmp\""};
}

/// Formulas of --where or --sort.
void read_formula(std::string_view text) {
  PlanResult solved;
  solved.id = "villa";
  solved.status = PlanStatus::converged;
  solved.statistics = {13.5, std::numeric_limits<double>::infinity(), 10, 60};
  accepts<UsageError>([&] {
    const Formula condition("where", std::string(text), all_columns(true));
    for (const PlanResult& row : {PlanResult(), solved, PlanResult()}) {
      const Value value = condition.value(row);
      const auto* const number = std::get_if<double>(&value);
      require(number == nullptr || !std::isnan(*number), "NaN, which has no sort order");
    }
  });
}

Seeds listing_seeds() {
  return {
      "1|1|p|q|COMPLETED|1000|1000|1100|2000|60|1|4|4Gn|cpu=4,mem=16G,node=1\n"
      "2|2_[3-4]|p,r|q|PENDING|1000|Unknown|Unknown|Unknown|UNLIMITED|0|0|0|\n"
      "3|3+1|p|q|CANCELLED by 5|1000|1000|None|1900|60|0|0|1G|cpu=1\n",
      "State|JobIDRaw|JobID|Partition|QOS|Submit|Eligible|Start|End|TimelimitRaw|AllocNodes|"
      "AllocCPUS|ReqMem|ReqTRES\nCOMPLETED|5|5|p|q|100|100|160|200|60|1|1|4Gn|\n",
      "JOBID|JOBINDEX|QUEUE|STAT|SUBMIT_TIME|START_TIME|FINISH_TIME|NREQ_SLOT|RUNTIMELIMIT\n"
      "101[3]|3|n|DONE|Sep 25 21:15:00 2023|Mon Sep 25 21:16 2023|-|4|60.0/a\n",
      "medium|up|20|32+|gpu:a100:4(S:0-1),gpu|2-12:30:00|1-infinite\n",
      "Sender: LSF System <l@n>\nSubject: Job 7[2]: <w> in cluster <c> Done\nJob <w> was submitted "
      "from host <l> at Mon Mar  3 10:00:00 2025\nJob was executed on host(s) <4*n>, in queue <q>, "
      "as user <u>\n  <4*m>\nStarted at Mon Mar  3 10:05:00 2025\n#BSUB -W 1:30\nTotal Requested "
      "Memory : 4096.00 MB\n",
      "m|up|2|3|gpu(|9223372036854775807-9:9:9|infinite|9223372036854775807\n",
      "9|9|p|q|COMPLETED|9223372036854775807|1|9223372036854775807|1|9223372036854775807|1|1|"
      "9999999999P|\n"};
}

/// Listings of jobs and partitions by schedulers.
void read_listing(std::string_view text) {
  accepts<RunError>([&] { (void)parse_sinfo("sinfo", text); });
  accepts<RunError>([&] {
    const bool is_bjobs = text.starts_with("JOBID");
    const JobListing found = has_lsf_report(text) ? parse_lsf_reports("jobs.out", text)
                             : is_bjobs           ? parse_bjobs("bjobs", text)
                                                  : parse_sacct("sacct", text);
    const JobWaits waits = extract_waits(found);
    require(waits.counts.records == found.jobs.size(), "a record was lost");
    for (const PartitionWaits& partition : waits.partitions) {
      for (const Wait& wait : partition.waits) require(wait.wait_s >= 0, "a negative wait");
      const WaitForecast forecast = forecast_waits(partition.waits);
      require(forecast.used() <= forecast.jobs, "more waits than jobs");
    }
  });
}

Seeds printed_seeds() {
  return {
      "loading\nbuilding_id, mean_temp, std_temp, pct_above_18, pct_below_15\n7, 14.5, 7.0, 39.2, "
      "50.5\nb,c, nan, nan, nan, nan\n7, 14.5, 7.0, 39.2, 50.5\nAverage, 1, 2, 3, 4\n",
      "7;14,5;7,0;39,2;50,5\r\n8;1,45e+01;7;39,2%;50\r\n",
      "\xef\xbb\xbf# id\tmean\tpct>18.5\n7\t14.5\t39.2\t\n",
      "   id  mean_temp  std  % above 18  pctBelow15\n0   7  14.5  7.0  39.2  50.5\n"};
}

/// Printed results of other programs.
void read_printed(std::string_view text) {
  const std::string file = directory() / "printed.csv";
  std::ofstream(file, std::ios::binary).write(text.data(), std::ssize(text));
  accepts<RunError>([&] {
    const ResultCsv csv = read_result_csv({file});
    require(!csv.plans.empty(), "no result");
    for (const CsvResult& result : csv.plans) {
      require(!result.id.empty(), "a result without an ID");
      const auto& [mean, deviation, above, below] = result.numbers;
      require(!deviation || !(deviation->value < 0), "a negative deviation");
      for (const auto& share : {above, below})
        require(!share || !(share->value < 0 || share->value > 100 + share->rounding_error),
                "a share out of its range");
    }
  });
}

}  // namespace

const Target config{"config", 5'000, config_seeds, read_config};
const Target recording{"recording", 20'000, recording_seeds, read_recording_file};
const Target formula{"formula", 20'000, formula_seeds, read_formula};
const Target listing{"listing", 20'000, listing_seeds, read_listing};
const Target printed{"printed", 10'000, printed_seeds, read_printed};

}  // namespace wallheat::fuzz
