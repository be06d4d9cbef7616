#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "report/field_picture.hpp"
#include "report/gnuplot.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// Line types of gnuplot.
constexpr std::size_t last_step = 11;
constexpr std::size_t line_beside = 6;  // for lines next to steps

/// Smallest and largest number along an axis; empty if there are no numbers.
struct Extent {
  double min = INFINITY;
  double largest = -INFINITY;
  void add(const std::vector<double>& numbers) {
    for (const double number : numbers) {
      if (!std::isfinite(number)) continue;
      min = std::min(min, number);
      largest = std::max(largest, number);
    }
  }
  [[nodiscard]] bool is_empty() const { return !(min <= largest); }
};

/// Returns the extents along x and y.
std::pair<Extent, Extent> extents_of(const Figure& figure) {
  Extent along_x;
  Extent along_y;
  for (const Figure::Series& series : figure.series) {
    along_x.add(series.x);
    along_x.add(series.x_end);
    along_y.add(series.y);
    along_y.add(series.y_end);
  }
  return {along_x, along_y};
}

bool is_logarithmic(const Figure::Axis& axis) { return axis.scale != Figure::Scale::linear; }

/// Adds an axis. `letter` is the name of the axis in gnuplot.
void add_axis(Plot& plot, char letter, const Figure::Axis& axis, Extent range, bool has_bars) {
  plot.add("unset logscale {0}; set format {0} '%g'; set {0}tics autofreq", letter);
  plot.add("set {}label {}", letter, Plot::quoted(axis.name));
  if (range.is_empty()) return;
  if (axis.scale == Figure::Scale::powers_of_2) plot.add("set logscale {} 2", letter);
  if (axis.scale == Figure::Scale::powers_of_10) plot.add("set logscale {}", letter);
  if (!axis.names.empty()) {
    std::vector<std::pair<std::string, double>> ticks;
    std::size_t letters = 0;
    for (const std::string& name : axis.names) {
      ticks.emplace_back(name, ticks.size());
      letters += name.size() + 1;
    }
    constexpr std::size_t max_side_by_side = 90;
    plot.add("set {}tics {} rotate by {}", letter, Plot::ticks(ticks),
             letter == 'x' && letters > max_side_by_side ? -25 : 0);
  }
  // gnuplot itself would end an axis at its next tick, which leaves an axis with a single value
  // without ticks.
  double room = is_logarithmic(axis) ? 1.15 : 0.04 * (range.largest - range.min);
  if (!axis.names.empty()) room = 0.6;
  double from = is_logarithmic(axis) ? range.min / room : range.min - room;
  double to = is_logarithmic(axis) ? range.largest * room : range.largest + room;
  if (has_bars && !is_logarithmic(axis)) {
    from = letter == 'y' ? 0 : range.min;
    to = letter == 'y' ? 1.15 * range.largest : range.largest;
    if (letter == 'x' && !axis.names.empty()) from -= 0.1, to += 0.1;
  }
  from = axis.from.value_or(from);
  to = axis.to.value_or(to);
  // gnuplot fails to draw an axis whose ends are equal in the script.
  constexpr double precision = 1e-9;
  if (const double magnitude = std::max(std::abs(from), std::abs(to));
      !(to - from > precision * magnitude)) {
    const double around = magnitude == 0 ? 1 : 0.1 * magnitude;
    from -= around;
    to += around;
  }
  plot.add("set {}range [{:.10g}:{:.10g}]", letter, from, to);
}

std::string style_of(const Figure::Series& series, std::size_t number) {
  const std::string line =
      fmt::format("linetype {}{}", number, series.is_dashed ? " dashtype 2" : "");
  switch (series.mark) {
    case Figure::Mark::points:
      return "using 1:2 with points pointsize 1.3 " + line;
    case Figure::Mark::line:
      return "using 1:2 with lines " + line;
    case Figure::Mark::points_and_line:
      return "using 1:2 with linespoints pointsize 1.1 " + line;
    case Figure::Mark::rectangles:
      return "using (($1+$3)/2):(($2+$4)/2):1:3:2:4 with boxxyerror " + line;
    case Figure::Mark::bars:
      break;
  }
  return "using (($1+$3)/2):2:(($3-$1)*0.92) with boxes fillstyle transparent solid 0.6 " + line;
}

