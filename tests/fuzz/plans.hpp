#pragma once

#include <cmath>
#include <cstring>

#include "store/field_codec.hpp"
#include "store/result_store.hpp"
#include "store/row.hpp"

namespace wallheat::fuzz {

/// A small campaign whose results are known.
inline const StorePlan& campaign() {
  static const StorePlan plan{
      {"10000", "10029", "10059", "10068", "10070", "10077"},
      {{"rooms_door", "auto"}, {"solver", "jacobi"}, {"tolerance", "0.0001"}},
      true};
  return plan;
}
inline GridShape known_shape(std::size_t index) {
  return index == 3 || index == 5 ? GridShape{3, 3} : GridShape{6, 7};
}

inline Grid<double> known_field(std::size_t index) {
  const auto [rows, cols] = known_shape(index);
  Grid<double> field(rows, cols);
  for (std::size_t i = 0; i < field.cells.size(); ++i) {
    field.cells[i] = 5 + std::sin(0.1 * static_cast<double>(i + 7 * index));
  }
  return field;
}

inline PlanResult known_result(std::size_t index) {
  PlanResult result;
  result.index = static_cast<std::uint32_t>(index);
  result.id = campaign().ids[index];
  result.status = index == 2 ? PlanStatus::failed : PlanStatus::converged;
  result.statistics = {17.5, 2.5, 61.25, static_cast<double>(index)};
  result.iterations = static_cast<std::int64_t>(1000 + index);
  result.last_delta = 1e-5;
  result.interior_cells = 9;
  result.rows = static_cast<std::uint32_t>(known_shape(index).rows);
  result.cols = static_cast<std::uint32_t>(known_shape(index).cols);
  result.attempts = 1;
  result.host = "node";
  result.device = "cpu";
  result.solver = "jacobi 1";
  if (result.status == PlanStatus::failed) {
    result.error = "the plan has no cells";
  } else {
    put_field(result, known_field(index));
    result.rooms.resize(3);
    for (std::uint32_t k = 0; k < 3; ++k) {
      result.rooms[k].room = k + 1;
      result.rooms[k].cells = 3;
    }
  }
  return result;
}

inline std::vector<PlanResult> known_results(std::size_t begin, std::size_t end) {
  std::vector<PlanResult> results;
  for (auto i = begin; i < end; ++i) results.push_back(known_result(i));
  return results;
}

/// Equal to the last bit; fields, and in which session it was stored, aside.
inline bool same(const PlanResult& a, const PlanResult& b) {
  auto x = store::to_row(a), y = store::to_row(b);
  x.session = y.session = 0;
  return std::memcmp(&x, &y, sizeof x) == 0;
}

}  // namespace wallheat::fuzz
