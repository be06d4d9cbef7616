// The commands that forecast: queue, advise, offload.
#include <map>
#include <nlohmann/json.hpp>

#include "support/shell_test.hpp"

namespace wallheat {
namespace {

class Forecasts : public ShellTest {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  /// A job of so many cores and one hour that waited so long.
  static std::string job(const std::string& partition, int cores, int wait_s, int nodes = 1) {
    static int number = 0;
    ++number;
    const int at = 1'700'000'000 + 1000 * number;
    const std::string n = std::to_string(number);
    const std::string then = std::to_string(at);
    const std::string c = std::to_string(cores);
    return n + "|" + n + "|" + partition + "|q|COMPLETED|" + then + "|" + then + "|" +
           std::to_string(at + wait_s) + "|" + std::to_string(at + wait_s + 60) + "|60|" +
           std::to_string(nodes) + "|" + c + "|8G|cpu=" + c + ",mem=8G,node=1\n";
  }
};

TEST_F(Forecasts, prints_the_published_table_of_means) {
  write("a.txt", job("medium", 1, 480) + job("medium", 2, 504) + job("medium", 8, 12240) +
                     job("medium", 128, 52560) + job("int", 1, 1) + job("int", 2, 0) +
                     job("int", 2, 2));
  EXPECT_EQ(shell("wallheat queue --sacct a.txt --means -p medium,int --cpu-hours 4,4").out,
            "Partition  < 4 CPU hours  4 - 16 CPU hours  16 - 64 CPU hours  > 64 CPU hours\n"
            "medium     8.2 m (2)      3.4 h (1)         NA                 14.6 h (1)\n"
            "int        1.0 s (3)      NA                NA                 NA\n");
  EXPECT_THAT(shell("wallheat queue --sacct a.txt --means -m").out,
              AllOf(HasSubstr("4 - 16 GB hours"), HasSubstr("1.0 s (3)")));
  expect_refusal("queue --sacct a.txt --means -p mediun", 1,
                 "'mediun'; there are int, medium; did you mean 'medium'?");
}

TEST_F(Forecasts, bounds_waits_by_partition_and_size) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += job("medium", 8, 1 + i * 617 % 100);
  for (int i = 0; i < 4; ++i) text += job("int", 1, 3);
  write("a.txt", text);
  const auto json =
      nlohmann::json::parse(shell("wallheat queue --sacct - --own --json < a.txt").out);
  EXPECT_EQ(json["own_jobs"], true);
  EXPECT_EQ(json["started"], 104);
  const auto& queues = json["queues"];
  ASSERT_EQ(queues.size(), 4U) << "all, and the one size that jobs had, of each";
  EXPECT_EQ(queues[0]["partition"], "int");
  EXPECT_EQ(queues[0]["median_bound_s"], nullptr);
  EXPECT_EQ(queues[2]["bound_95_s"], 99);
  EXPECT_EQ(queues[3]["size"], "4 - 16 CPU hours");
  EXPECT_EQ(queues[3]["median_bound_s"], 59);
  EXPECT_EQ(queues[3]["percent_in_15_min"], 100);
  EXPECT_THAT(shell("wallheat queue --sacct a.txt --own --plot q.svg").out,
              AllOf(HasSubstr("from your 104 own jobs"), HasSubstr("1 min 39 s"),
                    HasSubstr("not enough history")));
  EXPECT_THAT(bytes("q.svg"), HasSubstr("medium"));
}

TEST_F(Forecasts, keeps_a_history) {
  write("a.txt", job("p", 1, 10));
  write("b.txt", job("p", 1, 20));
  shell("wallheat queue --sacct a.txt --history h.csv");
  const auto json =
      nlohmann::json::parse(shell("wallheat queue --sacct b.txt --history h.csv --json").out);
  EXPECT_EQ(json["started"], 2);
  // Where no scheduler is, the history is what there is.
  const Finished alone = shell(
      "mkdir bin; ln -s \"$program\" bin/wallheat; PATH=bin wallheat queue --history h.csv --json");
  EXPECT_THAT(alone.err, HasSubstr("only h.csv is read"));
  EXPECT_EQ(nlohmann::json::parse(alone.out)["started"], 2);
  expect_refusal("queue --sacct a.txt --history a.txt", 2, "a.txt");
}

TEST_F(Forecasts, loses_no_record_of_a_history_that_many_add_to) {
  constexpr int calls = 6;
  constexpr int records = 3000;
  for (int call = 0; call < calls; ++call) {
    std::string text;
    for (int i = 0; i < records; ++i) text += job("p" + std::to_string(call), 1, 10);
    write(std::to_string(call), text);
  }
  (void)shell(
      "for i in 0 1 2 3 4 5; do (wallheat queue --sacct $i --history h.csv > out.$i 2> err.$i; "
      "echo $? > status.$i) & done; wait");
  const std::string history = bytes("h.csv");
  int kept = 0;
  for (int call = 0; call < calls; ++call) {
    const std::string number = std::to_string(call);
    const std::string partition = ",p" + number + ",";
    int found = 0;
    for (std::size_t at = 0; (at = history.find(partition, at)) != std::string::npos; ++at) ++found;
    if (file_text(directory_ / ("status." + number)) == "0\n") {
      EXPECT_EQ(found, records) << call;
      ++kept;
    } else {
      EXPECT_EQ(found, 0) << call;
      EXPECT_THAT(file_text(directory_ / ("err." + number)), HasSubstr("wait for it")) << call;
    }
  }
  EXPECT_GE(kept, 1);
  EXPECT_FALSE(exists("h.csv.lock"));
}

TEST_F(Forecasts, keeps_the_history_that_a_link_leads_to_and_its_rights) {
  write("a.txt", job("p", 1, 10));
  write("b.txt", job("p", 1, 20));
  shell(
      "mkdir far; ln -s far/h.csv h.csv; umask 027; "
      "wallheat queue --sacct a.txt --history h.csv && chmod 664 far/h.csv && "
      "wallheat queue --sacct b.txt --history h.csv");
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "h.csv"));
  EXPECT_EQ(shell("grep -c ,p, far/h.csv; stat -c %a far/h.csv").out, "2\n664\n");
}

