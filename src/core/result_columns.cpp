#include "core/result_columns.hpp"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/text.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

std::string_view to_string(PlanStatus status) {
  switch (status) {
    case PlanStatus::pending:
      return "pending";
    case PlanStatus::converged:
      return "converged";
    case PlanStatus::max_iterations:
      return "max_iterations";
    case PlanStatus::empty:
      return "empty";
    case PlanStatus::failed:
      return "failed";
    case PlanStatus::convergence_unknown:
      return "convergence_unknown";
  }
  return "unknown";
}

namespace {

template <class Value>
bool same(const Value& a, const Value& b) {
  if constexpr (std::is_floating_point_v<Value>) {
    return same_value(a, b);
  } else {
    return a == b;
  }
}

std::string exact_text(PlanStatus status) { return std::string(to_string(status)); }
std::string exact_text(const std::string& text) { return text; }
std::string exact_text(double value) { return format_repr(value); }
template <std::integral Number>
std::string exact_text(Number value) {
  return std::to_string(value);
}

/// Compares fields of the same shape.
void compare(const Grid<double>& a, const Grid<double>& b, std::vector<Difference>& found) {
  std::size_t count = 0;
  std::size_t first = 0;
  for (std::size_t cell = a.cells.size(); cell-- > 0;) {
    if (same_value(a.cells[cell], b.cells[cell])) continue;
    ++count;
    first = cell;
  }
  if (count == 0) return;
  found.push_back({"field in " + count_text(count, "cell") + ", the first in row " +
                       std::to_string(first / a.cols) + ", column " +
                       std::to_string(first % a.cols) + ",",
                   exact_text(a.cells[first]), exact_text(b.cells[first])});
}

void compare(const std::vector<RoomResult>& a, const std::vector<RoomResult>& b,
             std::vector<Difference>& found) {
  if (a.size() != b.size()) {
    found.push_back({"number of rooms", exact_text(a.size()), exact_text(b.size())});
    return;
  }
  for (std::size_t k = 0; k < a.size(); ++k) {
    RoomResult second = b[k];
    second.plan = a[k].plan;  // its row in a file is not part of the result
    second.room_crc32 = a[k].room_crc32;
    const std::size_t before = found.size();
    for_each_member<RoomResult>([&](const auto& column) {
      if (found.size() == before && !same(column.of(a[k]), column.of(second)))
        found.push_back({std::string(column.name) + " of room " + std::to_string(k + 1),
                         exact_text(column.of(a[k])), exact_text(column.of(second))});
    });
    if (found.size() > before) return;
  }
}

/// Returns true if a result has temperatures, but no error bound.
bool is_unproven(const PlanResult& result) {
  return is_solved(result.status) && result.status != PlanStatus::empty &&
         std::isnan(result.error_bound) && !std::isnan(result.statistics.mean_temp);
}

}  // namespace

bool same_value(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

bool is_far_from_steady(const PlanResult& result) {
  const double size = std::max(std::abs(result.statistics.mean_temp), result.statistics.std_temp);
  return is_unproven(result) && result.error_estimate > 0.1 * size;
}

bool has_unknown_error(const PlanResult& result) {
  return is_unproven(result) && std::isnan(result.error_estimate);
}

bool is_solver_command(std::string_view solver) { return solver.starts_with("command "); }

std::optional<std::int64_t> known_iterations(const PlanResult& result) {
  const bool is_unknown = is_solver_command(result.solver) && is_solved(result.status) &&
                          result.status != PlanStatus::empty && result.iterations == 0;
  return is_unknown ? std::nullopt : std::optional(result.iterations);
}

double single_core_seconds(const PlanResult& result) {
  const bool known = result.device.starts_with("cpu") && !std::isnan(result.cpu_s);
  return known ? result.cpu_s : result.seconds;
}

std::vector<Difference> find_differences(const ComparableResult& first,
                                         const ComparableResult& second) {
  std::vector<Difference> found;
  for_each_member<PlanResult>([&](const auto& column) {
    if (column.use != ColumnUse::deterministic) return;
    const auto& a = column.of(first.columns);
    const auto& b = column.of(second.columns);
    if (!same(a, b)) found.push_back({column.name, exact_text(a), exact_text(b)});
  });
  if (first.field != nullptr && second.field != nullptr &&
      first.field->rows == second.field->rows && first.field->cols == second.field->cols)
    compare(*first.field, *second.field, found);
  // The rooms are empty if they were not read.
  if (!first.columns.rooms.empty() && !second.columns.rooms.empty())
    compare(first.columns.rooms, second.columns.rooms, found);
  return found;
}

std::string to_text(const std::vector<Difference>& differences, const std::string& first,
                    const std::string& second) {
  std::string text;
  for (const auto& [what, in_first, in_second] : differences) {
    if (!text.empty()) text += "; ";
    text.append(what).append(" is ");
    text.append(in_first).append(" ").append(first).append(", ");
    text.append(in_second).append(" ").append(second);
  }
  return text;
}

}  // namespace wallheat
