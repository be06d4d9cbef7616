#include <cairo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "view/output_file.hpp"
#include "view/picture.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct Destroy {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, Destroy>;
using Context = std::unique_ptr<cairo_t, Destroy>;

struct Colour {
  double red = 0, green = 0, blue = 0;  // 0 to 255
};
constexpr Colour page{255, 255, 255};
constexpr Colour ink{38, 42, 51};
constexpr Colour pale_ink{104, 110, 122};
constexpr Colour ground{231, 233, 236};  // cells that are no part of the building

/// Evenly spaced control points whose lightness rises throughout, so that warmer is lighter also in
/// grey print and to colour-blind readers.
constexpr std::array<Colour, 8> heat{{{22, 16, 66},
                                      {74, 28, 118},
                                      {136, 38, 124},
                                      {195, 56, 100},
                                      {233, 96, 66},
                                      {248, 152, 48},
                                      {253, 209, 92},
                                      {255, 249, 206}}};

/// Where a temperature stands on the colour bar.
struct Scale {
  double low = 0, high = 25, tick = 5;  // °C

  [[nodiscard]] double share_of(double celsius) const {
    return std::clamp((celsius - low) / (high - low), 0.0, 1.0);
  }
};

Colour heat_colour(double share) {
  if (!std::isfinite(share)) return ink;
  const double place = share * (heat.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(place), heat.size() - 2);
  const double rest = place - static_cast<double>(i);
  const auto mix = [&](double Colour::*part) {
    return heat[i].*part + rest * (heat[i + 1].*part - heat[i].*part);
  };
  return {mix(&Colour::red), mix(&Colour::green), mix(&Colour::blue)};
}

bool in_building(const FloorPlan& plan, std::size_t cell) {
  return plan.interior.cells[cell] != 0 || plan.domain.cells[cell] != 0.0;
}

/// 0 to 25 °C, more where a temperature is beyond, with a tick every 5 °C, fewer if there were
/// many.
Scale scale_for(const FloorPlan& plan, const Grid<double>& solution) {
  double low = 0;
  double high = 25;
  for (std::size_t i = 0; i < solution.cells.size(); ++i) {
    if (!in_building(plan, i)) continue;
    for (const double celsius : {plan.domain.cells[i], solution.cells[i]}) {
      if (!(std::abs(celsius) < 1e6)) continue;  // a divergence must not spoil the scale
      low = std::min(low, celsius);
      high = std::max(high, celsius);
    }
  }
  double tick = 5;
  while ((high - low) / tick > 12) tick *= 2;
  return {tick * std::floor(low / tick), tick * std::ceil(high / tick), tick};
}

/// Pixels of a panel: each cell is `enlarge` pixels wide, or `gather` cells are one pixel wide.
struct Panel {
  std::size_t enlarge = 1, gather = 1;
  std::size_t width = 0, height = 0;
};

Panel panel_for(const Grid<double>& grid) {
  constexpr std::size_t most = 900;
  const std::size_t side = std::max({grid.rows, grid.cols, std::size_t{1}});
  Panel panel;
  panel.enlarge = std::max<std::size_t>(1, most / side);
  panel.gather = (side + most - 1) / most;
  panel.width = (grid.cols * panel.enlarge + panel.gather - 1) / panel.gather;
  panel.height = (grid.rows * panel.enlarge + panel.gather - 1) / panel.gather;
  return panel;
}

/// The mean colour of the cells under one pixel.
Colour pixel(const FloorPlan& plan, const Grid<double>& field, const Scale& scale,
             const Panel& panel, std::size_t x, std::size_t y) {
  const std::size_t row = y / panel.enlarge * panel.gather;
  const std::size_t col = x / panel.enlarge * panel.gather;
  const std::size_t row_end = std::min(row + panel.gather, field.rows);
  const std::size_t col_end = std::min(col + panel.gather, field.cols);
  Colour sum;
  double cells = 0;
  for (std::size_t r = row; r < row_end; ++r) {
    for (std::size_t c = col; c < col_end; ++c) {
      const bool building = in_building(plan, r * field.cols + c);
      const Colour one = building ? heat_colour(scale.share_of(field(r, c))) : ground;
      sum = {sum.red + one.red, sum.green + one.green, sum.blue + one.blue};
      cells += 1;
    }
  }
  return {sum.red / cells, sum.green / cells, sum.blue / cells};
}

Surface image(std::size_t width, std::size_t height) {
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                             static_cast<int>(std::max<std::size_t>(1, width)),
                                             static_cast<int>(std::max<std::size_t>(1, height))));
  const cairo_status_t status = cairo_surface_status(surface.get());
  if (status != CAIRO_STATUS_SUCCESS) {
    throw RunError(std::string("cannot draw a picture: ") + cairo_status_to_string(status) + ".");
  }
  return surface;
}

