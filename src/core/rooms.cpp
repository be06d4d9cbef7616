#include "wallheat/rooms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "core/larger.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// A grid with a frame of one cell around it, so that every cell has eight neighbours.
class Framed {
 public:
  explicit Framed(const Grid<std::uint8_t>& interior)
      : stride_(interior.cols + 2), labels_((interior.rows + 2) * stride_, no_room) {
    for (std::size_t row = 0; row < interior.rows; ++row) {
      const std::uint8_t* const cells = &interior.cells[row * interior.cols];
      std::size_t first = 0;
      std::size_t end = interior.cols;
      while (end > 0 && cells[end - 1] == 0) --end;
      while (first < end && cells[first] == 0) ++first;
      spans_.push_back({first, end});
    }
  }

  /// Columns of a row, outside of which nothing is interior.
  struct Span {
    std::size_t first, end;
  };

  static constexpr std::uint32_t no_room = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t unlabelled = no_room - 1;
  static constexpr std::uint32_t core = no_room - 2;  ///< to be labelled first

  [[nodiscard]] const Span& span_of(std::size_t row) const { return spans_[row]; }
  [[nodiscard]] std::size_t begin_of(std::size_t row) const { return (row + 1) * stride_ + 1; }
  [[nodiscard]] std::uint32_t& operator[](std::size_t cell) { return labels_[cell]; }
  [[nodiscard]] std::array<std::size_t, 4> beside(std::size_t cell) const {
    return {cell - stride_, cell - 1, cell + 1, cell + stride_};
  }
  [[nodiscard]] std::array<std::size_t, 4> across(std::size_t cell) const {
    return {cell - stride_ - 1, cell - stride_ + 1, cell + stride_ - 1, cell + stride_ + 1};
  }
  /// Calls visit(cell) for all that may be interior, in reading order.
  template <class Visit>
  void for_each_cell(const Visit& visit) {
    for (std::size_t row = 0; row < spans_.size(); ++row)
      for (std::size_t col = spans_[row].first; col < spans_[row].end; ++col)
        visit(begin_of(row) + col);
  }

 private:
  std::size_t stride_;
  std::vector<Span> spans_;
  std::vector<std::uint32_t> labels_;
};

/// How far down, then also up, the next cell is that is not interior; `far` at least where it is
/// farther than that. What is around the grid is not interior.
std::vector<std::uint16_t> vertical_distances(const Grid<std::uint8_t>& interior,
                                              std::uint16_t far) {
  const std::size_t rows = interior.rows;
  const std::size_t cols = interior.cols;
  std::vector<std::uint16_t> distance(rows * cols);
  const std::vector<std::uint16_t> outside(cols, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint16_t* above = row == 0 ? outside.data() : &distance[(row - 1) * cols];
    for (std::size_t col = 0; col < cols; ++col) {
      const std::size_t cell = row * cols + col;
      const auto next = static_cast<std::uint16_t>(std::min<int>(above[col] + 1, far));
      distance[cell] = interior.cells[cell] != 0 ? next : std::uint16_t{0};
    }
  }
  for (std::size_t row = rows; row-- > 0;) {
    const std::uint16_t* below = row + 1 == rows ? outside.data() : &distance[(row + 1) * cols];
    for (std::size_t col = 0; col < cols; ++col) {
      std::uint16_t& here = distance[row * cols + col];
      here = static_cast<std::uint16_t>(std::min<int>(here, below[col] + 1));
    }
  }
  return distance;
}

