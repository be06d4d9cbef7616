#include <fmt/format.h>

#include <cmath>

#include "cli/commands.hpp"
#include "forecast/campaign_choices.hpp"
#include "io/files.hpp"
#include "wallheat/error.hpp"

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

/// Returns a table of the break-even points on the nodes of each partition: all GPUs of a node
/// against all its cores.
Table partition_table(const std::string& sinfo, const Offload& offload) {
  Table table{"partitions",
              "",
              {{"partition", "partition"},
               {"nodes", "nodes"},
               {"cores", "cores per node"},
               {"memory_bytes", "memory per node", {ValueFormat::bytes}},
               {"gpus", "GPUs per node"},
               {"time_limit_s", "time limit", {ValueFormat::duration}},
               {"operations", "operations per double", {ValueFormat::decimals, 3}}}};
  const auto if_any = [](auto number) { return number == 0 ? Value() : Value(number); };
  for (const Partition& partition : parse_sinfo(sinfo, read_text_file(sinfo))) {
    const Offload node{.bytes_per_s = offload.bytes_per_s,
                       .cpu_per_s = offload.cpu_per_s * static_cast<double>(partition.cores),
                       .gpu_per_s = offload.gpu_per_s * static_cast<double>(partition.gpus)};
    Value operations;
    if (partition.gpus > 0) operations = pays_from(break_even_operations(node, transfers[1].bytes));
    table.rows.push_back({partition.name, partition.nodes, partition.cores,
                          if_any(partition.memory_bytes), partition.gpus, if_any(partition.limit_s),
                          operations});
  }
  if (table.rows.empty()) throw RunError(sinfo + " lists no partition that is up");
  return table;
}

}  // namespace

Report offload_command(Options& options) {
  Offload offload;
  std::string sinfo;
  options.describe(
      "--bandwidth B --gpu G --cpu C [options]",
      "Computes how many operations per value are needed for a transfer to a GPU to pay off: n* = "
      "(bytes / B) / (1 / C - 1 / G) or more, for doubles and floats, one way and both ways. "
      "'wallheat bench --device gpu' measures the three values.",
      {"wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9",
       "wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9 --out offload.json"});
  options.add("bandwidth,b", value(offload.bytes_per_s, "B").above(0).required(),
              "transfer rate between host and GPU in bytes per second, such as 15e9");
  options.add("gpu,g", value(offload.gpu_per_s, "G").above(0).required(),
              "operations per second of the GPU, such as 1e12");
  options.add("cpu", value(offload.cpu_per_s, "C").above(0).required(),
              "operations per second of the CPU, such as 1e9");
  options.add("sinfo", file(sinfo, FileRole::input),
              "output of \"sinfo -h -o '%R|%a|%D|%c|%G|%l|%s|%m'\" (-: stdin): show the break-even "
              "point in operations per double for the nodes of each partition instead; --gpu and "
              "--cpu are then the values of one GPU and of one core");
  options.parse();
  Report report{"break-even point of a transfer to a GPU"};
  if (!sinfo.empty()) {
    report.add(partition_table(sinfo, offload));
    return report;
  }
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
