#include "cli/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

void declare_result_file(Options& options, std::string& file) {
  options.add("file", value(file, "FILE"), "the result file (also as an argument)");
  options.positional("file", 1);
  options.require({"file"});
}

void declare_where(Options& options, std::string& where) {
  options.add("where", value(where, "FORMULA"),
              "only plans for which this holds, as 'pct_below_15 > 50 and mean_temp < 14' or "
              "'status == failed' or 'host(\"gpu\")': columns, numbers, + - * / ^ == != < > <= >=, "
              "and, or, not(), abs(), sqrt(), ...");
}

ResultReader open_result_file(const std::string& file) {
  ResultReader reader(file);
  for (const std::string& sentence : reader.damage())
    print_error("wallheat: {}", printable(sentence));
  return reader;
}

std::string recorded_solver_text(const ResultReader& reader) {
  const auto text = [&](const char* name) {
    const auto found = reader.settings().find(name);
    return found == reader.settings().end() ? std::string("?") : found->second;
  };
  return text("solver") + " " + text("solver_version");
}

void refuse_empty(const std::string& file, const std::string& where, std::size_t plans) {
  throw RunError(
      fmt::format("--where '{}' holds for none of the {} plans of {}", where, plans, file));
}

std::vector<std::size_t> selected_rows(const std::string& file, const ResultReader& reader,
                                       const RowChoice& choice) {
  auto rows = chosen_rows(rows_of(reader), choice);
  if (rows.empty() && !choice.where.empty()) refuse_empty(file, choice.where, reader.count());
  return rows;
}

void PictureFile::declare(Options& options, const char* option, const char* help) {
  option_ = std::string(option).substr(0, std::string(option).find(','));
  options.add(option, value(path_, "FILE"), help);
  options.add("overwrite", flag(overwrite_), "replace an existing file");
  options.add("title", value(titles_, "TEXT"), "of the picture, in place of its own; '' for none");
  options.add("size", value(size_, "WxH"), "of the picture in pixels, as 1200x800");
  options.add(
      "dpi", value(dpi_, "N", usual_dpi),
      "dots an inch of a PNG: 300 makes all of it, text and lines too, 300/96 times as large");
}

void PictureFile::check() const {
  if (!wanted()) return;
  const PlotFormat format = plot_format(option_, path_);
  (void)size();
  constexpr int least = 24;
  constexpr int most = 1200;
  if (dpi_ < least || dpi_ > most)
    throw UsageError(fmt::format("--dpi must be {} to {}", least, most));
  if (dpi_ != usual_dpi && format != PlotFormat::png)
    throw UsageError("--dpi is for PNG: SVG and PDF are sharp at any size");
  require_replaceable(path_, overwrite_, beginning_of(format));
}

std::optional<std::pair<int, int>> PictureFile::size() const {
  if (size_.empty()) return std::nullopt;
  const std::size_t cross = std::min(size_.find('x'), size_.size());
  const int width = number_of<int>(std::string_view(size_).substr(0, cross)).value_or(0);
  const int height =
      number_of<int>(std::string_view(size_).substr(std::min(cross + 1, size_.size()))).value_or(0);
  constexpr int least = 64;
  constexpr int most = 20000;
  if (std::min(width, height) < least || std::max(width, height) > most)
    throw UsageError(fmt::format("--size must be WIDTHxHEIGHT, each {} to {} pixels, not '{}'",
                                 least, most, printable(size_)));
  return std::pair(width, height);
}

std::optional<std::string> PictureFile::title() const {
  return titles_.empty() ? std::nullopt : std::optional(titles_.back());
}

void PictureFile::write(const std::function<Plot()>& draw, int width, int height) const {
  write_bytes([&](PlotFormat format) {
    Plot plot = draw();
    if (const auto wanted = title()) plot.set_heading(*wanted);
    const auto [columns, rows] = size().value_or(std::pair(width, height));
    return plot.draw(format, columns, rows, dpi_);
  });
}

void PictureFile::write_bytes(const std::function<std::string(PlotFormat)>& draw) const {
  if (wanted()) write_output(path_, draw(plot_format(option_, path_)));
}

}  // namespace wallheat
