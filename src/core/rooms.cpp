#include "wallheat/rooms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/cell_statistics.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Grid<std::uint16_t> column_distances(const Grid<std::uint8_t>& interior, std::uint16_t most) {
  const std::size_t cols = interior.cols;
  Grid<std::uint16_t> distances(interior.rows, cols);
  const auto next = [most](std::uint16_t distance) {
    return static_cast<std::uint16_t>(std::min<std::uint16_t>(distance, most - 1) + 1);
  };
  const std::vector<std::uint16_t> outside(cols, 0);
  const std::uint16_t* beside = outside.data();
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::uint8_t* mask = interior.cells.data() + row * cols;
    std::uint16_t* here = distances.cells.data() + row * cols;
    for (std::size_t col = 0; col < cols; ++col)
      here[col] = mask[col] != 0 ? next(beside[col]) : std::uint16_t{0};
    beside = here;
  }
  beside = outside.data();
  for (std::size_t row = interior.rows; row-- > 0;) {
    std::uint16_t* here = distances.cells.data() + row * cols;
    for (std::size_t col = 0; col < cols; ++col) here[col] = std::min(here[col], next(beside[col]));
    beside = here;
  }
  return distances;
}

namespace {

/// Labels of the rooms, with a border of one cell around the grid, so that every cell has eight
/// neighbours.
class Labels {
 public:
  static constexpr std::uint32_t no_room = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t unlabelled = no_room - 1;
  static constexpr std::uint32_t core = no_room - 2;  ///< must be labelled first

  explicit Labels(GridShape shape)
      : shape_(shape), labels_((shape.rows + 2) * (shape.cols + 2), no_room) {}

  [[nodiscard]] std::size_t cell(std::size_t row, std::size_t col) const {
    return (row + 1) * stride() + col + 1;
  }
  [[nodiscard]] std::uint32_t& operator[](std::size_t cell) { return labels_[cell]; }
  [[nodiscard]] std::array<std::size_t, 4> beside(std::size_t cell) const {
    return {cell - stride(), cell - 1, cell + 1, cell + stride()};
  }
  [[nodiscard]] std::array<std::size_t, 4> across(std::size_t cell) const {
    return {cell - stride() - 1, cell - stride() + 1, cell + stride() - 1, cell + stride() + 1};
  }
  /// Calls visit(cell) for all cells, in reading order.
  template <class Visit>
  void for_each_cell(const Visit& visit) const {
    for (std::size_t row = 0; row < shape_.rows; ++row)
      for (std::size_t col = 0; col < shape_.cols; ++col) visit(cell(row, col));
  }

 private:
  [[nodiscard]] std::size_t stride() const { return shape_.cols + 2; }

  GridShape shape_;
  std::vector<std::uint32_t> labels_;
};

/// Marks the cells that are farther than `radius` from all cells that are not interior as core, and
/// other interior cells as unlabelled. If the nearest cell in the column that is not interior is v
/// cells away, its disc extends along the row by the root of radius² - v² cells to both sides. Two
/// passes per row then determine which cells a disc covers. These are the two phases of distance
/// transforms, as in Meijster et al. 2000, without the distances.
Labels eroded(const Grid<std::uint8_t>& interior, std::uint32_t radius) {
  Labels labels({interior.rows, interior.cols});
  const auto far = static_cast<std::uint16_t>(radius + 1);
  const Grid<std::uint16_t> distance = column_distances(interior, far);
  const auto cols = static_cast<std::int64_t>(interior.cols);
  // Entry `far`: covers no cell.
  std::vector<std::int64_t> reach(far + std::size_t{1}, -cols - radius);
  for (std::int64_t v = 0, r = radius; v <= r; ++v) {
    reach[static_cast<std::size_t>(v)] =
        static_cast<std::int64_t>(std::sqrt(static_cast<double>(r * r - v * v)));
  }
  std::vector<std::int64_t> reached_until(interior.cols);
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::uint16_t* const v = distance.cells.data() + row * interior.cols;
    std::int64_t until = std::int64_t{radius} - 1;  // end of the disc of the cell before the grid
    for (std::size_t col = 0; col < interior.cols; ++col) {
      until = std::max(until, static_cast<std::int64_t>(col) + reach[v[col]]);
      reached_until[col] = until;
    }
    std::int64_t from = cols - std::int64_t{radius};
    for (std::size_t col = interior.cols; col-- > 0;) {
      const auto here = static_cast<std::int64_t>(col);
      from = std::min(from, here - reach[v[col]]);
      if (v[col] == 0) continue;
      const bool is_core = from > here && reached_until[col] < here;
      labels[labels.cell(row, col)] = is_core ? Labels::core : Labels::unlabelled;
    }
  }
  return labels;
}

using Cells = std::vector<std::size_t>;

/// Gives all cells of a core the label, starting at one of them. Returns these cells.
Cells flood_core(Labels& labels, std::size_t first, std::uint32_t label, bool corners) {
  Cells cells{first};
  labels[first] = label;
  const auto flood = [&](const std::array<std::size_t, 4>& neighbours) {
    for (const std::size_t cell : neighbours) {
      if (labels[cell] != Labels::core) continue;
      labels[cell] = label;
      cells.push_back(cell);
    }
  };
  for (std::size_t at = 0; at < cells.size(); ++at) {
    flood(labels.beside(cells[at]));
    if (corners) flood(labels.across(cells[at]));
  }
  return cells;
}