TEST_F(Forecasts, reads_a_listing_through_links_and_pipes) {
  write("a.txt", job("p", 1, 10));
  for (const char* command : {"ln -s a.txt link; wallheat queue --sacct link",
                              "wallheat queue --sacct /dev/stdin < a.txt",
                              "cat a.txt | wallheat queue --sacct /dev/stdin",
                              "mkfifo pipe; cat a.txt > pipe & wallheat queue --sacct pipe",
                              "cat a.txt | wallheat queue --sacct -"}) {
    EXPECT_THAT(shell(command).out, HasSubstr("1 started")) << command;
  }
  expect_refusal("queue --sacct /dev/zero", 1, "/dev/zero is no text");
  expect_refusal("queue --sacct .", 1, ". cannot be read: it is a directory");
}

TEST_F(Forecasts, of_broken_listings_names_the_line) {
  write("a.txt", job("p", 1, 10) + "12|13\n");
  expect_refusal("queue --sacct a.txt", 1, "a.txt, line 2: 2 fields in place of 14");
  expect_refusal("queue --sacct none.txt", 1, "none.txt");
  expect_refusal("queue --sacct - < /dev/null", 1, "no job is in the listing");
  expect_refusal("queue --sacct a.txt --lsf a.txt", 2, "exclude each other");
  expect_refusal("queue --sacct a.txt --cpu-hours 4", 2, "--cpu-hours takes the first bound");
  expect_refusal("queue --sacct a.txt --cpu-hours 4,1", 2, "the factor above 1");
  write("l.txt", "JOBID|QUEUE\n");
  expect_refusal("queue --lsf l.txt", 1, "l.txt, line 1: the column JOBINDEX is missing");
}

