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
  bench.ceiling = {4e12, 32e12};
  bench.baseline = {flow(1, 1e10), flow(16, 2e10)};
  bench.flows = {flow(1, 1e12)};
  bench.flows[0].gpu.add({.utilisation_pct = 97});
  bench.end_to_end = flow(3, 5e11);
  bench.end_to_end_source = "plans";
  bench.alone = {{0, 0.5, 5}, {1, 0.5, 15}};
  bench.sides = {{64, 10, 20}, {256, 20, 10}};
  bench.break_even_side = 128;
  bench.copies.down_pinned = 50e9;
  bench.copies.up_mapped = 12e9;
  bench.compared = 64;
  bench.kernels = {{.name = "cluster", .registers = 255, .launches = 7, .seconds = 0.5}};
  bench.by_kernel = {{"cluster", flow(2, 1e12)}};
  const auto json = nlohmann::json::parse(to_json_text(bench));
  EXPECT_EQ(json["device"], "a GPU");
  EXPECT_EQ(json["ceiling_updates_per_s_by_fp64"], 1e12);
  EXPECT_EQ(json["ceiling_updates_per_s_by_shared_memory"], 2e12);
  EXPECT_EQ(json["flows"][0]["updates_per_s"], 5e11);
  EXPECT_EQ(json["flows"][0]["plans_per_s"], 5);
  EXPECT_EQ(json["flows"][0]["share_of_fp64"], 0.5);
  EXPECT_EQ(json["flows"][0]["share_of_shared_memory"], 0.25);
  EXPECT_EQ(json["flows"][0]["of_baseline"], 50) << "the faster baseline counts";
  EXPECT_EQ(json["flows"][0]["gpu"]["utilisation_pct_mean"], 97);
  EXPECT_EQ(json["copies_bytes_per_s"]["down_pinned"], 50e9);
  EXPECT_EQ(json["copies_bytes_per_s"]["up_mapped"], 12e9);
  EXPECT_EQ(json["compared_plans"], 64);
  EXPECT_EQ(json["kernels"][0]["registers"], 255);
  EXPECT_EQ(json["kernels"][0]["launches"], 7);
  EXPECT_EQ(json["by_kernel"][0]["kernel"], "cluster");
  EXPECT_EQ(json["by_kernel"][0]["share_of_fp64"], 0.5);
  EXPECT_FALSE(json["end_to_end"].contains("gpu")) << "nobody sampled it";
  EXPECT_EQ(json["end_to_end"]["source"], "plans");
  EXPECT_EQ(json["speedup_alone"], 20);
  EXPECT_EQ(json["sides"][1]["side"], 256);
  EXPECT_EQ(json["break_even_side"], 128);
  bench.break_even_side = std::nan("");
  EXPECT_TRUE(nlohmann::json::parse(to_json_text(bench))["break_even_side"].is_null());
}

TEST(GpuCrossoverJson, says_that_it_is_a_model) {
  GpuCrossover crossover;
  crossover.model = "t4";
  crossover.rates = {.gpu_updates_per_s = 1e10, .core_updates_per_s = 5e9, .cores = 2};
  crossover.sides = {{{64, 10, 20}, 30, 40}};
  crossover.break_even_side = std::nan("");
  crossover.break_even_side_fastforward = 64;
  const auto json = nlohmann::json::parse(to_json_text(crossover));
  EXPECT_EQ(json["modelled"], true);
  EXPECT_EQ(json["sides"][0]["cpu_steady_plans_per_s"], 40);
  EXPECT_TRUE(json["break_even_side"].is_null());
  EXPECT_EQ(json["break_even_side_fastforward"], 64);
}

}  // namespace
}  // namespace wallheat
