#include "report/gnuplot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "core/text.hpp"
#include "io/child_process.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Style of plots: a light grid without a frame.
constexpr std::string_view plot_style = R"(set encoding utf8
set border 3 linecolor rgb '#686e7a'
set tics nomirror out textcolor '#262a33'
set grid ytics back linetype 1 linecolor rgb '#d0d4da' linewidth 1
set title font ',14' textcolor '#262a33'
set xlabel textcolor '#262a33'; set ylabel textcolor '#262a33'; set cblabel textcolor '#262a33'
set style fill solid 1 noborder
set key samplen 2 noautotitle textcolor '#262a33'
set datafile missing 'nan'
)";

/// Returns the line types of gnuplot by number: those of the series, from 1, and then those of the
/// steps.
std::string line_types() {
  constexpr std::array point_types{7, 5, 9, 13, 11, 3};
  std::string lines;
  std::size_t number = 0;
  for (const Colour& colour : colours)
    if (std::string_view(colour.name).starts_with("s")) {
      lines += fmt::format("set linetype {} linecolor rgb '#{:06x}' linewidth 2 pointtype {}\n",
                           number + 1, colour.light, point_types.at(number % point_types.size()));
      ++number;
    }
  return lines;
}

std::string terminal(PlotFormat format, int width, int height, int dpi) {
  const double scale = static_cast<double>(dpi) / default_dpi;
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
                     static_cast<double>(width) / default_dpi,
                     static_cast<double>(height) / default_dpi);
}

/// Returns true if a font of this machine has the character, or if that is unknown.
bool has_font(char32_t letter) {
  static std::map<char32_t, bool> known;
  const auto found = known.find(letter);
  if (found != known.end()) return found->second;
  const std::string charset = fmt::format(":charset={:x}", static_cast<std::uint32_t>(letter));
  const auto fonts = run_and_capture({"fc-list", charset, "file"});
  return known[letter] = !fonts || fonts->status != 0 || !fonts->stdout_text.empty();
}

/// Replaces characters that no font of this machine has by their code, such as U+65E5, because
/// gnuplot would draw a box as large as the picture.
std::string with_letters_of_fonts(std::string_view text) {
  std::string shown;
  for (std::string_view letter; !text.empty(); text.remove_prefix(letter.size())) {
    letter = first_character(text);
    char32_t code = static_cast<unsigned char>(letter[0]) & (0xFFU >> (letter.size() + 1));
    for (const char byte : letter.substr(1))
      code = code << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
    const bool is_mark = code >= 0x2000 && code < 0x2070;  // dashes, spaces, joiners
    // Characters of one or two bytes, such as Latin and Greek ones, are in every font.
    shown += letter.size() < 3 || is_mark || has_font(code)
                 ? std::string(letter)
                 : fmt::format("U+{:04X}", static_cast<std::uint32_t>(code));
  }
  return shown;
}

/// Returns the output of gnuplot; nullopt if it is not installed.
std::optional<std::string> run_gnuplot(const std::string& script) {
  // Ignore the user's start-up files, so that plots do not depend on them.
  auto output = run_and_capture({"gnuplot", "--default-settings"}, script);
  if (!output) return std::nullopt;
  if (output->status != 0 || output->stdout_text.empty())
    throw RunError("gnuplot failed: " + escape_control_chars(output->stderr_text));
  return std::move(output->stdout_text);
}

}  // namespace

PlotFormat plot_format(const std::string& option, const std::filesystem::path& file) {
  const std::string ending = to_lower(file.extension().string());
  if (ending == ".png") return PlotFormat::png;
  if (ending == ".svg") return PlotFormat::svg;
  if (ending == ".pdf") return PlotFormat::pdf;
  throw UsageError(
      fmt::format("--{} writes PNG, SVG or PDF; use a file name that ends in .png, .svg "
                  "or .pdf, not {}",
                  option, file.string()));
}

