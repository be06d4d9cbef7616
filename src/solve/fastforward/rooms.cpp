#include "solve/fastforward/rooms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace wallheat {
namespace {

std::vector<CellRun> runs_of(const Grid<std::uint8_t>& interior) {
  std::vector<CellRun> runs;
  for (std::size_t row = 0; row < interior.rows; ++row) {
    const std::uint8_t* begin = &interior(row, 0);
    const std::uint8_t* end = begin + interior.cols;
    const auto is_interior = [](std::uint8_t cell) { return cell != 0; };
    for (const std::uint8_t* cell = begin; cell != end;) {
      const std::uint8_t* first = std::find_if(cell, end, is_interior);
      const std::uint8_t* last = std::find_if_not(first, end, is_interior);
      if (first != last)
        runs.push_back(
            {row, static_cast<std::size_t>(first - begin), static_cast<std::size_t>(last - begin)});
      cell = last;
    }
  }
  return runs;
}

/// For each run a run of the same room, the same one for all of the room (union-find).
std::vector<std::size_t> representatives(const std::vector<CellRun>& runs) {
  std::vector<std::size_t> parent(runs.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t run) {
    while (parent[run] != run) {
      parent[run] = parent[parent[run]];
      run = parent[run];
    }
    return run;
  };
  std::size_t above = 0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    // Runs above that end before this one begins cannot touch any that follow.
    while (runs[above].row + 1 < runs[run].row ||
           (runs[above].row + 1 == runs[run].row && runs[above].end <= runs[run].begin))
      ++above;
    for (std::size_t other = above;
         runs[other].row + 1 == runs[run].row && runs[other].begin < runs[run].end; ++other) {
      const std::size_t one = root(other);
      const std::size_t two = root(run);
      parent[std::max(one, two)] = std::min(one, two);
    }
  }
  for (std::size_t run = 0; run < runs.size(); ++run) parent[run] = root(run);
  return parent;
}

/// An upper bound on the eigenvalues of J in a room: those of the rectangle around it. Its matrix
/// is a part of the rectangle's, and neither has negative numbers.
double largest_eigenvalue(std::size_t rows, std::size_t cols) {
  // cos x <= 1 - x^2 / 2 + x^4 / 24
  const auto cosine = [](std::size_t cells_across) {
    const double x = std::numbers::pi / static_cast<double>(cells_across + 1);
    return 1 - x * x / 2 * (1 - x * x / 12);
  };
  constexpr double rounding = 1e-15;
  return std::min(1.0, (cosine(rows) + cosine(cols)) / 2 + rounding);
}

/// Adds runs to a room, those of upper rows first.
void add(const CellRun& run, Room& room) {
  room.left = room.runs.empty() ? run.begin : std::min(room.left, run.begin);
  room.right = std::max(room.right, run.end);
  room.cells += static_cast<std::int64_t>(run.end - run.begin);
  room.runs.push_back(run);
}

}  // namespace

std::vector<Room> find_rooms(const Grid<std::uint8_t>& interior, std::int64_t small) {
  const std::vector<CellRun> runs = runs_of(interior);
  const std::vector<std::size_t> representative = representatives(runs);
  std::vector<Room> found(runs.size());  // each at its representative
  for (std::size_t run = 0; run < runs.size(); ++run) add(runs[run], found[representative[run]]);
  std::vector<Room> rooms;
  std::vector<Room> small_rooms;
  for (Room& room : found) {
    if (room.runs.empty()) continue;
    const std::size_t rows = room.runs.back().row + 1 - room.runs.front().row;
    room.largest_eigenvalue = largest_eigenvalue(rows, room.right - room.left);
    (room.cells < small ? small_rooms : rooms).push_back(std::move(room));
  }
  if (!small_rooms.empty()) rooms.push_back(united(small_rooms));
  return rooms;
}

Room united(const std::vector<Room>& rooms) {
  std::vector<CellRun> runs;
  Room all;
  for (const Room& room : rooms) {
    runs.insert(runs.end(), room.runs.begin(), room.runs.end());
    all.largest_eigenvalue = std::max(all.largest_eigenvalue, room.largest_eigenvalue);
  }
  std::sort(runs.begin(), runs.end(), [](const CellRun& one, const CellRun& other) {
    return std::pair(one.row, one.begin) < std::pair(other.row, other.begin);
  });
  for (const CellRun& run : runs) add(run, all);
  return all;
}

double estimate_iterations(const Room& room, double amplitude, double tolerance) {
  constexpr std::size_t coarsening = 4;
  constexpr int most_sweeps = 200;
  const std::size_t top = room.runs.front().row;
  const std::size_t height = (room.runs.back().row - top) / coarsening + 1;
  const std::size_t width = (room.right - room.left - 1) / coarsening + 1;
  const std::size_t stride = width + 2;
  std::vector<float> quarter((height + 2) * stride);  // 0.25 where a cell is of the room
  for (const CellRun& run : room.runs) {
    float* row = &quarter[((run.row - top) / coarsening + 1) * stride + 1];
    for (std::size_t col = run.begin; col < run.end; ++col)
      row[(col - room.left) / coarsening] += 1;
  }
  // A wall of one cell takes four of a coarse cell, and stays a wall. So rooms get rather too small
  // than too large: to jump too far costs more than to jump once more.
  const auto most_in_wall = static_cast<float>(coarsening * (coarsening - 1));
  for (float& cell : quarter) cell = cell > most_in_wall ? 0.25F : 0.0F;
  // The distance from the steady state, which is 0 at walls.
  std::vector<float> now(quarter.size());
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = 4 * quarter[i];
  std::vector<float> next(now.size());
  // A step of the coarse grid is that of so many iterations.
  const double iterations_per_step = coarsening * coarsening;
  const auto sweep = [&](const std::vector<float>& from, std::vector<float>& to) {
    const float* value = from.data();
    float* target = to.data();
    for (std::size_t i = stride; i + stride < from.size(); ++i)
      target[i] =
          quarter[i] * ((value[i - 1] + value[i + 1]) + (value[i - stride] + value[i + stride]));
  };
  double before = std::numeric_limits<double>::quiet_NaN();
  double rate = 0;
  constexpr int interval = 20;
  constexpr double settled = 0.01;
  int made = 0;
  for (bool is_settled = false; made < most_sweeps && !is_settled; made += interval) {
    for (int pair = 0; pair < interval / 2; ++pair) {
      sweep(now, next);
      sweep(next, now);
    }
    float change = 0;
    for (std::size_t i = 0; i < now.size(); ++i)
      change = std::max(change, std::abs(now[i] - next[i]));
    const double delta = amplitude * static_cast<double>(change) / iterations_per_step;
    if (!(delta >= tolerance)) return iterations_per_step * (made + interval);
    const double rate_before = std::exchange(rate, std::log(before / delta) / interval);
    is_settled = std::abs(rate - rate_before) < settled * rate;
    before = delta;
  }
  return iterations_per_step * (made + std::log(before / tolerance) / rate);
}

}  // namespace wallheat
