#include "plans/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/text.hpp"
#include "plans/png_picture.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr const char* outside_meaning = "outside";

double distance_between(PixelColour a, PixelColour b) {
  return std::hypot(a.red - b.red, a.green - b.green, a.blue - b.blue);
}

/// Returns the use whose colour is nearest.
DrawnPlan::ColourUse& use_of(PixelColour colour, std::vector<DrawnPlan::ColourUse>& uses) {
  return *std::ranges::min_element(uses, {}, [&](const DrawnPlan::ColourUse& use) {
    return distance_between(colour, use.colour);
  });
}

template <class T, class Visit>
void for_each_at_edge(const Grid<T>& grid, const Visit& visit) {
  for (std::size_t row = 0; row < grid.rows; ++row)
    for (std::size_t col = 0; col < grid.cols; ++col)
      if (row == 0 || row + 1 == grid.rows || col == 0 || col + 1 == grid.cols)
        visit(grid(row, col), col, row);
}

/// Returns the uses of colours: room, the walls in their order, and the outside, if the picture has
/// one.
std::vector<DrawnPlan::ColourUse> uses_of(const Grid<Pixel>& pixels, const Legend& legend) {
  std::vector<DrawnPlan::ColourUse> uses{{white, "room"}};
  for (const auto& [colour, temperature] : legend.walls)
    uses.push_back({colour, "wall of " + format_repr(temperature) + " °C"});
  std::map<PixelColour, std::size_t> others;
  for_each_at_edge(pixels, [&](const Pixel& pixel, std::size_t, std::size_t) {
    if (pixel.is_transparent()) return;
    const PixelColour colour = pixel.colour;
    const double distance = distance_between(colour, use_of(colour, uses).colour);
    if (distance > std::min(legend.colour_tolerance, Legend().colour_tolerance)) ++others[colour];
  });
  const auto most =
      std::ranges::max_element(others, {}, &std::pair<const PixelColour, std::size_t>::second);
  if (most != others.end()) uses.push_back({most->first, outside_meaning});
  return uses;
}

/// Throws InputError, with a message that lists the most frequent colours that are farther than the
/// tolerance from all colours that have a meaning. The message suggests another tolerance, unless
/// pixels would count as outside with it: between a room and a wall, they would be at 0 °C.
[[noreturn]] void throw_unknown_colours(const std::string& first, const DrawnPlan& drawn,
                                        double tolerance) {
  constexpr std::size_t max_listed = 5;
  std::string list;
  std::size_t count = 0;
  double sufficient = 0;
  bool may_be_outside = false;
  for (const auto& [colour, use, distance, pixels] : drawn.near_colours) {
    if (distance <= tolerance) continue;
    sufficient = std::max(sufficient, distance);
    may_be_outside = may_be_outside || drawn.uses[use].meaning == outside_meaning;
    if (count++ < max_listed)
      list += (list.empty() ? "" : ", ") + to_text(colour) + " (" + count_text(pixels, "pixel") +
              ", nearest to " + drawn.uses[use].meaning + ")";
  }
  if (count > max_listed) list += " and " + std::to_string(count - max_listed) + " more";
  throw InputError(
      first +
      ", which is not near a --wall colour, white or the outside; all such colours: " + list +
      "; add colours of walls with --wall, paint over labels, and export or redraw smooth edges "
      "without anti-aliasing" +
      (may_be_outside
           ? ""
           : "; --colour-tolerance " + std::to_string(std::lround(std::ceil(sufficient))) +
                 " would treat each colour as the nearest"));
}

