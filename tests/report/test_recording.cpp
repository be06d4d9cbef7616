#include <cmath>
#include <fstream>
#include <sstream>
#include <tuple>

#include "monitor/gpu_text.hpp"
#include "report/node_text.hpp"
#include "report/recording.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/report_values.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

// Output of `monitor` for a node, and recordings made by it and by other tools.

namespace wallheat {
namespace {

Recording read(const std::string& text) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "r.txt", std::ios::binary) << text;
  return read_recording(directory / "r.txt");
}

SeriesSummary summary_of_file(const std::string& name, const std::string& series) {
  for (const SeriesSummary& summary : summary_of(read_recording(WALLHEAT_TEST_DATA "/" + name)))
    if (summary.name == series) return summary;
  throw std::runtime_error("no " + series);
}

TEST(NodeRecording, MatchesPublishedAverages) {
  for (const auto& [file, series, samples, mean, most] :
       {std::tuple("gpu_util.txt", "gpu0_gpuUtil", 31U, 27.3, 87),
        {"mem_util.txt", "gpu0_memUtil", 31U, 10.2, 31},
        {"dmon.txt", "gpu0_pwr", 23U, 70.3, 183},
        {"dmon.txt", "gpu0_sm", 23U, 27.3, 88}}) {
    const SeriesSummary found = summary_of_file(file, series);
    EXPECT_EQ(found.samples, samples) << series;
    EXPECT_NEAR(found.values.mean(), mean, 0.05) << series;
    EXPECT_EQ(found.values.max(), most) << series;
  }
  EXPECT_EQ(summary_of_file("gpu_util.txt", "gpu0_gpuUtil").zeros, 13U);
  EXPECT_EQ(summary_of_file("dmon.txt", "gpu0_pwr").unit, "W");
  EXPECT_EQ(summary_of_file("dmon.txt", "gpu0_mtemp").samples, 0U);
}

TEST(NodeRecording, ReadsOwnCsvWithUnknownValues) {
  const Recording recording = read(
      "time,seconds,cpu,gpu0_pwr,cpu0\n"
      "2030-01-01T00:00:00.000Z,1,50,,5\n"
      "2030-01-01T00:00:02.500Z,3.5,25,200.5,7\n");
  ASSERT_EQ(recording.series.size(), 3U);
  EXPECT_TRUE(recording.has_times);
  EXPECT_EQ(recording.series[1].unit, "W");
  EXPECT_THAT(recording.series[1].curve.x, ElementsAre(1, 3.5));
  EXPECT_THAT(recording.series[1].curve.y, ElementsAre(testing::IsNan(), 200.5));
  EXPECT_EQ(summary_of(recording)[1].samples, 1U);
}

TEST(NodeRecording, ReadsListingsOfNvidiaSmi) {
  const Recording of_two_gpus = read(
      "# gpu   pwr\n# Idx     W\n    0    10\n    1   100\n"
      "# gpu   pwr\n# Idx     W\n    0    30\n    1     -\n");
  ASSERT_EQ(of_two_gpus.series.size(), 2U);
  EXPECT_FALSE(of_two_gpus.has_times);
  EXPECT_THAT(of_two_gpus.series[0].curve.y, ElementsAre(10, 30));
  EXPECT_THAT(of_two_gpus.series[1].curve.x, ElementsAre(0, 1));
  EXPECT_EQ(summary_of(of_two_gpus)[1].samples, 1U);
  const Recording dated = read(  // dmon -o DT --format csv
      "#Date, Time, gpu, sm\n#YYYYMMDD, HH:MM:SS, Idx, %\n20300101, 00:00:01, 0, 7\n");
  ASSERT_EQ(dated.series.size(), 1U);
  EXPECT_EQ(dated.series[0].curve.name, "gpu0_sm");
  const Recording stats =
      read("0, gpuUtil , 1000000, 5\n0, gpuUtil , 1500000, 6\n0, memUtil , 2000000, 7\n");
  EXPECT_THAT(stats.series.at(0).curve.x, ElementsAre(0, 0.5));
  EXPECT_THAT(stats.series.at(1).curve.x, ElementsAre(1));
}

TEST(NodeRecording, NamesLineOfInvalidValue) {
  const std::string own = "time,seconds,cpu\nT,1,50\n";
  const std::string dmon = "# gpu pwr\n# Idx W\n";
  for (const auto& [text, facts] :
       {std::pair(own + "T,2\n", Facts{"line 3", "2", "3 columns"}),
        {own + "\nT,2,x\n", {"line 4", "'x'"}},
        {own + "T,,5\n", {"line 3", "''"}},
        {"time,seconds,cpu,cpu\n", {"line 1", "column"}},
        {dmon + "0 5 6\n", {"line 3", "3", "2 columns"}},
        {dmon + "0 nan\n", {"line 3", "'nan'"}},
        {"# gpu pwr\n0 5\n", {"line 2", "nvidia-smi dmon"}},
        {"# pid pwr\n# Idx W\n0 5\n", {"line 3", "nvidia-smi dmon"}},
        {"0, gpuUtil , 1, 5\n0, gpuUtil , 2\n", {"line 2", "3", "4 columns"}},
        {"", {"empty"}},
        {" \n\n", {"empty"}},
        {dmon, {"no sample"}},
        {"time,seconds,cpu\n", {"no sample"}},
        {"building_id,mean_temp\n", {"wallheat monitor", "nvidia-smi dmon", "nvidia-smi stats"}}})
    EXPECT_THAT(error_message_of<RunError>([&, &text = text] { (void)read(text); }),
                AllOf(Mentions("r.txt"), Mentions(facts)));
  EXPECT_THROW((void)read_recording("none.txt"), RunError);
}