/// Labels the cores in reading order, except those that are too small.
std::vector<Cells> label_cores(Labels& labels, std::uint32_t door) {
  std::vector<Cells> cores;
  labels.for_each_cell([&](std::size_t cell) {
    if (labels[cell] != Labels::core) return;
    Cells core = flood_core(labels, cell, static_cast<std::uint32_t>(cores.size()), door > 0);
    if (core.size() >= door) {
      cores.push_back(std::move(core));
    } else {
      for (const std::size_t of_opening : core) labels[of_opening] = Labels::unlabelled;
    }
  });
  return cores;
}

/// Gives each unlabelled cell that is connected to the cells in `queue` the label of the nearest of
/// them. At equal distances, the cell that comes first in the queue wins.
void grow(Labels& labels, Cells queue) {
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::size_t cell = queue[at];
    for (const std::size_t next : labels.beside(cell)) {
      if (labels[next] != Labels::unlabelled) continue;
      labels[next] = labels[cell];
      queue.push_back(next);
    }
  }
}

/// Returns the cells of all cores, those of the largest core first, because it wins cells at equal
/// distance.
Cells joined(std::vector<Cells> cores) {
  std::stable_sort(cores.begin(), cores.end(),
                   [](const Cells& a, const Cells& b) { return a.size() > b.size(); });
  Cells all;
  for (const Cells& core : cores) all.insert(all.end(), core.begin(), core.end());
  return all;
}

/// Sets the mean, the extremes and the counts of a room from its temperatures in reading order.
void summarise(RoomResult& room, std::span<const double> values, const Thresholds& thresholds) {
  room.mean_temp = numpy_sum(values) / static_cast<double>(values.size());
  room.min_temp = room.max_temp = values.front();
  for (const double value : values) {
    room.min_temp = nan_min(room.min_temp, value);
    room.max_temp = nan_max(room.max_temp, value);
  }
  for (const double value : values) {
    room.cells_above += value > thresholds.above ? 1 : 0;
    room.cells_below += value < thresholds.below ? 1 : 0;
  }
}

}  // namespace

std::uint32_t default_door_cells(GridShape shape) {
  const std::size_t door = std::max(shape.rows, shape.cols) / 50;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(door, 1, max_door_cells));
}

RoomMap map_rooms(const Grid<std::uint8_t>& interior, std::uint32_t door) {
  if (door > max_door_cells)
    throw RunError("a door cannot be wider than " + std::to_string(max_door_cells) + " cells");
  Labels labels = eroded(interior, (door + 1) / 2);
  std::vector<Cells> cores = label_cores(labels, door);
  auto rooms = static_cast<std::uint32_t>(cores.size());
  grow(labels, joined(std::move(cores)));
  labels.for_each_cell([&](std::size_t cell) {
    if (labels[cell] != Labels::unlabelled) return;
    labels[cell] = rooms++;
    grow(labels, {cell});
  });

  RoomMap map{Grid<std::uint32_t>(interior.rows, interior.cols), 0};
  std::vector<std::uint32_t> number(rooms);  // from 1, in reading order
  for (std::size_t row = 0; row < interior.rows; ++row) {
    for (std::size_t col = 0; col < interior.cols; ++col) {
      const std::uint32_t label = labels[labels.cell(row, col)];
      if (label == Labels::no_room) continue;
      if (number[label] == 0) number[label] = ++map.room_count;
      map.labels(row, col) = number[label];
    }
  }
  return map;
}

std::vector<RoomResult> room_results(const RoomMap& map, const Grid<double>& field,
                                     const Thresholds& thresholds) {
  std::vector<RoomResult> rooms(map.room_count);
  std::vector<std::vector<double>> values(map.room_count);
  std::vector<std::array<std::uint64_t, 2>> sums(map.room_count);  // of rows and columns
  for (std::uint32_t row = 0; row < map.labels.rows; ++row) {
    for (std::uint32_t col = 0; col < map.labels.cols; ++col) {
      if (map.labels(row, col) == 0) continue;
      const std::size_t k = map.labels(row, col) - 1;
      RoomResult& room = rooms[k];
      if (values[k].empty()) {
        room.first_row = row;
        room.first_col = col;
      }
      room.last_row = row;
      room.first_col = std::min(room.first_col, col);
      room.last_col = std::max(room.last_col, col);
      sums[k][0] += row;
      sums[k][1] += col;
      values[k].push_back(field(row, col));
    }
  }
  for (std::size_t k = 0; k < rooms.size(); ++k) {
    RoomResult& room = rooms[k];
    const auto cells = static_cast<double>(values[k].size());
    room.room = static_cast<std::uint32_t>(k + 1);
    room.cells = static_cast<std::uint32_t>(values[k].size());
    room.centre_row = static_cast<float>(static_cast<double>(sums[k][0]) / cells);
    room.centre_col = static_cast<float>(static_cast<double>(sums[k][1]) / cells);
    summarise(room, values[k], thresholds);
  }
  return rooms;
}

}  // namespace wallheat
