#include "cli/picture_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

void PictureFile::declare(Options& options, const char* option, const char* help,
                          const char* size_option) {
  size_option_ = size_option;
  option_ = std::string(option).substr(0, std::string(option).find(','));
  options.add(option, file(path_, FileRole::picture), help);
  options.check([this] { check(); });
  options.add("title", value(titles_, "TEXT"),
              "of the picture and the page, in place of its own; '' for none");
  options.add(size_option, value(size_, "WxH"), "of the picture in pixels, as 1200x800");
  options.add(
      "dpi", value(dpi_, "N", usual_dpi),
      "dots an inch of a PNG: 300 makes all of it, text and lines too, 300/96 times as large");
}

void PictureFile::check() const {
  if (!wanted()) return;
  (void)size();
  constexpr int least = 24;
  constexpr int most = 1200;
  if (dpi_ < least || dpi_ > most)
    throw UsageError(fmt::format("--dpi must be {} to {}", least, most));
  if (dpi_ != usual_dpi && plot_format(option_, path_) != PlotFormat::png)
    throw UsageError("--dpi is for PNG: SVG and PDF are sharp at any size");
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
    throw UsageError(fmt::format("--{} must be WIDTHxHEIGHT, each {} to {} pixels, not '{}'",
                                 size_option_, least, most, printable(size_)));
  return std::pair(width, height);
}

PictureStyle PictureFile::style() const {
  const auto [width, height] = size().value_or(std::pair(0, 0));
  return {title(), width, height, dpi_};
}

std::optional<std::string> PictureFile::title() const {
  return titles_.empty() ? std::nullopt : std::optional(titles_.back());
}

void PictureFile::write(const std::function<std::string(PlotFormat)>& draw) const {
  if (wanted()) write_output(path_, draw(plot_format(option_, path_)));
}

}  // namespace wallheat