TEST_F(Forecasts, advises_where_to_run) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += job("slow", 4, 4000) + job("now", 4, 2);
  write("a.txt", text);
  write("sinfo.txt", "slow|up|4|4|(null)|1-00:00:00|1-infinite\nnow|up|1|4|(null)|1:00:00|1\n");
  write("scontrol.txt", "MaxArraySize            = 3\n");
  shell("wallheat generate --out plans --count 6 --size 32");
  const std::string advise =
      "wallheat advise --sacct a.txt --sinfo sinfo.txt --scontrol scontrol.txt ";
  EXPECT_EQ(shell(advise + "--best -- --data plans --out r.h5").out,
            "--partition now --nodes 1 --time 5m\n");
  const auto json =
      nlohmann::json::parse(shell(advise + "--json -- --data plans --out r.h5 --first 4").out);
  EXPECT_EQ(json["plans"], 4);
  EXPECT_EQ(json["choices"].size(), 6U)
      << "1, 2 and 4 nodes and an array of 2 on slow; 1, and 2 one after the other, on now";
  EXPECT_EQ(json["choices"][0]["wait_bound_95_s"], 2);
  EXPECT_THAT(json["speed"].get<std::string>(), HasSubstr("of this machine"));
  shell("wallheat run --data plans --out r.h5 --first 4");
  const auto left = nlohmann::json::parse(shell(advise + "--json -- --data plans --out r.h5").out);
  EXPECT_EQ(left["plans"], 2) << "four are solved";
  EXPECT_EQ(left["speed"], "as 4 solved plans took");
  EXPECT_THAT(shell(advise + "-- --data plans --out r.h5 --first 4").out,
              HasSubstr("nothing to submit"));
  EXPECT_THAT(shell(advise + "-p slow:watts=400,core-price=0.5 --by price -- --data "
                             "plans --out new.h5")
                  .out,
              AllOf(HasSubstr("kWh"), HasSubstr("price"), HasSubstr("costs least"),
                    Not(HasSubstr("of now"))));
  expect_refusal("advise --sinfo sinfo.txt", 2, "they come after --");
  expect_refusal("advise --sinfo sinfo.txt -- --data plans", 2, "--out is missing");
  expect_refusal("advise -p x -- --data plans --out r.h5", 2, "--partition x:nodes=N,cores=N");
}

TEST_F(Forecasts, of_jobs_on_many_nodes_are_from_the_waits_of_such_jobs) {
  generate(2, 16);
  std::string text;
  for (int i = 0; i < 300; ++i) text += i % 3 == 0 ? job("p", 4, 600, 4) : job("p", 4, 10);
  write("a.txt", text);
  write("sinfo.txt", "p|up|8|1|(null)|2:00:00|1-infinite\n");
  write("scontrol.txt", "MaxArraySize = 101\n");
  const auto advice = nlohmann::json::parse(
      shell("wallheat advise --sacct a.txt --sinfo sinfo.txt --scontrol scontrol.txt --json -- "
            "--data plans --out r.h5")
          .out);
  std::map<int, double> waits;
  for (const auto& choice : advice["choices"])
    if (choice["jobs"] == 1) waits[choice["nodes"]] = choice["wait_median_bound_s"];
  EXPECT_EQ(waits, (std::map<int, double>{{1, 10}, {2, 600}, {4, 600}, {8, 600}}));
}

TEST_F(Forecasts, say_when_a_transfer_to_a_gpu_pays) {
  const std::string offload = "wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9 ";
  const auto rows = nlohmann::json::parse(shell(offload + "--json").out)["break_even"];
  for (const auto& [row, operations] : {std::pair(0, 0.534), {1, 1.068}, {2, 0.267}})
    EXPECT_NEAR(rows[row]["operations"].get<double>(), operations, 0.0005);
  EXPECT_THAT(shell(offload + "--plot o.svg").out, HasSubstr("1.068"));
  shell(offload + "--out o.csv && " + offload + "--out o.json");
  EXPECT_THAT(bytes("o.csv"), StartsWith("moved,bytes,operations\n"));
  EXPECT_THAT(bytes("o.json"), StartsWith("{\n"));
  EXPECT_THAT(bytes("o.svg"), HasSubstr("0.534 and 1.068"));
  EXPECT_THAT(shell("wallheat offload --bandwidth 1e9 --gpu 1e9 --cpu 1e9").out,
              HasSubstr("never"));
  // Eight cores against two GPUs: 16 / 15e9 / (1 / 8e9 - 1 / 2e12).
  write("sinfo.txt", "c|up|4|8|(null)|2:00:00|1|64000\ng|up|2|8|gpu:2|infinite|1|64000\n");
  const auto json = nlohmann::json::parse(shell(offload + "--sinfo sinfo.txt --json").out);
  EXPECT_EQ(json["partitions"][0]["operations"], nullptr);
  EXPECT_NEAR(json["partitions"][1]["operations"].get<double>(), 8.568, 0.0005);
  EXPECT_EQ(json["partitions"][1]["memory_bytes"], 64'000'000'000);
  expect_refusal("offload --bandwidth 0 --gpu 1 --cpu 1", 2,
                 "--bandwidth must be a number above 0");
  expect_refusal("offload --bandwidth 1", 2, "--gpu and --cpu are missing");
}

}  // namespace
}  // namespace wallheat