Surface paint_field(const FloorPlan& plan, const Grid<double>& field, const Scale& scale,
                    const Panel& panel) {
  Surface surface = image(panel.width, panel.height);
  cairo_surface_flush(surface.get());
  unsigned char* bytes = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  for (std::size_t y = 0; y < panel.height; ++y) {
    // cairo aligns its rows to four bytes, and its pixels are whole words
    auto* row = reinterpret_cast<std::uint32_t*>(bytes + y * stride);
    for (std::size_t x = 0; x < panel.width; ++x) {
      const Colour c = pixel(plan, field, scale, panel, x, y);
      row[x] = static_cast<std::uint32_t>(std::lround(c.red)) << 16 |
               static_cast<std::uint32_t>(std::lround(c.green)) << 8 |
               static_cast<std::uint32_t>(std::lround(c.blue));
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

enum class Align { left, centre, right };

/// A page that is drawn from top to bottom; lengths are in pixels.
class Page {
 public:
  Page(double width, double height)
      : surface_(image(static_cast<std::size_t>(width), static_cast<std::size_t>(height))),
        context_(cairo_create(surface_.get())) {
    set(page);
    cairo_paint(context_.get());
  }

  /// Text on a base line at y, made smaller where it is wider than `room`.
  void text(const std::string& words, double x, double y, double size, double room, Align align,
            const Colour& colour, bool bold = false) {
    cairo_t* c = context_.get();
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, size);
    cairo_text_extents_t extents{};
    cairo_text_extents(c, words.c_str(), &extents);
    if (extents.x_advance > room) {
      cairo_set_font_size(c, size * room / extents.x_advance);
      cairo_text_extents(c, words.c_str(), &extents);
    }
    const double part = align == Align::left ? 0.0 : align == Align::centre ? 0.5 : 1.0;
    set(colour);
    cairo_move_to(c, x - part * extents.x_advance, y);
    cairo_show_text(c, words.c_str());
  }

  void picture(cairo_surface_t* picture, double x, double y) {
    cairo_set_source_surface(context_.get(), picture, x, y);
    cairo_paint(context_.get());
  }

  void box(double x, double y, double width, double height, const Colour& colour) {
    set(colour);
    cairo_rectangle(context_.get(), x, y, width, height);
    cairo_fill(context_.get());
  }

  void save(const std::filesystem::path& png) {
    std::string bytes;
    cairo_status_t status = cairo_status(context_.get());
    if (status == CAIRO_STATUS_SUCCESS) {
      status = cairo_surface_write_to_png_stream(surface_.get(), append, &bytes);
    }
    if (status != CAIRO_STATUS_SUCCESS) {
      throw RunError("cannot write the picture " + png.string() + ": " +
                     cairo_status_to_string(status) + ".");
    }
    write_output(png, bytes);
  }

 private:
  static cairo_status_t append(void* bytes, const unsigned char* more, unsigned count) {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(more), count);
    return CAIRO_STATUS_SUCCESS;
  }
  void set(const Colour& c) {
    cairo_set_source_rgb(context_.get(), c.red / 255, c.green / 255, c.blue / 255);
  }

  Surface surface_;
  Context context_;
};

void colour_bar(Page& sheet, const Scale& scale, double x, double y, double height) {
  constexpr double width = 18;
  for (double line = 0; line < height; ++line) {
    sheet.box(x, y + line, width, 1, heat_colour(1 - (line + 0.5) / height));
  }
  const int ticks = static_cast<int>(std::lround((scale.high - scale.low) / scale.tick));
  for (int i = 0; i <= ticks; ++i) {
    const double celsius = scale.low + i * scale.tick;
    const double at = std::round(y + (height - 1) * (1 - scale.share_of(celsius)));
    sheet.box(x + width, at, 5, 1, pale_ink);
    sheet.text(std::to_string(std::lround(celsius)), x + width + 10, at + 5, 13, 60, Align::left,
               ink);
  }
  sheet.text("°C", x, y - 12, 14, 60, Align::left, pale_ink);
}

}  // namespace

bool can_draw() { return true; }

void draw_plan(const std::filesystem::path& png, const std::string& title, const FloorPlan& plan,
               const Grid<double>& solution) {
  const auto same_shape = [&](const auto& grid) {
    return grid.rows == solution.rows && grid.cols == solution.cols;
  };
  if (!same_shape(plan.domain) || !same_shape(plan.interior)) {
    throw RunError("cannot draw " + png.string() + ": plan and solution differ in shape.");
  }
  const Scale scale = scale_for(plan, solution);
  const Panel panel = panel_for(solution);
  constexpr double margin = 28;
  constexpr double top = 88;  // title and captions
  constexpr double gap = 24;
  constexpr double bar_width = 76;
  // Room for a caption and for the bar's ticks even where a panel is a thin line.
  const double column = std::max(static_cast<double>(panel.width), 200.0);
  const double height = std::max(static_cast<double>(panel.height), 220.0);
  const double width = 2 * margin + 2 * column + 2 * gap + bar_width;

  Page sheet(width, top + height + margin);
  sheet.text(title, margin, 42, 21, width - 2 * margin, Align::left, ink, true);
  const std::array<const Grid<double>*, 2> fields{&plan.domain, &solution};
  const std::array<const char*, 2> captions{"start", "steady state"};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const double left = margin + static_cast<double>(i) * (column + gap);
    sheet.text(captions[i], left, top - 12, 14, column, Align::left, pale_ink);
    sheet.box(left, top, column, height, ground);
    const double spare_x = std::floor((column - static_cast<double>(panel.width)) / 2);
    const double spare_y = std::floor((height - static_cast<double>(panel.height)) / 2);
    if (panel.width == 0 || panel.height == 0) continue;
    sheet.picture(paint_field(plan, *fields[i], scale, panel).get(), left + spare_x, top + spare_y);
  }
  colour_bar(sheet, scale, margin + 2 * (column + gap), top, height);
  sheet.save(png);
}

}  // namespace wallheat