/// Marks the cells farther than `radius` from all that is not interior as core, others as
/// unlabelled. A cell whose column has such a cell at a distance of v reaches as far along its row
/// as the root of radius² - v²; two passes a row then know who is reached. (The two phases of
/// distance transforms, as in Meijster et al. 2000, without the distances.)
void erode(const Grid<std::uint8_t>& interior, std::uint32_t radius, Framed& labels) {
  const auto far = static_cast<std::uint16_t>(radius + 1);
  const std::vector<std::uint16_t> distance = vertical_distances(interior, far);
  const auto cols = static_cast<std::int64_t>(interior.cols);
  std::vector<std::int64_t> reach(far + std::size_t{1}, -cols - radius);  // of `far`: nobody
  for (std::int64_t v = 0, r = radius; v <= r; ++v) {
    reach[static_cast<std::size_t>(v)] =
        static_cast<std::int64_t>(std::sqrt(static_cast<double>(r * r - v * v)));
  }
  std::vector<std::uint8_t> reached(interior.cols);
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::uint16_t* const v = &distance[row * interior.cols];
    const auto first = static_cast<std::int64_t>(labels.span_of(row).first);
    const auto end = static_cast<std::int64_t>(labels.span_of(row).end);
    std::int64_t until = first - 1 + std::int64_t{radius};  // what is before it reaches so far
    for (std::int64_t col = first; col < end; ++col) {
      until = std::max(until, col + reach[v[col]]);
      reached[static_cast<std::size_t>(col)] = until >= col ? 1 : 0;
    }
    std::int64_t from = end - std::int64_t{radius};
    const std::size_t begin = labels.begin_of(row);
    for (std::int64_t col = end; col-- > first;) {
      from = std::min(from, col - reach[v[col]]);
      if (v[col] == 0) continue;
      const auto c = static_cast<std::size_t>(col);
      labels[begin + c] = from <= col || reached[c] != 0 ? Framed::unlabelled : Framed::core;
    }
  }
}

/// A core's cells that have something to grow into, and how many cells it has.
struct Core {
  std::vector<std::size_t> edge;
  std::size_t cells = 0;
};

/// Gives a core the label from one of its cells on; `flooded` becomes its cells.
Core flood_core(Framed& labels, std::size_t first, std::uint32_t label, bool corners,
                std::vector<std::size_t>& flooded) {
  Core core;
  flooded.assign(1, first);
  labels[first] = label;
  bool at_edge = false;
  const auto look_at = [&](std::size_t cell) {
    std::uint32_t& here = labels[cell];
    at_edge = at_edge || here == Framed::unlabelled;
    if (here != Framed::core) return;
    here = label;
    flooded.push_back(cell);
  };
  for (std::size_t at = 0; at < flooded.size(); ++at) {
    const std::size_t cell = flooded[at];
    at_edge = false;
    for (const std::size_t next : labels.beside(cell)) look_at(next);
    if (at_edge) core.edge.push_back(cell);
    if (!corners || !at_edge) continue;  // where all beside are core, they reach the corners
    for (const std::size_t next : labels.across(cell)) look_at(next);
  }
  core.cells = flooded.size();
  return core;
}

/// Labels the cores in reading order, those aside that are too small.
std::vector<Core> label_cores(Framed& labels, std::uint32_t door) {
  std::vector<Core> cores;
  std::vector<std::size_t> flooded;
  labels.for_each_cell([&](std::size_t cell) {
    if (labels[cell] != Framed::core) return;
    Core core =
        flood_core(labels, cell, static_cast<std::uint32_t>(cores.size()), door > 0, flooded);
    if (core.cells >= door) {
      cores.push_back(std::move(core));
    } else {
      for (const std::size_t of_opening : flooded) labels[of_opening] = Framed::unlabelled;
    }
  });
  return cores;
}

/// Gives each unlabelled cell that the queue's cells can reach the label of the one that reaches it
/// first: of those at one distance the one whose cells were first in the queue.
void grow(Framed& labels, std::vector<std::size_t>& queue) {
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::size_t cell = queue[at];
    for (const std::size_t next : labels.beside(cell)) {
      if (labels[next] != Framed::unlabelled) continue;
      labels[next] = labels[cell];
      queue.push_back(next);
    }
  }
}

/// The cells from which cores grow: those of the core that wins a cell at one distance first.
std::vector<std::size_t> edges_of(std::vector<Core>& cores) {
  std::stable_sort(cores.begin(), cores.end(),
                   [](const Core& a, const Core& b) { return a.cells > b.cells; });
  std::vector<std::size_t> queue;
  for (const Core& core : cores) queue.insert(queue.end(), core.edge.begin(), core.edge.end());
  return queue;
}

/// Cells of one room beside each other in a row.
struct RoomRun {
  std::uint32_t room, row, first, end;
};

std::vector<RoomRun> runs_of(const Grid<std::uint32_t>& rooms) {
  std::vector<RoomRun> runs;
  const auto cols = static_cast<std::uint32_t>(rooms.cols);
  for (std::uint32_t row = 0; row < rooms.rows; ++row) {
    const std::uint32_t* const of = &rooms.cells[row * rooms.cols];
    for (std::uint32_t col = 0; col < cols;) {
      const std::uint32_t first = col;
      const std::uint32_t room = of[first];
      while (++col < cols && of[col] == room) {
      }
      if (room != 0) runs.push_back({room, row, first, col});
    }
  }
  return runs;
}

