#include "report/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/cell_statistics.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "node/placement.hpp"
#include "plans/plan_source.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

struct Range {
  double low = 0;
  double high = 0;
  [[nodiscard]] bool holds(double value) const { return value >= low && value <= high; }
  /// Returns the number of bins of this width that overlap the range.
  [[nodiscard]] double bins_of(double width) const {
    return std::floor(high / width) - std::floor(low / width) + 1;
  }
};

/// Returns the range around the quartiles in which numbers are not outliers. `numbers` must be
/// sorted.
Range central_range(const std::vector<double>& numbers) {
  const double lower = numbers[numbers.size() / 4];
  const double upper = numbers[numbers.size() - 1 - numbers.size() / 4];
  constexpr double hundredth = 0.01;
  const double span = hundredth * numbers.back() - hundredth * numbers.front();
  const double margin = 3 * std::max(upper - lower, span);
  return {lower - margin, upper + margin};
}

double bin_width(const Range& range, double max_bins) {
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  // The borders of narrower bins could not be distinguished in double precision.
  double min = std::max({1e-14 * largest, range.high / max_bins - range.low / max_bins,
                         std::numeric_limits<double>::min()});
  if (range.low == range.high) min = largest > 0 ? largest / 10 : 1;
  for (double power = std::pow(10, std::floor(std::log10(min)));; power *= 10)
    for (const double width : {power, 2 * power, 5 * power})
      if (width >= min && range.bins_of(width) <= max_bins) return width;
}

}  // namespace

Histogram histogram_of(const std::vector<double>& values, std::size_t max_bins,
                       bool may_have_outliers) {
  std::vector<double> numbers = values;
  std::erase_if(numbers, [](double value) { return !std::isfinite(value); });
  std::ranges::sort(numbers);
  Histogram histogram;
  Range bulk{-INFINITY, INFINITY};
  if (may_have_outliers && !numbers.empty()) {
    const Range central = central_range(numbers);
    const auto far =
        numbers.size() - static_cast<std::size_t>(std::ranges::count_if(
                             numbers, [&](double value) { return central.holds(value); }));
    if (4 * far <= numbers.size()) bulk = central;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]) || !bulk.holds(values[i])) histogram.outliers.push_back(i);
  std::erase_if(numbers, [&](double value) { return !bulk.holds(value); });
  if (numbers.empty()) return histogram;

  const Range range{numbers.front(), numbers.back()};
  const double width = bin_width(range, static_cast<double>(max_bins));
  const double first = std::floor(range.low / width);
  for (double number = 0; number < range.bins_of(width); ++number)
    histogram.bins.push_back({(first + number) * width, (first + number + 1) * width, 0});
  for (const double value : numbers)
    ++histogram.bins.at(static_cast<std::size_t>(std::floor(value / width) - first)).count;
  return histogram;
}

std::size_t Histogram::count() const {
  std::size_t all = 0;
  for (const Bin& bin : bins) all += bin.count;
  return all;
}

Figure& add_histogram(const Histogram& histogram, const std::string& name, const std::string& axis,
                      Report& report, const std::string& counted, const std::string& behind) {
  const ValueStyle border{ValueFormat::digits, 12, "°C"};
  Table table{
      "histogram" + behind,
      name,
      {{"from", "from", border}, {"to", "to", border}, {counted, counted}, text_only_column(" ")}};
  Figure::Series bars{.name = counted, .mark = Figure::Mark::bars};
  std::size_t highest = 1;
  for (const Histogram::Bin& bin : histogram.bins) highest = std::max(highest, bin.count);
  for (const auto& [from, to, count] : histogram.bins) {
    constexpr std::size_t width = 30;
    // Round up, so that a bin with at least one plan shows at least one mark.
    const std::size_t bar = (count * width + highest - 1) / highest;
    table.rows.push_back({from, to, count, std::string(bar, '#')});
    bars.add_bar(from, to, static_cast<double>(count));
  }
  report.add(std::move(table));
  Figure& figure = report.add(Figure{"histogram" + behind, name, {axis}});
  if (histogram.bins.empty()) return figure;
  if (const std::size_t beyond = histogram.outliers.size(); beyond > 0)
    figure.name += fmt::format(" ({} outliers not shown)", beyond);
  const Histogram::Bin& first = histogram.bins.front();
  figure.y.name = fmt::format("{} per {:.3g} °C", counted, first.to - first.from);
  figure.series.push_back(std::move(bars));
  return figure;
}