std::string_view magic_of(PlotFormat format) {
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
  // gnuplot does not draw an image that has only one row or column, so each value is drawn twice.
  const std::size_t down = values.rows == 1 ? 2 : 1;
  const std::size_t across = values.cols == 1 ? 2 : 1;
  const double high = cell / static_cast<double>(down);
  const double wide = cell / static_cast<double>(across);
  add(
      fmt::format("plot '-' binary array=({},{}) format='%float' origin=({:.10g},{:.10g}) "
                  "dx={:.10g} dy={:.10g} "
                  "with image",
                  across * values.cols, down * values.rows, wide / 2, high / 2, wide, high));
  std::vector<float> image;
  image.reserve(down * across * values.cells.size());
  constexpr double max = 1e30;
  for (std::size_t row = 0; row < down * values.rows; ++row)
    for (std::size_t col = 0; col < across * values.cols; ++col)
      image.push_back(static_cast<float>(
          std::clamp(values(row / down, col / across), -max, max)));  // std::clamp() keeps NaN
  const auto bytes = std::as_bytes(std::span(image));
  images_.emplace_back(script_.size(), bytes.size());
  script_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  script_ += '\n';
}

void Plot::add(std::string_view line) {
  script_ += line;
  script_ += '\n';
}

std::string Plot::quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : escape_control_chars(text)) {
    // Double quotes allow escape sequences, and commands between backquotes.
    if (letter == '"' || letter == '\\' || letter == '`') {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(letter));
    } else {
      quoted += letter;
    }
  }
  // The SVG of gnuplot contains text in CDATA sections, which "]]>" would end. Insert a zero-width
  // space.
  constexpr std::string_view end_of_section = "]]>";
  for (std::size_t at = 0; (at = quoted.find(end_of_section, at)) != std::string::npos;)
    quoted.insert(at + 2, "\u200b");
  return quoted + '"';
}

std::string Plot::ticks(const std::vector<std::pair<std::string, double>>& labels) {
  std::vector<std::string> ticks;
  for (const auto& [label, position] : labels) {
    std::string format;  // gnuplot uses the label as a printf format
    for (const char letter : quoted(label)) format += letter == '%' ? "%%" : std::string(1, letter);
    ticks.push_back(fmt::format("{} {:.10g}", format, position));
  }
  return fmt::format("({})", fmt::join(ticks, ", "));
}

std::string Plot::count_ticks(double max) {
  constexpr double max_ticks = 8;
  for (double power = 1;; power *= 10)
    for (const double step : {power, 2 * power, 5 * power})
      if (max / step <= max_ticks) return fmt::format("{:.10g}", step);
}

std::string Plot::draw(PlotFormat format, int dpi) const {
  std::string script =
      terminal(format, width_, height_, dpi) + std::string(plot_style) + line_types();
  std::size_t at = 0;
  const auto add_text = [&](std::size_t end) {
    const std::string_view text = std::string_view(script_).substr(at, end - at);
    // An SVG is displayed with the fonts of its reader.
    script += format == PlotFormat::svg ? std::string(text) : with_letters_of_fonts(text);
  };
  for (const auto& [begin, size] : images_) {
    add_text(begin);
    script.append(script_, begin, size);
    at = begin + size;
  }
  add_text(script_.size());
  auto picture = run_gnuplot(script);
  if (!picture)
    throw RunError("gnuplot not found, which draws the figures; install it (Debian: gnuplot-nox)");
  return *std::move(picture);
}

std::optional<std::vector<std::string>> Plot::draw_svgs(const std::vector<Plot>& plots) {
  std::vector<std::string> svgs;
  if (plots.empty()) return svgs;
  std::string script;
  for (const Plot& plot : plots)
    script +=
        fmt::format("reset\nset terminal svg noenhanced size {},{} font 'sans-serif,13'\n{}{}{}",
                    plot.width_, plot.height_, plot_style, line_types(), plot.script_);
  const auto drawn = run_gnuplot(script);
  if (!drawn) return std::nullopt;
  constexpr std::string_view end_of_one = "</svg>\n";
  for (std::size_t at = 0; (at = drawn->find("<svg", at)) != std::string::npos;) {
    const std::size_t end = std::min(drawn->find(end_of_one, at), drawn->size());
    svgs.push_back(drawn->substr(at, end + end_of_one.size() - at));
    at = end;
  }
  if (svgs.size() != plots.size())
    throw RunError(fmt::format("gnuplot drew {} of {} figures", svgs.size(), plots.size()));
  return svgs;
}

}  // namespace wallheat