/// The mean and the counts of a room, whose temperatures these are in reading order.
void summarise(RoomResult& room, std::span<const double> values, const Thresholds& thresholds) {
  room.mean_temp = numpy_sum(values) / static_cast<double>(values.size());
  room.min_temp = room.max_temp = values.front();
  for (const double value : values) {
    room.min_temp = smaller(room.min_temp, value);
    room.max_temp = larger(room.max_temp, value);
  }
  for (const double value : values) {
    room.cells_above += value > thresholds.above ? 1 : 0;
    room.cells_below += value < thresholds.below ? 1 : 0;
  }
}

}  // namespace

std::uint32_t default_door(GridShape shape) {
  const std::size_t door = std::max(shape.rows, shape.cols) / 50;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(door, 1, largest_door));
}

RoomMap map_rooms(const Grid<std::uint8_t>& interior, std::uint32_t door) {
  if (door > largest_door)
    throw RunError("a door cannot be wider than " + std::to_string(largest_door) + " cells");
  Framed labels(interior);
  erode(interior, (door + 1) / 2, labels);
  std::vector<Core> cores = label_cores(labels, door);
  auto rooms = static_cast<std::uint32_t>(cores.size());
  std::vector<std::size_t> queue = edges_of(cores);
  grow(labels, queue);
  labels.for_each_cell([&](std::size_t cell) {
    if (labels[cell] != Framed::unlabelled) return;
    labels[cell] = rooms++;
    queue.assign(1, cell);
    grow(labels, queue);
  });

  RoomMap map{Grid<std::uint32_t>(interior.rows, interior.cols), 0};
  std::vector<std::uint32_t> number(rooms);  // from 1, in reading order
  for (std::size_t row = 0; row < interior.rows; ++row) {
    for (std::size_t col = labels.span_of(row).first; col < labels.span_of(row).end; ++col) {
      const std::uint32_t label = labels[labels.begin_of(row) + col];
      if (label == Framed::no_room) continue;
      if (number[label] == 0) number[label] = ++map.count;
      map.room(row, col) = number[label];
    }
  }
  return map;
}

std::vector<RoomResult> room_results(const RoomMap& map, const Grid<double>& field,
                                     const Thresholds& thresholds) {
  std::vector<RoomResult> rooms(map.count);
  std::vector<std::array<std::uint64_t, 2>> sums(map.count);  // of rows and columns
  const std::vector<RoomRun> runs = runs_of(map.room);
  for (const RoomRun& run : runs) {
    RoomResult& room = rooms[run.room - 1];
    const std::uint32_t cells = run.end - run.first;
    if (room.cells == 0) {
      room.first_row = run.row;
      room.first_col = run.first;
    }
    room.cells += cells;
    room.last_row = run.row;
    room.first_col = std::min(room.first_col, run.first);
    room.last_col = std::max(room.last_col, run.end - 1);
    sums[run.room - 1][0] += std::uint64_t{run.row} * cells;
    sums[run.room - 1][1] += (std::uint64_t{run.first} + run.end - 1) * cells / 2;
  }

  std::vector<std::size_t> next;  // where the values of each room go on
  std::size_t all = 0;
  for (const RoomResult& room : rooms) next.push_back(std::exchange(all, all + room.cells));
  std::vector<double> values(all);
  for (const RoomRun& run : runs) {
    const double* const begin = &field(run.row, run.first);
    std::size_t& to = next[run.room - 1];
    std::copy(begin, begin + (run.end - run.first), &values[to]);
    to += run.end - run.first;
  }

  for (std::size_t k = 0; k < rooms.size(); ++k) {
    RoomResult& room = rooms[k];
    const double cells = room.cells;
    room.room = static_cast<std::uint32_t>(k + 1);
    room.centre_row = static_cast<float>(static_cast<double>(sums[k][0]) / cells);
    room.centre_col = static_cast<float>(static_cast<double>(sums[k][1]) / cells);
    summarise(room, {&values[next[k] - room.cells], room.cells}, thresholds);
  }
  return rooms;
}

}  // namespace wallheat
