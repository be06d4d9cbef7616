#include "report/offload_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

namespace wallheat {
namespace {

struct Transfer {
  const char* name;
  int bytes;
};
constexpr Transfer transfers[]{{"a double, one way", 8},
                               {"a double, both ways", 16},
                               {"a float, one way", 4},
                               {"a float, both ways", 8}};

Value pays_from(double operations) {
  return std::isinf(operations) ? Value("never") : Value(operations);
}

/// Returns a chart of the time over the number of operations: on the CPU, and on the GPU with the
/// transfer one way and both ways.
Figure times_of(const Offload& offload) {
  Figure figure{"times",
                fmt::format("B = {:g} GB/s, C = {:g}, G = {:g} Gflop/s", offload.bytes_per_s * 1e-9,
                            offload.cpu_per_s * 1e-9, offload.gpu_per_s * 1e-9),
                {"operations per double", Figure::Scale::powers_of_10},
                {"ns", Figure::Scale::powers_of_10}};
  const double one_way = break_even_operations(offload, transfers[0].bytes);
  const double both_ways = break_even_operations(offload, transfers[1].bytes);
  const bool pays = std::isfinite(both_ways);
  constexpr double factor = 30;  // of the x axis, to both sides of the break-even point
  constexpr int points = 60;
  const double middle = pays ? one_way : 1;
  for (const auto& [name, bytes, rate] : {std::tuple("CPU", 0, offload.cpu_per_s),
                                          {"GPU, one way", 8, offload.gpu_per_s},
                                          {"GPU, both ways", 16, offload.gpu_per_s}}) {
    Figure::Series& series = figure.series.emplace_back();
    series.name = name;
    series.mark = Figure::Mark::line;
    for (int i = -points; i <= points; ++i) {
      const double operations = middle * std::pow(factor, static_cast<double>(i) / points);
      series.x.push_back(operations);
      series.y.push_back(1e9 * (bytes / offload.bytes_per_s + operations / rate));
    }
  }
  if (pays)
    figure.series.push_back(
        {fmt::format("break even: {:.3f} and {:.3f}", one_way, both_ways),
         Figure::Mark::points,
         {one_way, both_ways},
         {1e9 * one_way / offload.cpu_per_s, 1e9 * both_ways / offload.cpu_per_s}});
  return figure;
}

constexpr const char* offload_title = "break-even point of a transfer to a GPU";

}  // namespace

Report offload_report(const Offload& offload, const std::vector<Partition>& partitions) {
  Report report{offload_title};
  Table& table =
      report.add(Table{"partitions",
                       "",
                       {{"partition", "partition"},
                        {"nodes", "nodes"},
                        {"cores", "cores per node"},
                        {"memory_bytes", "memory per node", {ValueFormat::bytes}},
                        {"gpus", "GPUs per node"},
                        {"time_limit_s", "time limit", {ValueFormat::duration}},
                        {"operations", "operations per double", {ValueFormat::decimals, 3}}}});
  const auto if_any = [](auto number) { return number == 0 ? Value() : Value(number); };
  for (const Partition& partition : partitions) {
    const Offload node{.bytes_per_s = offload.bytes_per_s,
                       .cpu_per_s = offload.cpu_per_s * static_cast<double>(partition.cores),
                       .gpu_per_s = offload.gpu_per_s * static_cast<double>(partition.gpus)};
    Value operations;
    if (partition.gpus > 0) operations = pays_from(break_even_operations(node, transfers[1].bytes));
    table.rows.push_back({partition.name, partition.nodes, partition.cores,
                          if_any(partition.memory_bytes), partition.gpus, if_any(partition.limit_s),
                          operations});
  }
  return report;
}

Report offload_report(const Offload& offload) {
  Report report{offload_title};
  Table& table =
      report.add(Table{"break_even",
                       "",
                       {{"moved", "moved"},
                        {"bytes", "bytes"},
                        {"operations", "operations per value", {ValueFormat::decimals, 3}}}});
  for (const auto& [name, bytes] : transfers) {
    const double operations = break_even_operations(offload, bytes);
    table.rows.push_back({name, bytes, pays_from(operations)});
  }
  report.add_note("A transfer pays off at n* = (bytes / B) / (1 / C - 1 / G) operations or more.");
  report.add(times_of(offload));
  return report;
}

}  // namespace wallheat
