#include "report/offload_report.hpp"

#include <fmt/format.h>

#include <cmath>

namespace wallheat {
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
