#include <nlohmann/json.hpp>
#include <sstream>

#include "report/bench_report.hpp"
#include "support/matchers.hpp"

namespace wallheat {
namespace {

std::string shown(const GpuBench& bench) {
  std::ostringstream text;
  write_text(report_of(bench), text);
  return text.str();
}

TEST(BenchReport, says_from_which_size_on_a_gpu_is_ahead) {
  GpuBench bench;
  bench.flows = {{1, 10, 2, 1e12}};
  std::ostringstream json;
  write_json(report_of(bench), json);
  const auto value = nlohmann::json::parse(json.str());
  EXPECT_DOUBLE_EQ(value["flows"][0]["giga_updates_per_s"].get<double>(), 500);
  EXPECT_EQ(value["flows"][0]["plans_per_s"], 5);
  bench.sides = {{32, 20, 10}, {64, 10, 20}, {128, 20, 10}, {256, 20, 10}};
  EXPECT_THAT(shown(bench), HasSubstr("ahead from 128 x 128 cells on"));
  bench.sides.resize(2);
  EXPECT_THAT(shown(bench), HasSubstr("behind up to the largest"));
}

}  // namespace
}  // namespace wallheat
