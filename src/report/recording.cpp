#include "report/recording.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "report/node_text.hpp"

namespace wallheat {
namespace {

/// Counted from the start: its mean says nothing, and its largest value is the sum.
bool is_sum(const std::string& unit) { return unit == "J"; }

/// Shows all readings in one unit.
struct Panel {
  const char* unit;
  const char* key;
  const char* label;
};
constexpr std::array panels{Panel{"%", "busy", "busy, %"}, Panel{"W", "power", "power, W"},
                            Panel{"C", "temperature", "temperature, °C"},
                            Panel{"MHz", "clock", "clock, MHz"},
                            Panel{"MiB", "memory", "memory in use, MiB"}};

bool is_drawn(const Series& series) {
  if (is_single_cpu(series.name)) return false;
  const bool codec = series.name.ends_with("_enc") || series.name.ends_with("_dec");
  return std::ranges::any_of(series.values, [&](double value) {
    return !std::isnan(value) && (value != 0 || !codec);  // nobody asks for an idle video codec
  });
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

Report report_of(std::vector<SeriesSummary> summaries) {
  const auto hidden = std::ranges::stable_partition(summaries, [](const SeriesSummary& summary) {
    return summary.samples > 0 && !is_single_cpu(summary.name);
  });
  Report report;
  const Style decimal{Form::decimals, 1};
  Table& table = report.add(Table{"summary",
                                  "",
                                  {{"name", "reading"},
                                   {"unit", "unit"},
                                   {"samples", "samples"},
                                   {"mean", "mean", decimal},
                                   {"largest", "largest", decimal},
                                   {"zeros", "zeros"}}});
  table.most_shown = summaries.size() - hidden.size();
  for (const SeriesSummary& summary : summaries)
    table.rows.push_back({summary.name, summary.unit, summary.samples,
                          is_sum(summary.unit) ? not_known : summary.values.mean(),
                          summary.values.max(), summary.zeros});
  return report;
}

std::vector<Figure> figures_of(const Recording& recording) {
  double end = 0;
  for (const Series& series : recording.series)
    if (!series.seconds.empty()) end = std::max(end, series.seconds.back());
  std::vector<Figure> figures;
  for (const auto& [unit, key, label] : panels) {
    Figure figure{key, label};
    figure.x = {.name = recording.has_times ? "s" : "sample", .from = 0, .to = end > 0 ? end : 1};
    figure.y.from = 0;
    if (unit == std::string_view("%")) figure.y.to = 100;
    for (const Series& series : recording.series)
      if (series.unit == unit && is_drawn(series))
        figure.series.push_back({series.name, Figure::Mark::line, series.seconds, series.values});
    if (!figure.series.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace wallheat