/// Returns the meaning of each pixel: 0: room; 1 and higher: the walls in their order; the last:
/// outside. Sets the pixel counts in `drawn`, whose uses must be set.
Grid<std::uint32_t> meanings_of(const Grid<Pixel>& pixels, const std::string& name,
                                const Legend& legend, DrawnPlan& drawn) {
  const auto outside = static_cast<std::uint32_t>(legend.walls.size() + 1);
  Grid<std::uint32_t> meanings(pixels.rows, pixels.cols, outside);
  std::map<PixelColour, DrawnPlan::NearColour> near_colours;
  std::optional<std::size_t> first_unknown;
  for (std::size_t i = 0; i < pixels.cells.size(); ++i) {
    if (pixels.cells[i].is_transparent()) {
      ++drawn.transparent_pixels;
      continue;
    }
    const PixelColour colour = pixels.cells[i].colour;
    DrawnPlan::ColourUse& use = use_of(colour, drawn.uses);
    const auto index = static_cast<std::size_t>(&use - drawn.uses.data());
    const double distance = distance_between(colour, use.colour);
    meanings.cells[i] = static_cast<std::uint32_t>(index);
    ++use.pixels;
    if (distance > legend.colour_tolerance && !first_unknown) first_unknown = i;
    if (distance == 0) continue;
    ++use.near;
    ++near_colours.try_emplace(colour, DrawnPlan::NearColour{colour, index, distance})
          .first->second.pixels;
  }
  for (const auto& [colour, near] : near_colours) drawn.near_colours.push_back(near);
  std::ranges::stable_sort(drawn.near_colours, std::greater(), &DrawnPlan::NearColour::pixels);
  if (first_unknown)
    throw_unknown_colours(name + ": the pixel at x " +
                              std::to_string(*first_unknown % pixels.cols) + ", y " +
                              std::to_string(*first_unknown / pixels.cols) + " is " +
                              to_text(pixels.cells[*first_unknown].colour),
                          drawn, legend.colour_tolerance);
  drawn.near_colours.resize(std::min(drawn.near_colours.size(), DrawnPlan::max_near_colours));
  return meanings;
}

/// Adjacent pixels of a row that are all outside.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t area = 0;  ///< index of its area
};

/// Connected areas of runs. Areas that turn out to be connected are merged (union-find).
class Areas {
 public:
  struct Area {
    /// Index of the area into which this one was merged; otherwise its own index.
    std::size_t parent = 0;
    DrawnPlan::EnclosedArea of{};
    DrawnPlan::Places open_sides{};  ///< sides of pixels of room with no wall in between
    bool reaches_edge = false;
  };

  std::size_t add(const Area& area) {
    areas_.push_back(area);
    areas_.back().parent = areas_.size() - 1;
    return areas_.size() - 1;
  }
  std::size_t merge(std::size_t a, std::size_t b) {
    const auto [first, second] = std::minmax({root_of(a), root_of(b)});
    if (first == second) return first;
    Area& into = areas_[first];
    const Area& from = areas_[second];
    into.of.pixels += from.of.pixels;
    into.open_sides.add(from.open_sides);
    into.reaches_edge |= from.reaches_edge;
    areas_[second].parent = first;
    return first;
  }
  /// Sets the enclosed areas, and the open sides to the other areas.
  void set(DrawnPlan& drawn) const {
    for (std::size_t i = 0; i < areas_.size(); ++i) {
      if (areas_[i].parent != i) continue;
      const auto& [parent, of, open_sides, reaches_edge] = areas_[i];
      if (reaches_edge)
        drawn.open_sides.add(open_sides);
      else
        drawn.enclosed_areas.emplace_back(of).borders_room = open_sides.count > 0;
    }
    std::ranges::stable_sort(drawn.enclosed_areas, std::greater(),
                             &DrawnPlan::EnclosedArea::pixels);
  }

 private:
  std::size_t root_of(std::size_t area) {
    while (areas_[area].parent != area) {
      areas_[area].parent = areas_[areas_[area].parent].parent;
      area = areas_[area].parent;
    }
    return area;
  }

  std::vector<Area> areas_;
};

