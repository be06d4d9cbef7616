#include "report/gnuplot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "core/printable.hpp"
#include "io/checksum.hpp"
#include "io/program_output.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Colours that differ also in grey print and to colour-blind readers; a light grid, no frame.
constexpr std::string_view plot_style = R"(set encoding utf8
set border 3 linecolor rgb '#686e7a'
set tics nomirror out
set grid ytics back linetype 1 linecolor rgb '#d0d4da' linewidth 1
set title font ',14'
set style fill solid 0.9 noborder
set linetype 1 linecolor rgb '#4a1c76' linewidth 2 pointtype 7
set linetype 2 linecolor rgb '#e96042' linewidth 2 pointtype 5
set linetype 3 linecolor rgb '#2a8a8a' linewidth 2 pointtype 9
set linetype 4 linecolor rgb '#8a8f99' linewidth 2 pointtype 13
set linetype 5 linecolor rgb '#c9962b' linewidth 2 pointtype 11
set linetype 6 linecolor rgb '#262a33' linewidth 2 pointtype 3
set key outside right top vertical reverse Left samplen 2 noautotitle
set datafile missing 'nan'
)";

std::string terminal(PlotFormat format, int width, int height, int dpi) {
  const double scale = static_cast<double>(dpi) / usual_dpi;
  switch (format) {
    case PlotFormat::png:
      return fmt::format(
          "set terminal pngcairo noenhanced size {:.0f},{:.0f} font 'sans,11' fontscale {:.6g} "
          "linewidth {:.6g} pointscale {:.6g}\n",
          width * scale, height * scale, scale, scale, scale);
    case PlotFormat::svg:
      return fmt::format(
          "set terminal svg noenhanced size {},{} font 'sans-serif,13' background '#ffffff'\n",
          width, height);
    case PlotFormat::pdf:
      break;
  }
  return fmt::format("set terminal pdfcairo noenhanced size {:.3f}in,{:.3f}in font 'sans,11'\n",
                     static_cast<double>(width) / usual_dpi,
                     static_cast<double>(height) / usual_dpi);
}

/// A PNG that says how large it is meant: its pHYs chunk, in pixels a metre, after the header.
std::string with_resolution(std::string png, int dpi) {
  constexpr std::size_t end_of_header = 33;  // signature and IHDR
  constexpr double inches_a_metre = 1 / 0.0254;
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  };
  const std::string each = number(static_cast<std::uint32_t>(std::lround(dpi * inches_a_metre)));
  const std::string chunk = "pHYs" + each + each + '\1';
  const std::uint32_t crc = crc32_of(std::as_bytes(std::span(chunk)));
  constexpr std::size_t content = 9;
  return png.insert(end_of_header, number(content) + chunk + number(crc));
}

std::string run_gnuplot(const std::string& script) {
  // Without the user's start-up files: a plot is the same for everybody.
  auto output = output_of({"gnuplot", "--default-settings"}, script);
  if (!output)
    throw RunError("plots are drawn by gnuplot, which is not installed here (Debian: gnuplot-nox)");
  if (output->status != 0 || output->out.empty())
    throw RunError("gnuplot failed: " + printable(output->messages));
  return std::move(output->out);
}

}  // namespace

PlotFormat plot_format(const std::string& option, const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  if (ending == ".png") return PlotFormat::png;
  if (ending == ".svg") return PlotFormat::svg;
  if (ending == ".pdf") return PlotFormat::pdf;
  throw UsageError(
      fmt::format("--{} draws PNG, SVG or PDF, so name a file that ends in .png, .svg "
                  "or .pdf, not {}",
                  option, file.string()));
}

std::string_view beginning_of(PlotFormat format) {
  switch (format) {
    case PlotFormat::png:
      return "\x89PNG\r\n\x1a\n";
    case PlotFormat::svg:
      return R"(<?xml version="1.0" encoding="utf-8")";
    case PlotFormat::pdf:
      break;
  }
  return "%PDF-";
}

std::string Plot::add_data(const std::vector<std::vector<double>>& rows) {
  std::string name = fmt::format("$data{}", ++blocks_);
  script_ += name + " << END_OF_DATA\n";
  for (const auto& row : rows) {
    for (const double value : row) script_ += fmt::format("{:.10g} ", value);
    script_ += '\n';
  }
  script_ += "END_OF_DATA\n";
  return name;
}

void Plot::add_image(const Grid<double>& values, double cell) {
  add(
      fmt::format("plot '-' binary array=({},{}) format='%float' origin=({:.10g},{:.10g}) "
                  "dx={:.10g} dy={:.10g} "
                  "with image",
                  values.cols, values.rows, cell / 2, cell / 2, cell, cell));
  std::vector<float> image;
  image.reserve(values.cells.size());
  constexpr double most = 1e30;
  for (const double value : values.cells)
    image.push_back(static_cast<float>(std::clamp(value, -most, most)));  // NaN stays one
  const auto bytes = std::as_bytes(std::span(image));
  script_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  script_ += '\n';
}

void Plot::add(std::string_view line) {
  script_ += line;
  script_ += '\n';
}

std::string Plot::quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : printable(text)) {
    // gnuplot knows escapes in these quotes, and commands between backquotes.
    if (letter == '"' || letter == '\\' || letter == '`') {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(letter));
    } else {
      quoted += letter;
    }
  }
  // gnuplot's SVG has text in CDATA sections, which "]]>" would end: a space of no width is in it.
  constexpr std::string_view end_of_section = "]]>";
  for (std::size_t at = 0; (at = quoted.find(end_of_section, at)) != std::string::npos;)
    quoted.insert(at + 2, "\u200b");
  return quoted + '"';
}

std::string Plot::ticks(const std::vector<std::pair<std::string, double>>& labels) {
  std::vector<std::string> ticks;
  for (const auto& [label, place] : labels) {
    std::string format;  // for gnuplot prints the place by it
    for (const char letter : quoted(label)) format += letter == '%' ? "%%" : std::string(1, letter);
    ticks.push_back(fmt::format("{} {:.10g}", format, place));
  }
  return fmt::format("({})", fmt::join(ticks, ", "));
}

std::string Plot::count_ticks(double most) {
  constexpr double most_ticks = 8;
  for (double power = 1;; power *= 10)
    for (const double step : {power, 2 * power, 5 * power})
      if (most / step <= most_ticks) return fmt::format("{:.10g}", step);
}

std::string Plot::draw(PlotFormat format, int width, int height, int dpi) const {
  std::string picture =
      run_gnuplot(terminal(format, width, height, dpi) + std::string(plot_style) + script_);
  return format == PlotFormat::png ? with_resolution(std::move(picture), dpi) : picture;
}

}  // namespace wallheat
