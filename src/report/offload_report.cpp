#include "report/offload_report.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "view/json.hpp"
#include "view/terminal.hpp"

namespace wallheat {
namespace {

struct Transfer {
  const char* key;
  const char* name;
  double bytes;
};
constexpr std::array transfers{Transfer{"double_one_way", "a double, one way", 8},
                               Transfer{"double_both_ways", "a double, both ways", 16},
                               Transfer{"float_one_way", "a float, one way", 4},
                               Transfer{"float_both_ways", "a float, both ways", 8}};

}  // namespace

void print_offload(const Offload& offload) {
  std::vector<std::vector<std::string>> rows{{"moved", "bytes", "operations a value"}};
  for (const auto& [key, name, bytes] : transfers) {
    const double operations = break_even_operations(offload, bytes);
    rows.push_back({name, fmt::format("{:.0f}", bytes),
                    std::isinf(operations) ? "never" : fmt::format("{:.3f}", operations)});
  }
  print_table("lrr", rows, 0);
  fmt::print("\n");
  print_line("A transfer pays from n* = (bytes / B) / (1 / C - 1 / G) operations on.", 2);
}

std::string to_json_text(const Offload& offload) {
  Json json{{"bytes_per_s", offload.bytes_per_s},
            {"cpu_per_s", offload.cpu_per_s},
            {"gpu_per_s", offload.gpu_per_s}};
  for (const auto& [key, name, bytes] : transfers) {
    const double operations = break_even_operations(offload, bytes);
    json["break_even_operations"][key] = operations;
  }
  return json_text(json);
}

Plot offload_plot(const Offload& offload) {
  Plot plot;
  const double one_way = break_even_operations(offload, transfers[0].bytes);
  const double both_ways = break_even_operations(offload, transfers[1].bytes);
  const bool pays = std::isfinite(both_ways);
  constexpr double decades = 30;  // to either side, as a factor
  const double middle = pays ? one_way : 1;
  plot.set_heading(fmt::format("B = {:g} GB/s, C = {:g}, G = {:g} Gflop/s",
                               offload.bytes_per_s * 1e-9, offload.cpu_per_s * 1e-9,
                               offload.gpu_per_s * 1e-9));
  plot.add("set title heading");
  plot.add("set xlabel 'operations a double'");
  plot.add("set ylabel 'ns'");
  plot.add("set logscale xy");
  plot.add("set format '%g'");
  plot.add("set samples 400");
  plot.add("set xrange [{:.10g}:{:.10g}]", middle / decades, middle * decades);
  std::string curves =
      fmt::format("plot x / {0:.10g} with lines linetype 1 title 'CPU'", offload.cpu_per_s * 1e-9);
  int colour = 2;
  for (const double bytes : {transfers[0].bytes, transfers[1].bytes})
    curves += fmt::format(", {:.10g} + x / {:.10g} with lines linetype {} title '{}'",
                          bytes / offload.bytes_per_s * 1e9, offload.gpu_per_s * 1e-9, colour++,
                          bytes == transfers[0].bytes ? "GPU, data there" : "GPU, there and back");
  if (pays) {
    const double scale = 1e9 / offload.cpu_per_s;
    const std::string data =
        plot.add_data({{one_way, one_way * scale}, {both_ways, both_ways * scale}});
    curves +=
        fmt::format(", {} with points pointtype 7 linecolor rgb '#000000' title {}", data,
                    Plot::quoted(fmt::format("break even: {:.3f} and {:.3f}", one_way, both_ways)));
  }
  plot.add(curves);
  return plot;
}

Plot crossover_plot(const std::string& heading, const std::vector<SideRate>& sides,
                    double break_even_side) {
  Plot plot;
  plot.set_heading(heading);
  plot.add("set title heading");
  plot.add("set xlabel 'cells along a side'");
  plot.add("set ylabel 'plans a second'");
  plot.add("set logscale xy");
  plot.add("set format '%g'");
  std::vector<std::vector<double>> on_gpu;
  std::vector<std::vector<double>> on_cpu;
  for (const SideRate& rate : sides) {
    const auto side = static_cast<double>(rate.side);
    on_gpu.push_back({side, rate.gpu_plans_per_s});
    on_cpu.push_back({side, rate.cpu_plans_per_s});
  }
  if (!std::isnan(break_even_side)) {
    plot.add("set arrow from {0:.10g}, graph 0 to {0:.10g}, graph 1 nohead dashtype 2",
             break_even_side);
    plot.add("set label {} at {:.10g}, graph 0.05 offset 1, 0",
             Plot::quoted(fmt::format("{:.0f}", break_even_side)), break_even_side);
  }
  const std::string gpu = plot.add_data(on_gpu);
  const std::string cpu = plot.add_data(on_cpu);
  plot.add("plot {} with linespoints title 'GPU', {} with linespoints title 'CPU'", gpu, cpu);
  return plot;
}

Plot solver_times_plot(const std::string& heading, const std::vector<std::size_t>& sides,
                       const std::vector<SolverComparison>& comparisons) {
  Plot plot;
  plot.set_heading(heading);
  plot.add("set title heading");
  plot.add("set xlabel 'cells along a side'");
  plot.add("set ylabel 'seconds a plan'");
  plot.add("set logscale xy");
  plot.add("set format '%g'");
  std::string curves;
  for (std::size_t solver = 0; solver < comparisons.front().times.size(); ++solver) {
    std::vector<std::vector<double>> rows;
    for (std::size_t i = 0; i < sides.size(); ++i)
      rows.push_back({static_cast<double>(sides[i]), comparisons[i].times[solver].seconds});
    curves += fmt::format("{} {} with linespoints title {}", solver == 0 ? "plot" : ",",
                          plot.add_data(rows),
                          Plot::quoted(to_string(comparisons.front().times[solver].solver)));
  }
  plot.add(curves);
  return plot;
}

}  // namespace wallheat
