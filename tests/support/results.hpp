#pragma once

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "core/result_columns.hpp"
#include "store/field_codec.hpp"
#include "store/journal.hpp"
#include "store/result_store.hpp"

// A campaign with known results, for tests of result files.
namespace wallheat {

/// A campaign whose plans have the field shapes `shapes` in turn. If `shapes` is empty, no fields
/// are saved.
struct TestPlan : ResultFileSpec {
  std::vector<GridShape> shapes;
};

inline TestPlan make_plan(std::size_t count, const std::vector<GridShape>& shapes = {}) {
  TestPlan plan{
      {{},
       {{"solver", "jacobi"}, {"tolerance", "0.0001"}, {"above", "18.0"}, {"below", "15.0"}},
       !shapes.empty()},
      shapes};
  for (std::size_t i = 0; i < count; ++i) plan.ids.push_back("plan " + std::to_string(i));
  return plan;
}

inline TestPlan make_plan_with_rooms(std::size_t count, const std::vector<GridShape>& shapes = {}) {
  TestPlan plan = make_plan(count, shapes);
  plan.settings["rooms_door"] = "auto";
  return plan;
}

/// Returns 7 for "plan 7". The result of a plan depends on this number only, not on its row index.
inline std::size_t number_of(std::string_view id) {
  return id.starts_with("plan ") ? std::stoul(std::string(id.substr(5)))
                                 : std::hash<std::string_view>{}(id) % 1000;
}

/// Returns a smooth field that differs between plans.
inline Grid<double> make_field(std::size_t number, GridShape shape) {
  Grid<double> field(shape.rows, shape.cols);
  for (std::size_t i = 0; i < field.cells.size(); ++i)
    field.cells[i] = 5 + std::sin(0.01 * static_cast<double>(i + 7 * number));
  return field;
}
inline Grid<double> field_of(const TestPlan& plan, std::size_t index) {
  const std::size_t number = number_of(plan.ids[index]);
  return make_field(number, plan.shapes[number % plan.shapes.size()]);
}

inline std::vector<RoomResult> make_rooms(std::size_t number) {
  std::vector<RoomResult> rooms(1 + 3 * number);
  for (std::size_t k = 0; k < rooms.size(); ++k) {
    rooms[k].room = static_cast<std::uint32_t>(k + 1);
    rooms[k].cells = static_cast<std::uint32_t>(1 + k % 7);
    rooms[k].mean_temp = 100.0 * static_cast<double>(number) + static_cast<double>(k) + 0.5;
  }
  return rooms;
}

/// Returns a result with a different value in every column.
inline PlanResult make_result(const TestPlan& plan, std::size_t index) {
  const std::size_t number = number_of(plan.ids[index]);
  PlanResult result;
  auto value = static_cast<double>(number);
  for_each_member<PlanResult>([&](const auto& column) {
    auto& member = column.of(result);
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, std::string>) {
      member = column.name;
    } else if constexpr (std::is_arithmetic_v<Member>) {
      member = static_cast<Member>(value += 3);
    }
  });
  result.index = static_cast<std::uint32_t>(index);
  result.id = plan.ids[index];
  result.status = number % 3 == 0 ? PlanStatus::max_iterations : PlanStatus::converged;
  if (number % 5 == 0) result.statistics.pct_above = std::nan("");
  result.statistics.pct_below = 0;
  result.error.clear();
  result.field_bytes = result.field_crc32 = result.session = 0;
  if (plan.settings.contains("rooms_door")) {
    result.rooms = make_rooms(number);
    result.interior_cells = 0;
    for (const RoomResult& room : result.rooms) result.interior_cells += room.cells;
  }
  if (plan.save_fields) {
    const Grid<double> field = field_of(plan, index);
    result.rows = static_cast<std::uint32_t>(field.rows);
    result.cols = static_cast<std::uint32_t>(field.cols);
    attach_field(result, field);
  }
  return result;
}

inline std::vector<PlanResult> make_results(const TestPlan& plan, std::size_t begin,
                                            std::size_t end) {
  std::vector<PlanResult> results;
  for (auto i = begin; i < end; ++i) results.push_back(make_result(plan, i));
  return results;
}

inline PlanResult pending(const ResultFileSpec& plan, std::size_t index) {
  PlanResult result;
  result.index = static_cast<std::uint32_t>(index);
  result.id = plan.ids[index];
  return result;
}

inline PlanResult failure(const ResultFileSpec& plan, std::size_t index, const std::string& error) {
  PlanResult result = pending(plan, index);
  result.status = PlanStatus::failed;
  result.error = error;
  return result;
}

/// Returns true if two results are bit-identical, including NaN, except for field, rooms and
/// session.
inline bool same(const PlanResult& a, const PlanResult& b) {
  auto x = store::to_row(a), y = store::to_row(b);
  x.session = y.session = 0;
  return std::memcmp(&x, &y, sizeof x) == 0;
}

/// Returns the rooms of a row as they were passed to the store.
inline std::vector<RoomResult> rooms_in(const ResultReader& reader, std::size_t index) {
  std::vector<RoomResult> rooms = reader.rooms(index);
  for (RoomResult& room : rooms) room.plan = room.room_crc32 = 0;
  return rooms;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Returns the offset of a plan's row in the bytes of a file; npos if it does not exist.
inline std::size_t row_at(std::string_view bytes, const TestPlan& plan, std::size_t index) {
  const auto row = store::to_row(make_result(plan, index));
  return bytes.find(std::string_view(reinterpret_cast<const char*>(&row),
                                     sizeof row.index + sizeof row.status + sizeof row.id));
}

}  // namespace wallheat
