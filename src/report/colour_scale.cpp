#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/field_picture.hpp"

namespace wallheat {
namespace {

struct ColourMap {
  std::string_view name;
  std::string_view palette;
};
constexpr std::array maps{
    ColourMap{"heat",
              "0 '#161042', 1 '#4a1c76', 2 '#88267c', 3 '#c33864', 4 '#e96042', 5 '#f89830', "
              "6 '#fdd15c', 7 '#fff9ce'"},
    ColourMap{"viridis",
              "0 '#440154', 1 '#472c7a', 2 '#3b518b', 3 '#2c718e', 4 '#21908d', 5 '#27ad81', "
              "6 '#5cc863', 7 '#aadc32', 8 '#fde725'"},
    ColourMap{"magma",
              "0 '#000004', 1 '#140e36', 2 '#3b0f70', 3 '#641a80', 4 '#8c2981', 5 '#b73779', "
              "6 '#de4968', 7 '#f7705c', 8 '#fe9f6d', 9 '#fecf92', 10 '#fcfdbf'"},
    ColourMap{"inferno",
              "0 '#000004', 1 '#160b39', 2 '#420a68', 3 '#6a176e', 4 '#932667', 5 '#bc3754', "
              "6 '#dd513a', 7 '#f37819', 8 '#fca50a', 9 '#f6d746', 10 '#fcffa4'"},
    ColourMap{"cividis",
              "0 '#00204d', 1 '#00336f', 2 '#39486b', 3 '#575d6d', 4 '#707173', 5 '#8a8779', "
              "6 '#a69d75', 7 '#c4b56c', 8 '#e4cf5b', 9 '#ffea46'"},
    ColourMap{"grey", "0 '#101010', 1 '#f8f8f8'"},
    ColourMap{"coolwarm", "0 '#3b4cc0', 1 '#8db0fe', 2 '#fdf6c8', 3 '#f49a7b', 4 '#b40426'"},
};
/// There must be such a map.
std::string_view palette_of(std::string_view name) {
  return std::ranges::find(maps, name, &ColourMap::name)->palette;
}

constexpr ColourRange study_range{0, 25};  // whose walls are at 5 and 25

}  // namespace

const std::vector<std::string>& colour_maps() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ColourMap& map : maps) all.emplace_back(map.name);
    return all;
  }();
  return names;
}

ColourScale colour_scale_of(const FieldPicture& picture, PanelScale of) {
  if (of == PanelScale::mask) return {{0, 1}, "", "0 '#686e7a', 1 '#ffffff'", false};
  ColourRange found{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
  bool is_study = false;
  for (const FieldPanel& panel : picture.panels) {
    if (panel.scale != of) continue;
    for (const double value : panel.values.cells) {
      if (!(std::abs(value) < 1e6)) continue;  // a divergence must not spoil the scale
      found.low = std::min(found.low, value);
      found.high = std::max(found.high, value);
      is_study = is_study || value == 5.0 || value == 25.0;
    }
  }
  if (found.low > found.high) found = {0, 0};  // nothing to show
  const double most = std::max({-found.low, found.high, std::numeric_limits<double>::min()});
  ColourScale scale{found, "temperature in °C", maps.front().palette};
  if (of == PanelScale::difference) {
    scale = {{-most, most}, "difference in °C", palette_of("coolwarm")};
  } else if (of == PanelScale::source) {
    scale = {{0, found.high}, "heat source", maps.front().palette};
    if (found.low < 0) scale = {{-most, most}, "heat source", palette_of("coolwarm")};
  } else if (constexpr double rounding = 1e-6; is_study &&
                                               found.low >= study_range.low - rounding &&
                                               found.high <= study_range.high + rounding) {
    scale.range = study_range;
  }
  const bool has_temperature =
      std::ranges::count(picture.panels, PanelScale::temperature, &FieldPanel::scale) > 0;
  if (picture.range && (of == PanelScale::temperature || !has_temperature))
    scale.range = *picture.range;
  auto& [low, high] = scale.range;
  if (!(low < high)) high = low + 1;  // all alike
  if (!picture.colours.empty()) scale.palette = palette_of(picture.colours);
  scale.are_numbers_long = std::max(-low, high) >= 1000 || std::max(-low, high) < 0.1;
  return scale;
}

}  // namespace wallheat
