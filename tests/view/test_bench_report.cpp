#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "view/bench_report.hpp"

namespace wallheat {
namespace {

Flow flow(std::size_t in_flight, double updates) {
  Flow result;
  result.in_flight = in_flight;
  result.plans = 10;
  result.seconds = 2;
  result.updates = updates;
  return result;
}

TEST(GpuBenchJson, has_every_figure) {
  GpuBench bench;
  bench.name = "a GPU";
  bench.flows = {flow(1, 1e12)};
  bench.compared = 64;
  bench.sides = {{64, 10, 20}, {256, 20, 10}};
  bench.break_even_side = 128;
  const auto json = nlohmann::json::parse(to_json_text(bench));
  EXPECT_EQ(json["device"], "a GPU");
  EXPECT_EQ(json["flows"][0]["updates_per_s"], 5e11);
  EXPECT_EQ(json["flows"][0]["plans_per_s"], 5);
  EXPECT_EQ(json["compared_plans"], 64);
  EXPECT_EQ(json["sides"][1]["side"], 256);
  EXPECT_EQ(json["break_even_side"], 128);
  bench.break_even_side = std::nan("");
  EXPECT_TRUE(nlohmann::json::parse(to_json_text(bench))["break_even_side"].is_null());
}

}  // namespace
}  // namespace wallheat