void add_panel(Plot& plot, const Figure& figure) {
  const auto [along_x, along_y] = extents_of(figure);
  bool has_bars = false;
  bool are_counts = true;  // whether all bars are whole numbers
  double highest = 0;      // of all bars
  for (const Figure::Series& series : figure.series) {
    if (series.mark != Figure::Mark::bars || series.y.empty()) continue;
    has_bars = true;
    highest = std::max(highest, std::ranges::max(series.y));
    are_counts =
        are_counts && std::ranges::all_of(series.y, [](double y) { return y == std::floor(y); });
  }
  are_counts = are_counts && has_bars;
  add_axis(plot, 'x', figure.x, along_x, has_bars);
  add_axis(plot, 'y', figure.y, along_y, has_bars);
  if (are_counts && !is_logarithmic(figure.y)) plot.add("set ytics {}", Plot::count_ticks(highest));
  const auto steps = static_cast<std::size_t>(
      std::ranges::count(figure.series, Figure::Mark::rectangles, &Figure::Series::mark));
  std::vector<std::string> curves;
  for (const Figure::Series& series : figure.series) {
    std::vector<std::vector<double>> rows;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      rows.push_back({series.x[i], series.y.at(i)});
      if (!series.x_end.empty()) rows.back().push_back(series.x_end.at(i));
      if (!series.y_end.empty()) rows.back().push_back(series.y_end.at(i));
    }
    const std::string title =
        series.name.empty() ? "notitle" : "title " + Plot::quoted(series.name);
    // The last step has the darkest colour, also if there are few steps.
    std::size_t number = curves.size() + 1;
    if (figure.is_sequential)
      number = series.mark == Figure::Mark::rectangles ? last_step - steps + number : line_beside;
    curves.push_back(fmt::format("{} {} {}", plot.add_data(rows), style_of(series, number), title));
    for (std::size_t i = 0; i < series.labels.size(); ++i)
      if (std::isfinite(series.y[i]))
        plot.add(
            "set label {} at {:.10g},{:.10g} center offset 0,0.7", Plot::quoted(series.labels[i]),
            series.x_end.empty() ? series.x[i] : (series.x[i] + series.x_end[i]) / 2, series.y[i]);
  }
  // gnuplot reserves space below the plot for tick labels, axis label and the lines of the legend,
  // but no gap between the last two.
  plot.add("set key outside below center horizontal height 1; set xlabel offset 0,0.3");
  plot.add(fmt::format("plot {}", fmt::join(curves, ", ")));
  plot.add("unset label");
}

/// Wraps a title to lines that fit a panel of this width in pixels, and quotes it.
std::string quoted_lines(const std::string& title, int width) {
  constexpr int letter = 9;  // width of a character in pixels
  std::istringstream lines(wrap_text(title, static_cast<std::size_t>(width / letter), 0));
  std::string quoted;
  for (std::string line; std::getline(lines, line);)
    quoted += (quoted.empty() ? "" : R"(."\n".)") + Plot::quoted(line);
  return quoted.empty() ? Plot::quoted("") : quoted;
}

bool has_data(const Figure& figure) {
  return figure.fields != nullptr || std::ranges::any_of(figure.series, [](const auto& series) {
           return std::ranges::any_of(series.y, [](double y) { return std::isfinite(y); });
         });
}

/// Size of a figure on a page in pixels. The height increases with the number of names along the y
/// axis.
constexpr int page_width = 900;
int page_height(const Figure& figure) {
  if (figure.y.names.empty()) return 480;
  return 120 + static_cast<int>(std::clamp(300 / figure.y.names.size(), 15UL, 28UL) *
                                figure.y.names.size());
}

}  // namespace

std::string draw(const Report& report, PlotFormat format, const PictureStyle& style) {
  std::vector<const Figure*> figures;
  for (const auto& part : report.elements)
    if (const auto* figure = std::get_if<Figure>(&part); figure && has_data(*figure)) {
      if (figure->fields) {
        FieldPicture picture = *figure->fields;
        picture.title = style.title.value_or(picture.title);
        if (style.width > 0) picture.size = std::pair(style.width, style.height);
        return picture.draw(format, style.dpi);
      }
      figures.push_back(figure);
    }
  if (figures.empty()) throw RunError("there is nothing to draw");
  const bool is_one = figures.size() == 1;
  const std::size_t columns = std::min<std::size_t>(figures.size(), 2);
  const std::size_t rows = (figures.size() + columns - 1) / columns;
  const int width = style.width > 0 ? style.width : is_one ? 960 : 1120;
  const int height =
      style.height > 0 ? style.height : (is_one ? 600 : 560 * static_cast<int>(rows));
  Plot plot(width, height);
  if (!is_one) {
    const std::string title = style.title.value_or("");  // an empty title would take up space
    plot.add("set multiplot layout {},{}{}", rows, columns,
             title.empty() ? "" : fmt::format(" title {} font ',14'", Plot::quoted(title)));
  }
  for (const Figure* figure : figures) {
    const std::string title = is_one ? style.title.value_or(figure->name) : figure->name;
    plot.add("set title {}", quoted_lines(title, width / static_cast<int>(columns)));
    add_panel(plot, *figure);
  }
  if (!is_one) plot.add("unset multiplot");
  return plot.draw(format, style.dpi);
}

std::optional<Plot> make_plot(const Figure& figure) {
  if (!has_data(figure)) return std::nullopt;
  if (figure.fields) return figure.fields->plot();
  Plot plot(page_width, page_height(figure));
  add_panel(plot, figure);
  return plot;
}

std::string alt_text(const Figure& figure) {
  std::string text = figure.name;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (figure.fields) {
    for (const FieldPanel& panel : figure.fields->panels) add(panel.caption);
    return text;
  }
  const auto [along_x, along_y] = extents_of(figure);
  std::string names;
  for (const Figure::Series& series : figure.series)
    if (!series.name.empty()) names += (names.empty() ? "shown: " : ", ") + series.name;
  for (const auto& [axis, extent] : {std::pair(&figure.x, along_x), {&figure.y, along_y}}) {
    if (!axis->names.empty())
      add(fmt::format("{}", fmt::join(axis->names, ", ")));
    else if (!extent.is_empty())
      add(fmt::format("{} from {:.4g} to {:.4g}", axis->name, extent.min, extent.largest));
  }
  if (!names.empty()) add(names);
  return text;
}

}  // namespace wallheat