TEST(NodeRecording, HidesUninformativeSeries) {
  const Recording recording = read(
      "time,seconds,cpu0,gpu0_mtemp,cpu,gpu0_pwr,gpu0_enc,gpu0_energy\n"
      "T,1,5,,50,100,0,7\nT,2,7,,60,200,0,9\n");
  const Report report = make_report(summary_of(recording));
  EXPECT_EQ(report.first<Table>()->max_text_rows, 4U)
      << "neither a single cpu nor a series without values";
  EXPECT_EQ(cell_of(report, "summary", 3, "name"), Value("gpu0_energy"));
  EXPECT_EQ(cell_of(report, "summary", 3, "unit"), Value("J"));
  EXPECT_EQ(cell_of(report, "summary", 3, "samples"), Value(2));
  EXPECT_TRUE(std::isnan(std::get<double>(cell_of(report, "summary", 3, "mean"))))
      << "a sum has no mean";
  EXPECT_EQ(cell_of(report, "summary", 3, "largest"), Value(9.0));
  const auto figures = figures_of(recording);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].key, "busy");
  EXPECT_THAT(figures[0].name, Mentions("%"));
  ASSERT_EQ(figures[0].series.size(), 1U) << "neither an idle codec nor a single cpu";
  EXPECT_EQ(figures[0].series[0].name, "cpu");
  ASSERT_EQ(figures[1].series.size(), 1U);
  EXPECT_THAT(figures[1].series[0].y, ElementsAre(100, 200));
  EXPECT_THAT(figures_of(read("time,seconds,gpu0_pwr\nT,1,\n")), IsEmpty());
}

/// Returns a sample in which every reading has a different value.
GpuSample distinct_sample() {
  return {.utilisation_pct = 97,
          .memory_utilisation_pct = 41,
          .encoder_pct = 3,
          .decoder_pct = 5,
          .memory_used_bytes = 7 << 20,
          .memory_total_bytes = 9 << 20,
          .power_w = 512,
          .temperature_c = 67,
          .memory_temperature_c = 74,
          .sm_clock_mhz = 1980,
          .memory_clock_mhz = 2619,
          .energy_j = 11};
}

TEST(NodeColumns, ListsReadingsOfNodeBeforeGpus) {
  const std::vector<NvmlGpu> gpus{{0, "GPU-a", "A"}, {3, "GPU-b", "B"}};
  const std::vector<std::string> columns = node_columns(gpus);
  NodeSample sample;
  sample.seconds = 2.5;
  sample.cpu_busy_pct = 62.5;
  sample.memory_used_bytes = 3 << 20;
  sample.gpus = {distinct_sample(), {.utilisation_pct = 97}};
  EXPECT_EQ(csv_header(columns),
            "time,seconds,cpu,ram,"
            "gpu0_pwr,gpu0_gtemp,gpu0_mtemp,gpu0_sm,gpu0_mem,gpu0_enc,gpu0_dec,gpu0_mclk,"
            "gpu0_pclk,gpu0_fb,gpu0_energy,"
            "gpu3_pwr,gpu3_gtemp,gpu3_mtemp,gpu3_sm,gpu3_mem,gpu3_enc,gpu3_dec,gpu3_mclk,"
            "gpu3_pclk,gpu3_fb,gpu3_energy");
  EXPECT_EQ(csv_row("T", node_values(sample)),
            "T,2.5,62.5,3,512,67,74,97,41,3,5,2619,1980,7,11,,,,97,,,,,,,");
  EXPECT_THAT(json_row("T", columns, node_values(sample)),
              AllOf(StartsWith(R"({"time":"T","seconds":2.5,)"), HasSubstr(R"("gpu3_gtemp":null)"),
                    HasSubstr(R"("gpu3_sm":97.0)")));
  const auto heading = node_heading(true);
  EXPECT_THAT(heading[0],
              HasSubstr("  gpu   pwr gtemp mtemp   sm  mem  enc  dec  mclk  pclk      fb"));
  EXPECT_THAT(heading[1],
              HasSubstr("  Idx     W     C     C    %    %    %    %   MHz   MHz     MiB"));
  EXPECT_THAT(node_lines(sample, gpus).at(0),
              HasSubstr("    0   512    67    74   97   41    3    5  2619  1980       7"));
  for (const std::string& name : columns) EXPECT_NE(unit_of_column(name), "") << name;
  EXPECT_EQ(unit_of_column("gpu12_fb"), "MiB");
  EXPECT_EQ(unit_of_column("gpuUtil"), "%");
  EXPECT_EQ(unit_of_column("cpux"), "");
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(KernelTable, ListsStatisticsOfEachKernel) {
  std::map<std::string, SampleStats> times;
  EXPECT_THAT(kernel_table(times), IsEmpty());
  for (const double seconds : {0.004, 0.001, 0.007}) times["cluster"].add(seconds);
  times["streaming"].add(1.5);
  const auto table = kernel_table(times);
  ASSERT_THAT(table, SizeIs(3));
  EXPECT_THAT(table, Each(SizeIs(table[0].size()))) << "aligned columns";
  EXPECT_THAT(table[0], Mentions({"kernel", "plans", "s", "mean ms"}));
  EXPECT_THAT(words_of(table[1]), ElementsAre("cluster", "3", "0.012", "4.000", "1.000", "7.000"));
  EXPECT_THAT(words_of(table[2]),
              ElementsAre("streaming", "1", "1.500", "1500.000", "1500.000", "1500.000"));
}

}  // namespace
}  // namespace wallheat
