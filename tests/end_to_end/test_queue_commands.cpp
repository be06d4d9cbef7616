// The commands queue, advise and offload, which forecast.
#include <fmt/format.h>

#include <regex>

#include "support/shell_test.hpp"
#include "view/json.hpp"

namespace wallheat {
namespace {

class QueueCommandsTest : public ShellTest {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  /// Returns the accounting line of a job of one hour.
  static std::string job(const std::string& partition, int cores, int wait_s,
                         const std::string& memory = "8G") {
    static int number = 0;
    ++number;
    const int at = 1'700'000'000 + 1000 * number;
    const std::string n = std::to_string(number);
    const std::string then = std::to_string(at);
    const std::string c = std::to_string(cores);
    return n + "|" + n + "|" + partition + "|q|COMPLETED|" + then + "|" + then + "|" +
           std::to_string(at + wait_s) + "|" + std::to_string(at + wait_s + 60) + "|60|1|" + c +
           "|" + memory + "|cpu=" + c + ",mem=" + memory + ",node=1\n";
  }
  /// Returns accounting lines of jobs whose mean waits are those of a table of partitions and
  /// classes, with cells such as "8.2 m (40150)".
  static std::string jobs_of(const std::string& table) {
    const std::regex entry(R"(NA|([0-9.]+) ([smh]) \(([0-9]+)\))");
    const int sizes[]{3, 16, 64, 65};  // cores and GB of a job in each class
    std::istringstream lines(table);
    std::string partition;
    std::string cells;
    std::getline(lines, cells);  // the heading
    std::string jobs;
    while (lines >> partition && std::getline(lines, cells)) {
      std::size_t column = 0;
      for (std::sregex_iterator cell(cells.begin(), cells.end(), entry), end; cell != end; ++cell) {
        const int size = sizes[column++];
        if (cell->str() == "NA") continue;
        const std::string unit = cell->str(2);
        const double wait_s = std::stod(cell->str(1)) * (unit == "h" ? 3600 : unit == "m" ? 60 : 1);
        const int count = std::stoi(cell->str(3));
        for (int i = 0; i < count; ++i)  // whole seconds that have this mean
          jobs += job(partition, size,
                      static_cast<int>(wait_s * (i + 1)) - static_cast<int>(wait_s * i),
                      std::to_string(size * 1'000'000'000LL / 1024) + "K");
      }
    }
    return jobs;
  }
};

TEST_F(QueueCommandsTest, PrintsPublishedTablesOfMeanWaits) {
  for (const auto& [option, table] :
       {std::pair{"",
                  "Partition  < 4 CPU hours  4 - 16 CPU hours  16 - 64 CPU hours  > 64 CPU hours\n"
                  "medium     8.2 m (40150)  3.4 h (13719)     1.5 h (13968)      14.6 h (13867)\n"
                  "gpu        4.7 m (322)    5.5 m (31)        6.4 h (517)        1.5 h (205)\n"
                  "int        0.9 s (72)     2.4 s (35)        6.5 s (4)          7.0 m (56)\n"},
        {"--memory ",
         "Partition  < 4 GB hours   4 - 16 GB hours  16 - 64 GB hours  > 64 GB hours\n"
         "medium     14.3 m (5943)  7.0 m (34330)    1.4 h (7060)      7.6 h (34371)\n"
         "gpu        3.7 s (238)    6.6 m (78)       30.2 m (38)       5.0 h (721)\n"
         "int        NA             NA               0.7 s (27)        2.8 m (140)\n"}}) {
    write("a.txt", jobs_of(table));
    EXPECT_EQ(shell(std::string("wallheat queue --sacct a.txt -p medium,gpu,int --cpu-hours 4,4 "
                                "--means ") +
                    option)
                  .out,
              table);
  }
  shell("wallheat queue --sacct a.txt --means --plot m.svg");
  EXPECT_THAT(bytes("m.svg"), Mentions({"medium", "gpu", "wait"}));
  expect_error("queue --sacct a.txt --means -p mediun", 1, {"mediun", "gpu", "int", "'medium'"});
}

TEST_F(QueueCommandsTest, BoundsWaitsFromOwnJobs) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += job("medium", 8, 1 + i * 617 % 100);
  for (int i = 0; i < 4; ++i) text += job("int", 1, 3);
  write("a.txt", text);
  // The two listings contain the same jobs; each job counts once.
  const std::string queue = "cat a.txt | wallheat queue --sacct - --sacct a.txt --own ";
  EXPECT_THAT(shell(queue + "--plot q.svg").out, Mentions({"own", "104", "1 min 39 s"}));
  EXPECT_THAT(bytes("q.svg"), Mentions("medium"));
  for (const Json& row : Json::parse(shell(queue + "--json").out)["queues"])
    EXPECT_EQ(row["bound_95_s"].is_null(), row["partition"] == "int") << row << ": too few jobs";
}

TEST_F(QueueCommandsTest, CountsOnlyJobsOfChosenPartitions) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += job("medium", 8, 1 + i * 617 % 100);
  for (int i = 0; i < 4; ++i) text += job("int", 1, 3);
  write("a.txt", text);
  for (const auto& [option, started] :
       {std::pair("", 104), {" -p int", 4}, {" -p int,medium", 104}})
    EXPECT_EQ(Json::parse(shell(std::string("wallheat queue --sacct a.txt --json") + option).out)
                  .at("started"),
              started)
        << option;
}

TEST_F(QueueCommandsTest, ReadsReportsInOutputsOfLsfJobs) {
  const std::string user = "in cluster <example> at Mon Mar  3 ";
  for (int i = 0; i < 5; ++i)
    write(
        fmt::format("job_{}.out", i),
        fmt::format("building_id, mean_temp\n1, 14.5\n\nSender: LSF System <lsfadmin@node1>\n"
                    "Subject: Job {0}: <walls> in cluster <example> Done\n\n"
                    "Job <walls> was submitted from host <login> {1}10:00:00 2025\n"
                    "Job was executed on host(s) <4*node1>, in queue <short>, {1}10:0{0}:00 2025\n"
                    "Started at Mon Mar  3 10:0{0}:00 2025\n"
                    "Terminated at Mon Mar  3 10:20:00 2025\n",
                    i + 1, user));
  const Json found =
      Json::parse(shell("cat job_*.out | wallheat queue --lsf - --lsf job_0.out --json").out);
  EXPECT_EQ(found.at("started"), 5);
  EXPECT_EQ(found.at("own_jobs"), true);
  EXPECT_EQ(found.at("queues").at(0).at("partition"), "short");
  EXPECT_EQ(found.at("queues").at(0).at("mean_s"), 180);
}

TEST_F(QueueCommandsTest, RejectsInvalidListings) {
  write("a.txt", job("p", 1, 10) + "12|13\n");
  write("l.txt", "JOBID|QUEUE\n");
  expect_error("queue --sacct a.txt", 1, {"a.txt", "line 2", "2 fields", "14"});
  expect_error("queue --sacct - < /dev/null", 1, {"listing", "no jobs"});
  expect_error("queue --sacct a.txt --cpu-hours 4,1", 2, {"--cpu-hours", "'4,1'"});
  expect_error("queue --lsf l.txt", 1, {"l.txt", "line 1", "JOBINDEX"});
  EXPECT_THAT(shell("mkdir bin; ln -s \"$program\" bin/wallheat; PATH=bin wallheat queue", 1).err,
              Mentions({"sacct", "bjobs", "--sacct", "--lsf"}));
}

TEST_F(QueueCommandsTest, RequestsListingInKnownFormats) {
  write("a.txt", job("p", 1, 10));
  write("sacct", "#!/bin/sh\n[ $SLURM_TIME_FORMAT:$LC_ALL = %s:C ] && cat a.txt\n");
  const std::string queue = "chmod +x sacct; PATH=$PWD:$PATH SLURM_TIME_FORMAT=relative wallheat ";
  EXPECT_THAT(shell(queue + "queue --json").out, Mentions("\"p\""));
  write("sacct", "#!/bin/sh\necho 'slurm_load: no database' >&2; exit 1\n");
  EXPECT_THAT(shell(queue + "queue", 1).err, Mentions({"sacct", "no database", "--sacct"}));
}

TEST_F(QueueCommandsTest, AdvisesPartitionForPendingPlans) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += job("slow", 4, 4000) + job("now", 4, 2);
  write("a.txt", text);
  write("sinfo.txt", "slow|up|4|4|(null)|1-00:00:00|1-infinite\nnow|up|1|4|(null)|1:00:00|1\n");
  write("scontrol.txt", "MaxArraySize            = 3\n");
  shell("wallheat generate --out plans --count 6 --size 32");
  const std::string of_run = "-- --data plans --out r.h5 ";
  const auto advice = [&](const std::string& more) {
    return shell("wallheat advise --sacct a.txt --sinfo sinfo.txt --scontrol scontrol.txt " + more)
        .out;
  };
  EXPECT_EQ(advice("--best " + of_run), "--partition now --nodes 1 --time 5m\n");
  const auto json = Json::parse(advice("--json " + of_run + "--first 4"));
  EXPECT_EQ(json["plans"], 4);
  EXPECT_EQ(json["choices"].size(), 6U)
      << "1, 2 and 4 nodes and an array of 2 on slow; 1, and 2 one after the other, on now";
  EXPECT_EQ(json["choices"][0]["wait_bound_95_s"], 2);
  ASSERT_EQ(json["machines"].size(), 1U) << "this machine, for comparison";
  EXPECT_EQ(json["machines"][0]["is_here"], true);
  EXPECT_THAT(advice(of_run), Mentions("this machine"));
  const std::string measured_speed = json["speed"];
  shell("wallheat run --data plans --out r.h5 --first 4");
  const auto left = Json::parse(advice("--json " + of_run));
  EXPECT_EQ(left["plans"], 2) << "four are solved";
  EXPECT_THAT(left["speed"].get<std::string>(), Mentions("4 solved plans"));
  EXPECT_NE(measured_speed, left["speed"].get<std::string>())
      << "without solved plans it is measured";
  const auto done = Json::parse(advice("--json " + of_run + "--first 4"));
  EXPECT_EQ(done["plans"], 0);
  EXPECT_TRUE(done["choices"].empty());
  const auto cheapest = Json::parse(advice("--json -p slow --by core-hours " + of_run));
  for (const Json& choice : cheapest["choices"]) {
    EXPECT_EQ(choice["partition"], "slow");
    EXPECT_GE(choice["core_hours"], cheapest["choices"][0]["core_hours"]);
  }
  EXPECT_THAT(cheapest["reason"].get<std::string>(), Mentions({"slow", "core hours"}));
  expect_error("advise --sinfo sinfo.txt -p no -- --data plans --out r.h5", 2,
               {"--partition", "slow", "'no'", "'now'"});
}

TEST_F(QueueCommandsTest, AdvisesGpus) {
  write("a.txt", job("gpu", 4, 2));
  write("sinfo.txt", "gpu|up|1|8|gpu:a100:2(S:0)|1:00:00|1\n");
  write("scontrol.txt", "MaxArraySize            = 1\n");
  shell("wallheat generate --out plans --count 6 --size 32");
  const std::string advise =
      "wallheat advise --sacct a.txt --sinfo sinfo.txt --scontrol scontrol.txt --core-speed 1e4 ";
  const std::string of_run = " -- --data plans --out r.h5 ";
  const auto slow_gpu = Json::parse(shell(advise + "--gpu-speed 1e5 --json" + of_run).out);
  ASSERT_EQ(slow_gpu.at("choices").size(), 3U) << "its cores, one GPU, and both GPUs";
  EXPECT_THAT(slow_gpu.at("gpu_speed").get<std::string>(), Mentions({"1e+05", "--gpu-speed"}));
  const Json& best = slow_gpu.at("choices").at(0);
  EXPECT_EQ(best.at("gpus"), 2);
  EXPECT_THAT(best.at("submit_options").get<std::string>(),
              StartsWith("--partition gpu --nodes 1 --gpus 2 --time "));
  EXPECT_GT(best.at("gpu_hours"), 0);
  const auto usual = Json::parse(shell(advise + "--json" + of_run).out);
  EXPECT_THAT(usual.at("gpu_speed").get<std::string>(), Mentions({"8.7e+11", "H100"}))
      << "the speed that is assumed is stated";
  EXPECT_LT(usual.at("choices").at(0).at("run_s"), best.at("run_s"));
  for (const char* option : {"--device cpu", "--solver steady"}) {
    const auto cores = Json::parse(shell(advise + "--json" + of_run + option).out);
    EXPECT_EQ(cores.at("choices").size(), 1U) << option;
    EXPECT_TRUE(cores.at("gpu_speed").is_null()) << option;
  }
  write("sinfo.txt", "slow|up|4|4|(null)|1-00:00:00|1-infinite\n");
  expect_error(
      "advise --sacct a.txt --sinfo sinfo.txt --scontrol scontrol.txt" + of_run + "--device gpu", 1,
      {"GPUs", "--device"});
}

TEST_F(QueueCommandsTest, AdvisesWithoutScheduler) {
  shell("wallheat generate --out plans --count 6 --size 32");
  shell("mkdir bin; ln -s \"$program\" bin/wallheat");
  const std::string advise = "PATH=bin wallheat advise --core-speed 1e6 ";
  const std::string of_run = " -- --data plans --out r.h5 --threads 1 ";
  const auto json = Json::parse(shell(advise + "--json --cores-per-node 2" + of_run).out);
  const Json& machines = json.at("machines");
  EXPECT_EQ(machines.at(0).at("is_here"), true);
  EXPECT_EQ(machines.at(0).at("cores"), 1) << "--threads";
  EXPECT_NEAR(machines.at(0).at("run_s").get<double>(), json.at("core_hours").get<double>() * 3600,
              1e-6);
  for (const Json& machine : machines) {
    EXPECT_FALSE(machine.at("assumptions").get<std::string>().empty());
    if (!machine.at("is_here") && machine.at("gpus") == 0) {
      EXPECT_EQ(machine.at("cores"), 2);
    }
  }
  EXPECT_THAT(shell(advise + of_run).out, Mentions({"this machine", "sinfo", "--sinfo", "H100"}));
  EXPECT_THAT(shell(advise + "-p slow" + of_run, 1).err, Mentions({"sinfo", "--sinfo"}));
  for (const auto& [script, reason] :
       {std::pair{"echo 'error: no configuration' >&2; exit 1", "no configuration"},
        {"exit 0", "lists no partition"}}) {
    write("bin/sinfo", fmt::format("#!/bin/sh\n{}\n", script));
    shell("chmod +x bin/sinfo");
    const std::string notes = Json::parse(shell(advise + "--json" + of_run).out).at("notes");
    EXPECT_THAT(notes, Mentions({"without a cluster", reason, "login node", "--sinfo"}));
    for (const char* option : {"-p slow", "--best"}) {
      const Finished failed = shell(advise + option + of_run, 1);
      EXPECT_THAT(failed.err, Mentions({reason, "--sinfo"})) << option;
      EXPECT_EQ(failed.out, "") << "'wallheat submit' must not get other options";
    }
  }
  shell("wallheat run --data plans --out r.h5");
  EXPECT_TRUE(Json::parse(shell(advise + "--json" + of_run).out).at("machines").empty());
}

TEST_F(QueueCommandsTest, AdvisesOnCompleteCampaign) {
  write("sinfo.txt", "now|up|1|4|(null)|1:00:00|1\n");
  shell("wallheat generate --out plans --count 6 --size 32");
  const std::string advise =
      "wallheat advise --json --sacct a.txt --sinfo sinfo.txt --scontrol scontrol.txt "
      "--core-speed 1e8 -- --data plans --out r.h5 ";
  write("a.txt", job("now", 4, 2));
  write("scontrol.txt", "MaxArraySize            = 3\n");
  EXPECT_EQ(Json::parse(shell("SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=1 "
                              "SLURM_ARRAY_TASK_MAX=2 SLURM_ARRAY_TASK_COUNT=2 " +
                              advise)
                            .out)
                .at("plans"),
            6)
      << "in a task of an array";
  EXPECT_EQ(Json::parse(shell(advise + "--shard none").out).at("plans"), 6);
  write("run.cfg", "shard = 1/2\n");
  for (const char* shard : {"--shard 1/2", "--config run.cfg"})
    EXPECT_THAT(shell(advise + shard, 2).err, Mentions({"--shard", "1/2"})) << shard;
}

TEST_F(QueueCommandsTest, ComputesBreakEvenIntensityOfGpuOffload) {
  const std::string offload = "wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9 ";
  EXPECT_THAT(shell(offload + "--plot o.svg").out, Mentions("1.068"));
  EXPECT_THAT(bytes("o.svg"), Mentions({"0.534", "1.068"}));
  EXPECT_THAT(shell(offload + "--out o.csv && cat o.csv").out,
              StartsWith("moved,bytes,operations\n"));
  EXPECT_THAT(shell(offload + "--out o.json && cat o.json").out, StartsWith("{\n"));
  // Eight cores against two GPUs: 16 / 15e9 / (1 / 8e9 - 1 / 2e12).
  write("sinfo.txt", "c|up|4|8|(null)|2:00:00|1|64000\ng|up|2|8|gpu:2|infinite|1|64000\n");
  const auto json = Json::parse(shell(offload + "--sinfo sinfo.txt --json").out);
  EXPECT_EQ(json["partitions"][0]["operations"], nullptr);
  EXPECT_NEAR(json["partitions"][1]["operations"].get<double>(), 8.568, 0.0005);
  EXPECT_EQ(json["partitions"][1]["memory_bytes"], 64'000LL * 1024 * 1024);
}

}  // namespace
}  // namespace wallheat
