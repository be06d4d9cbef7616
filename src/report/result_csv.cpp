#include "report/result_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <string_view>

#include "core/plan_ids.hpp"
#include "core/text.hpp"
#include "forecast/listing_line.hpp"
#include "io/files.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Without the blanks and quotes around it.
std::string_view bare(std::string_view cell) {
  constexpr std::string_view around = " \t\r\n\"";
  const std::size_t begin = std::min(cell.find_first_not_of(around), cell.size());
  return cell.substr(begin, cell.find_last_not_of(around) + 1 - begin);
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  split(line, ',', cells);
  std::ranges::transform(cells, cells.begin(), bare);
  return cells;
}

std::optional<CsvResult::Number> printed_number_in(std::string_view text) {
  const auto value = parse_number<double>(text);
  if (!value) return std::nullopt;
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), mark);
  const auto decimals = static_cast<double>(mark - std::min(point + 1, mark));
  const double exponent =
      parse_number<double>(text.substr(std::min(mark + 1, text.size()))).value_or(0);
  return CsvResult::Number{*value, 0.5 * std::pow(10, exponent - decimals)};
}

/// Returns true if a header of a CSV names a column. Sets the column's threshold if the header
/// contains one.
bool names_column(std::string_view header, const PrintedColumn& column, Thresholds& thresholds) {
  if (header == column.name) return true;
  const std::string start = column.name + std::string("_");
  if (column.threshold == nullptr || !header.starts_with(start)) return false;
  const auto threshold = parse_number<double>(header.substr(start.size()));
  if (!threshold || !std::isfinite(*threshold)) return false;
  thresholds.*column.threshold = *threshold;
  return true;
}

}  // namespace

std::string PrintedColumn::header(const Thresholds& thresholds) const {
  return threshold == nullptr ? name : fmt::format("{}_{}", name, thresholds.*threshold);
}

std::string reference_csv_header(const Thresholds& thresholds) {
  std::string header = "building_id";
  for (const PrintedColumn& column : printed_columns) header += ", " + column.header(thresholds);
  return header + '\n';
}

bool is_reference_csv(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 200> line{};
  stream.getline(line.data(), line.size());
  const auto heads = cells_of(line.data());
  Thresholds thresholds;
  return heads.size() == printed_columns.size() + 1 && heads.front() == "building_id" &&
         std::ranges::equal(printed_columns, std::span(heads).subspan(1),
                            [&](const PrintedColumn& column, std::string_view head) {
                              const bool is_complete =
                                  column.threshold == nullptr || head != column.name;
                              return is_complete && names_column(head, column, thresholds);
                            });
}

ResultCsv read_result_csv(const std::string& file) {
  const std::string text = read_text_file(file);
  ListingLines lines(file, text);
  std::string_view line;
  (void)lines.next(line);
  const auto heads = cells_of(line);
  const auto column_of = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(heads, name) - heads.begin());
  };
  const std::size_t id = std::min(column_of("building_id"), column_of("id"));
  ResultCsv csv;
  std::array<std::size_t, printed_columns.size()> columns{};
  std::ranges::transform(printed_columns, columns.begin(), [&](const PrintedColumn& column) {
    const auto head = std::ranges::find_if(
        heads, [&](std::string_view each) { return names_column(each, column, csv.thresholds); });
    return static_cast<std::size_t>(head - heads.begin());
  });
  if (id == heads.size() || std::ranges::count(columns, heads.size()) == std::ssize(columns))
    throw RunError(
        fmt::format("{} is no CSV with the column building_id and some of mean_temp, std_temp, "
                    "pct_above_18, pct_below_15",
                    file));
  IdIndex known;
  while (lines.next(line)) {
    if (bare(line).empty()) continue;
    const auto cells = cells_of(line);
    if (cells.size() < heads.size())
      lines.throw_at_line(
          fmt::format("there must be {}, as in the first line", count_text(heads.size(), "value")));
    const std::size_t commas = cells.size() - heads.size();  // of the id
    CsvResult& answer = csv.plans.emplace_back();
    answer.id.assign(cells[id].data(), cells[id + commas].data() + cells[id + commas].size());
    if (answer.id.empty()) lines.throw_at_line("there is no id");
    if (!known.add(answer.id))
      lines.throw_at_line(fmt::format("plan {} is there twice", answer.id));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns.at(i) == heads.size()) continue;
      const std::string_view cell = cells[columns.at(i) + (columns.at(i) > id ? commas : 0)];
      answer.numbers.at(i) = printed_number_in(cell);
      if (!answer.numbers.at(i) && !cell.empty())
        lines.throw_at_line(fmt::format("'{}' is no number", cell));
    }
  }
  if (csv.plans.empty()) throw RunError(file + " holds no plan");
  return csv;
}

}  // namespace wallheat