/// Finds the parts of the outside that do not reach the edge of the picture, and where rooms are
/// open to the other parts. Pixels are connected across their edges and not across their corners,
/// like cells that conduct heat.
void find_areas(const Grid<std::uint32_t>& meanings, std::uint32_t outside, DrawnPlan& drawn) {
  Areas areas;
  std::vector<Run> above;
  std::vector<Run> runs;
  const auto add_if_room = [&](std::size_t x, std::size_t y, DrawnPlan::Places& places) {
    // Left of and above the picture, the numbers have wrapped around.
    if (y < meanings.rows && x < meanings.cols && meanings(y, x) == 0) places.add({1, x, y});
  };
  for (std::size_t y = 0; y < meanings.rows; ++y) {
    runs.clear();
    auto overlapping = above.begin();
    for (std::size_t x = 0; x < meanings.cols; ++x) {
      if (meanings(y, x) != outside) continue;
      Run run{x};
      while (x < meanings.cols && meanings(y, x) == outside) ++x;
      run.end = x;
      const bool is_in_edge_row = y == 0 || y + 1 == meanings.rows;
      Areas::Area area{
          .of = {run.begin, y, run.end - run.begin},
          .reaches_edge = is_in_edge_row || run.begin == 0 || run.end == meanings.cols};
      for (std::size_t i = run.begin; i < run.end; ++i)
        for (const std::size_t row : {y - 1, y + 1}) add_if_room(i, row, area.open_sides);
      add_if_room(run.begin - 1, y, area.open_sides);
      add_if_room(run.end, y, area.open_sides);
      run.area = areas.add(area);
      while (overlapping != above.end() && overlapping->end <= run.begin) ++overlapping;
      for (auto other = overlapping; other != above.end() && other->begin < run.end; ++other)
        run.area = areas.merge(run.area, other->area);
      runs.push_back(run);
    }
    std::swap(above, runs);
  }
  areas.set(drawn);
}

FloorPlan plan_of(const Grid<std::uint32_t>& meanings, const Legend& legend) {
  const auto& [walls, near, cells_a_pixel, pixels_a_cell] = legend;
  const std::size_t rows = (meanings.rows * cells_a_pixel + pixels_a_cell - 1) / pixels_a_cell;
  const std::size_t cols = (meanings.cols * cells_a_pixel + pixels_a_cell - 1) / pixels_a_cell;
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols)};
  std::vector<std::size_t> counts(walls.size() + 2);  // counts of room, walls and outside
  const std::span of_walls = std::span(counts).subspan(1, walls.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      const std::size_t top = row * pixels_a_cell / cells_a_pixel;
      const std::size_t left = col * pixels_a_cell / cells_a_pixel;
      std::ranges::fill(counts, 0);
      for (std::size_t y = top; y < std::min(top + pixels_a_cell, meanings.rows); ++y)
        for (std::size_t x = left; x < std::min(left + pixels_a_cell, meanings.cols); ++x)
          ++counts[meanings(y, x)];
      const auto wall = std::ranges::max_element(of_walls);
      if (*wall > 0) {
        plan.domain(row, col) =
            walls[static_cast<std::size_t>(wall - of_walls.begin())].temperature;
      } else {
        plan.interior(row, col) = counts.front() >= counts.back() ? 1 : 0;
      }
    }
  }
  return plan;
}

}  // namespace

std::string to_text(PixelColour colour) {
  std::string text = "#";
  constexpr std::string_view digits = "0123456789abcdef";
  for (const std::uint8_t byte : {colour.red, colour.green, colour.blue})
    text.append({digits[byte >> 4], digits[byte & 15]});
  return text;
}

DrawnPlan plan_from_image(const NamedBytes& png, const Legend& legend) {
  constexpr std::size_t max_cells_per_side = 16384;
  const auto pixels = read_png(png, max_cells_per_side / legend.cells_per_pixel);
  DrawnPlan drawn;
  drawn.uses = uses_of(pixels, legend);
  const auto meanings = meanings_of(pixels, png.name, legend, drawn);
  if (drawn.uses.front().pixels == 0)
    throw InputError(png.name + ": no pixel is white, so the plan has no room" +
                     (drawn.transparent_pixels > 0 ? "; transparent pixels count as outside" : ""));
  find_areas(meanings, static_cast<std::uint32_t>(legend.walls.size() + 1), drawn);
  for_each_at_edge(meanings, [&](std::uint32_t meaning, std::size_t x, std::size_t y) {
    if (meaning == 0) drawn.at_edge.add({1, x, y});
  });
  drawn.plan = plan_of(meanings, legend);
  return drawn;
}

}  // namespace wallheat
