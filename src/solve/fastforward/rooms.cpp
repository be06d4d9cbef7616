#include "solve/fastforward/rooms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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

}  // namespace

std::vector<Room> find_rooms(const Grid<std::uint8_t>& interior, std::int64_t small) {
  const std::vector<CellRun> runs = runs_of(interior);
  const std::vector<std::size_t> representative = representatives(runs);
  std::vector<std::int64_t> cells(runs.size());
  for (std::size_t run = 0; run < runs.size(); ++run)
    cells[representative[run]] += static_cast<std::int64_t>(runs[run].end - runs[run].begin);
  std::vector<Room> rooms;
  Room group;
  std::vector<std::size_t> number(runs.size());
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (representative[run] != run || cells[run] < small) continue;
    number[run] = rooms.size();
    rooms.emplace_back();
  }
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::size_t first = representative[run];
    Room& room = cells[first] < small ? group : rooms[number[first]];
    room.runs.push_back(runs[run]);
    room.cells += static_cast<std::int64_t>(runs[run].end - runs[run].begin);
  }
  if (group.cells > 0) rooms.push_back(std::move(group));
  return rooms;
}

double estimate_iterations(const Room& room, double amplitude, double tolerance) {
  constexpr std::size_t coarsening = 4;
  constexpr int most_sweeps = 200;
  std::size_t left = std::numeric_limits<std::size_t>::max();
  std::size_t right = 0;
  for (const CellRun& run : room.runs) {
    left = std::min(left, run.begin);
    right = std::max(right, run.end);
  }
  const std::size_t top = room.runs.front().row;
  const std::size_t height = (room.runs.back().row - top) / coarsening + 1;
  const std::size_t width = (right - left - 1) / coarsening + 1;
  const std::size_t stride = width + 2;
  std::vector<float> quarter((height + 2) * stride);  // 0.25 where a cell is of the room
  for (const CellRun& run : room.runs) {
    float* row = &quarter[((run.row - top) / coarsening + 1) * stride + 1];
    for (std::size_t col = run.begin; col < run.end; ++col) row[(col - left) / coarsening] += 1;
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
  constexpr int interval = 20;
  double rate = 0;
  for (int made = 0; made < most_sweeps; made += interval) {
    for (int pair = 0; pair < interval / 2; ++pair) {
      sweep(now, next);
      sweep(next, now);
    }
    float change = 0;
    for (std::size_t i = 0; i < now.size(); ++i)
      change = std::max(change, std::abs(now[i] - next[i]));
    const double delta = amplitude * static_cast<double>(change) / iterations_per_step;
    if (!(delta >= tolerance)) return iterations_per_step * (made + interval);
    rate = std::log(before / delta) / interval;
    before = delta;
  }
  return iterations_per_step * (most_sweeps + std::log(before / tolerance) / rate);
}

}  // namespace wallheat
