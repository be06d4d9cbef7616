#include <cmath>
#include <fstream>
#include <sstream>

#include "report/recording.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

class Recordings : public testing::Test {
 protected:
  [[nodiscard]] Recording read(const std::string& text) const {
    std::ofstream(directory_ / "r.txt", std::ios::binary) << text;
    return read_recording(directory_ / "r.txt");
  }
  [[nodiscard]] std::string refusal(const std::string& text) const {
    return refusal_of<RunError>([&] { (void)read(text); });
  }
  TemporaryDirectory directory_;
};

SeriesSummary summary_of_file(const std::string& name, const std::string& series) {
  for (const SeriesSummary& summary : summary_of(read_recording(WALLHEAT_TEST_DATA "/" + name)))
    if (summary.name == series) return summary;
  throw std::runtime_error("no " + series);
}

TEST_F(Recordings, of_the_documents_have_their_figures) {
  struct {
    const char* file;
    const char* series;
    std::size_t samples;
    double mean, most;
  } const expected[] = {{"gpu_util.txt", "gpu0_gpuUtil", 31, 27.3, 87},
                        {"mem_util.txt", "gpu0_memUtil", 31, 10.2, 31},
                        {"dmon.txt", "gpu0_pwr", 23, 70.3, 183},
                        {"dmon.txt", "gpu0_sm", 23, 27.3, 88}};
  for (const auto& [file, series, samples, mean, most] : expected) {
    const SeriesSummary found = summary_of_file(file, series);
    EXPECT_EQ(found.samples, samples) << series;
    EXPECT_NEAR(found.values.mean(), mean, 0.05) << series;
    EXPECT_EQ(found.values.max(), most) << series;
  }
  EXPECT_EQ(summary_of_file("gpu_util.txt", "gpu0_gpuUtil").zeros, 13U);
  EXPECT_EQ(summary_of_file("dmon.txt", "gpu0_pwr").unit, "W");
  EXPECT_EQ(summary_of_file("dmon.txt", "gpu0_mtemp").samples, 0U);
}

TEST_F(Recordings, of_this_program_are_read_with_what_was_unknown) {
  const Recording recording = read(
      "time,seconds,cpu,gpu0_pwr,cpu0\n"
      "2030-01-01T00:00:00.000Z,1,50,,5\n"
      "2030-01-01T00:00:02.500Z,3.5,25,200.5,7\n");
  ASSERT_EQ(recording.series.size(), 3U);
  EXPECT_TRUE(recording.has_times);
  EXPECT_EQ(recording.series[1].unit, "W");
  EXPECT_THAT(recording.series[1].seconds, ElementsAre(1, 3.5));
  EXPECT_TRUE(std::isnan(recording.series[1].values[0]));
  EXPECT_EQ(recording.series[1].values[1], 200.5);
  EXPECT_EQ(summary_of(recording)[1].samples, 1U);
}

TEST_F(Recordings, of_several_gpus_have_headings_again_and_again) {
  const Recording recording = read(
      "# gpu   pwr\n# Idx     W\n    0    10\n    1   100\n"
      "# gpu   pwr\n# Idx     W\n    0    30\n    1     -\n");
  ASSERT_EQ(recording.series.size(), 2U);
  EXPECT_FALSE(recording.has_times);
  EXPECT_THAT(recording.series[0].values, ElementsAre(10, 30));
  EXPECT_THAT(recording.series[1].seconds, ElementsAre(0, 1));
  EXPECT_EQ(summary_of(recording)[1].samples, 1U);
  // dmon -o DT and --format csv.
  const Recording dated = read(
      "#Date, Time, gpu, sm\n#YYYYMMDD, HH:MM:SS, Idx, %\n"
      "20300101, 00:00:01, 0, 7\n");
  ASSERT_EQ(dated.series.size(), 1U);
  EXPECT_EQ(dated.series[0].name, "gpu0_sm");
}

TEST_F(Recordings, with_samples_of_several_readings_have_one_start) {
  const Recording recording =
      read("0, gpuUtil , 1000000, 5\n0, gpuUtil , 1500000, 6\n0, memUtil , 2000000, 7\n");
  ASSERT_EQ(recording.series.size(), 2U);
  EXPECT_THAT(recording.series[0].seconds, ElementsAre(0, 0.5));
  EXPECT_THAT(recording.series[1].seconds, ElementsAre(1));
}

TEST_F(Recordings, that_are_damaged_or_none_are_refused_with_the_line) {
  const std::string own = "time,seconds,cpu\nT,1,50\n";
  const std::string dmon = "# gpu pwr\n# Idx W\n";
  for (const auto& [text, sentence] :
       {std::pair(own + "T,2\n", "r.txt, line 3: 2 values for 3 columns"),
        {own + "\nT,2,x\n", "line 4: 'x' is no number"},
        {own + "T,,5\n", "line 3: '' is no number"},
        {"time,seconds,cpu,cpu\n", "a column is there twice"},
        {dmon + "0 5 6\n", "line 3: 3 values for 2 columns"},
        {dmon + "0 nan\n", "line 3: 'nan' is no number"},
        {"# gpu pwr\n0 5\n", "line 2: there is no heading"},
        {"# pid pwr\n# Idx W\n0 5\n", "line 3: there is no heading"},
        {"0, gpuUtil , 1, 5\n0, gpuUtil , 2\n", "line 2: 3 values for 4 columns"},
        {"", "is empty"},
        {" \n\n", "is empty"},
        {dmon, "holds no sample"},
        {"time,seconds,cpu\n", "holds no sample"},
        {"building_id,mean_temp\n", "is neither"}})
    EXPECT_THAT(refusal(text), HasSubstr(sentence));
  EXPECT_THROW((void)read_recording(directory_ / "none.txt"), RunError);
}

TEST_F(Recordings, show_first_what_people_look_for_and_draw_a_panel_for_each_unit) {
  const Recording recording = read(
      "time,seconds,cpu0,gpu0_mtemp,cpu,gpu0_pwr,gpu0_enc,gpu0_energy\n"
      "T,1,5,,50,100,0,7\nT,2,7,,60,200,0,9\n");
  const Report report = report_of(summary_of(recording));
  EXPECT_EQ(report.first<Table>()->most_shown, 4U)
      << "neither a single cpu nor what was never known";
  std::ostringstream text;
  write_text(report, text);
  EXPECT_THAT(text.str(), HasSubstr("gpu0_energy  J           2      -      9.0")) << "no mean";
  const auto figures = figures_of(recording);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].name, "busy, %");
  ASSERT_EQ(figures[0].series.size(), 1U) << "neither an idle codec nor a single cpu";
  EXPECT_EQ(figures[0].series[0].name, "cpu");
  ASSERT_EQ(figures[1].series.size(), 1U);
  EXPECT_THAT(figures[1].series[0].y, ElementsAre(100, 200));
  EXPECT_THAT(figures_of(read("time,seconds,gpu0_pwr\nT,1,\n")), IsEmpty());
}

}  // namespace
}  // namespace wallheat
