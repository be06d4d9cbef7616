#include "report/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "report/unknown.hpp"
#include "view/json.hpp"
#include "view/node_text.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Counted from the start: its mean says nothing, and its largest value is the sum.
bool is_sum(const std::string& unit) { return unit == "J"; }

struct Panel {
  const char* unit;
  const char* label;
};
constexpr std::array panels{Panel{"%", "busy, %"}, Panel{"W", "power, W"},
                            Panel{"C", "temperature, °C"}, Panel{"MHz", "clock, MHz"},
                            Panel{"MiB", "memory in use, MiB"}};

std::vector<const Series*> drawn_in(const Panel& panel, const Recording& recording) {
  std::vector<const Series*> drawn;
  for (const Series& series : recording.series) {
    if (series.unit != panel.unit || is_single_cpu(series.name)) continue;
    const bool codec = series.name.ends_with("_enc") || series.name.ends_with("_dec");
    const bool known = std::any_of(series.values.begin(), series.values.end(), [&](double value) {
      return !std::isnan(value) && (value != 0 || !codec);  // nobody asks for an idle video codec
    });
    if (known) drawn.push_back(&series);
  }
  return drawn;
}

}  // namespace

void SeriesSummary::add(double value) {
  if (std::isnan(value)) return;
  ++samples;
  zeros += value == 0 ? 1 : 0;
  values.add(value);
}

std::vector<SeriesSummary> summary_of(const Recording& recording) {
  std::vector<SeriesSummary> summaries;
  for (const Series& series : recording.series) {
    SeriesSummary& summary = summaries.emplace_back();
    summary.name = series.name;
    summary.unit = series.unit;
    for (const double value : series.values) summary.add(value);
  }
  return summaries;
}

void print_summary(const std::vector<SeriesSummary>& summaries) {
  std::vector<std::vector<std::string>> rows{{"", "unit", "samples", "mean", "largest", "zeros"}};
  for (const SeriesSummary& summary : summaries) {
    if (summary.samples == 0 || is_single_cpu(summary.name)) continue;
    rows.push_back({summary.name, summary.unit, fmt::format("{}", summary.samples),
                    is_sum(summary.unit) ? "-" : fmt::format("{:.1f}", summary.values.mean()),
                    fmt::format("{:.{}f}", summary.values.max(), is_sum(summary.unit) ? 1 : 0),
                    fmt::format("{}", summary.zeros)});
  }
  if (rows.size() == 1) return print_line("no sample was taken", 2);
  print_table("llrrrr", rows, 0);
}

std::string to_json_text(const std::vector<SeriesSummary>& summaries) {
  Json json = Json::array();
  for (const SeriesSummary& summary : summaries)
    json.push_back({{"name", summary.name},
                    {"unit", summary.unit},
                    {"samples", summary.samples},
                    {"mean", is_sum(summary.unit) ? unknown : summary.values.mean()},
                    {"largest", summary.values.max()},
                    {"zeros", summary.zeros}});
  return json_line({{"summary", std::move(json)}}) + "\n";
}

RecordingPlot recording_plot(const Recording& recording, const std::string& title) {
  std::vector<std::pair<Panel, std::vector<const Series*>>> drawn;
  for (const Panel& panel : panels)
    if (auto series = drawn_in(panel, recording); !series.empty())
      drawn.emplace_back(panel, std::move(series));
  if (drawn.empty()) throw RunError("there is nothing to draw: no reading is known");
  RecordingPlot picture;
  Plot& plot = picture.plot;
  plot.set_heading(title);
  plot.add("set multiplot layout {},1 title heading font ',14'", drawn.size());
  // All panels are equally wide, so that what happened at one time stands at one place.
  plot.add("set lmargin 11; set rmargin 18");
  double end = 0;
  for (const Series& series : recording.series)
    if (!series.seconds.empty()) end = std::max(end, series.seconds.back());
  plot.add("set xrange [0:{:.10g}]", end > 0 ? end : 1);
  for (const auto& [panel, all] : drawn) {
    if (all == drawn.back().second)
      plot.add(recording.has_times ? "set xlabel 's'" : "set xlabel 'sample'");
    plot.add("set ylabel " + Plot::quoted(panel.label));
    plot.add(panel.unit == std::string_view("%") ? "set yrange [0:100]" : "set yrange [0:*]");
    std::string curves = "plot ";
    for (const Series* series : all) {
      std::vector<std::vector<double>> rows;
      rows.reserve(series->values.size());
      for (std::size_t i = 0; i < series->values.size(); ++i)
        rows.push_back({series->seconds[i], series->values[i]});
      const std::string data = plot.add_data(rows);
      curves += fmt::format("{}{} using 1:2 with lines linewidth 1.5 title {}",
                            series == all.front() ? "" : ", ", data, Plot::quoted(series->name));
    }
    plot.add(curves);
  }
  plot.add("unset multiplot");
  constexpr int panel_height = 190;
  constexpr int title_height = 60;
  picture.height = title_height + panel_height * static_cast<int>(drawn.size());
  return picture;
}

}  // namespace wallheat