namespace {

/// The values of a row and of its rooms that depend on the thresholds.
struct CellCounts {
  double pct_above = 0;
  double pct_below = 0;
  std::uint32_t uncertain = 0;
  struct OfRoom {
    std::uint32_t above = 0;
    std::uint32_t below = 0;
  };
  std::vector<OfRoom> rooms = {};

  void apply_to(PlanResult& row) const {
    row.statistics.pct_above = pct_above;
    row.statistics.pct_below = pct_below;
    row.uncertain_cells = uncertain;
    for (double* const share :
         {&row.pct_above_lower, &row.pct_above_upper, &row.pct_below_lower, &row.pct_below_upper})
      *share = nan_value;
    for (std::size_t room = 0; room < rooms.size(); ++room) {
      row.rooms.at(room).cells_above = rooms[room].above;
      row.rooms.at(room).cells_below = rooms[room].below;
    }
  }
};

/// Counts the cells of plans with other thresholds than those of their result file.
struct CellCounter {
  const ResultReader& reader;
  const PlanSource& plans;
  const Thresholds& thresholds;
  const std::optional<Door>& door;

  [[noreturn]] static void refuse(const PlanResult& row, const std::string& reason) {
    throw RunError(fmt::format("the cells of plan {} cannot be counted again: {}",
                               escape_control_chars(row.id), reason));
  }

  /// Returns nullopt if the row has no temperatures.
  [[nodiscard]] std::optional<CellCounts> count(std::size_t index) const {
    const PlanResult row = reader.row(index);
    if (!is_solved(row.status) || row.status == PlanStatus::empty) return std::nullopt;
    const auto field = reader.field(index);
    if (!field)
      throw RunError(fmt::format(
          "plan {} has no stored field whose cells can be counted again; set the thresholds of the "
          "run, or run with --save-fields",
          escape_control_chars(row.id)));
    try {
      return count_in(row, *field);
    } catch (const InputError& error) {
      refuse(row, error.what());
    }
  }

 private:
  [[nodiscard]] CellCounts count_in(const PlanResult& row, const Grid<double>& field) const {
    const FloorPlan plan = plans.load(row.id);
    if (plan_hash(plan) != row.input_hash)
      refuse(row, fmt::format("it differs from the plan that is now in {}", plans.path().string()));
    const bool is_bounded = !std::isnan(row.error_bound);
    const auto [statistics, uncertain] = summarize_cells(
        interior_values(field, plan.interior), thresholds, is_bounded ? row.error_bound : 0);
    CellCounts counts{statistics.pct_above, statistics.pct_below,
                      is_bounded ? static_cast<std::uint32_t>(uncertain.cells) : 0};
    if (!door) return counts;
    const RoomMap map = map_rooms(plan.interior, door->of({field.rows, field.cols}));
    for (const RoomResult& room : room_results(map, field, thresholds))
      counts.rooms.push_back({room.cells_above, room.cells_below});
    return counts;
  }
};

}  // namespace

Rows recount_cells(const ResultReader& reader, const PlanSource& plans,
                   const Thresholds& thresholds, const std::optional<Door>& door) {
  std::vector<std::optional<CellCounts>> counts(reader.count());
  const CellCounter counter{reader, plans, thresholds, door};
  parallel_for(default_thread_count(), counts.size(),
               [&] { return [&](std::size_t i) { counts[i] = counter.count(i); }; });
  return [&reader, has_rooms = door.has_value(), counts = std::move(counts)](const auto& take) {
    std::size_t i = 0;
    reader.for_each_row([&](const PlanResult& stored) {
      PlanResult row = stored;
      if (has_rooms) row.rooms = reader.rooms(i);
      const std::optional<CellCounts>& counted = counts[i++];
      if (counted && counted->rooms.size() != row.rooms.size())
        CellCounter::refuse(
            row, fmt::format("the file has {}, but its plan has {}",
                             count_text(row.rooms.size(), "room"), counted->rooms.size()));
      if (counted) counted->apply_to(row);
      take(row);
    });
  };
}

}  // namespace wallheat
