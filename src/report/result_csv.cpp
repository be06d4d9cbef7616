#include "report/result_csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "core/plan_ids.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "forecast/listing_line.hpp"
#include "io/files.hpp"
#include "solve/solver_options.hpp"
#include "view/advice.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns a cell without the blanks and quotes around it.
std::string_view bare(std::string_view cell) {
  constexpr std::string_view around = " \t\r\n\"";
  const std::size_t begin = std::min(cell.find_first_not_of(around), cell.size());
  return cell.substr(begin, cell.find_last_not_of(around) + 1 - begin);
}

/// The characters that may separate the cells of a line. The blank means any number of blanks.
constexpr std::string_view delimiters = ",;\t ";

std::vector<std::string_view> split_cells(std::string_view line, char delimiter) {
  std::vector<std::string_view> cells = split(line, delimiter);
  std::ranges::transform(cells, cells.begin(), bare);
  if (delimiter == ' ') std::erase(cells, "");
  return cells;
}

/// A number as it is printed, and its decimal mark: a point, a comma, or 0 without decimals.
struct PrintedNumber {
  CsvResult::Number number;
  char decimal_mark = 0;
};

std::optional<PrintedNumber> parse_printed_number(std::string_view text, char delimiter) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::string digits(text);
  if (delimiter != ',' && digits.find('.') == std::string::npos)
    if (const std::size_t comma = digits.find(','); comma != std::string::npos) digits[comma] = '.';
  const auto value = parse_number<double>(digits);
  if (!value) return std::nullopt;
  const std::size_t mark = std::min(digits.find_first_of("eE"), digits.size());
  const std::size_t point = std::min(digits.find('.'), mark);
  const auto decimals = static_cast<double>(mark - std::min(point + 1, mark));
  std::string_view exponent = std::string_view(digits).substr(std::min(mark + 1, digits.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  const double power = parse_number<double>(exponent).value_or(0) - decimals;
  return PrintedNumber{{*value, 0.5 * std::pow(10, power)}, point < mark ? text[point] : '\0'};
}

bool is_printed_number(std::string_view cell, char delimiter) {
  return parse_printed_number(cell, delimiter).has_value();
}

/// Returns true if a header of a CSV is that of our exports. Sets the column's threshold if the
/// header contains one.
bool names_column(std::string_view header, const PrintedColumn& column, Thresholds& thresholds) {
  if (header == column.name) return true;
  const std::string start = column.name + std::string("_");
  if (column.threshold == nullptr || !header.starts_with(start)) return false;
  const auto threshold = parse_number<double>(header.substr(start.size()));
  if (!threshold || !std::isfinite(*threshold)) return false;
  thresholds.*column.threshold = *threshold;
  return true;
}

/// Splits a header into words in lower case, numbers, and the signs <, > and %: "pctAbove_18.0"
/// becomes pct, above, 18.0.
std::vector<std::string> words_of(std::string_view header) {
  std::vector<std::string> words;
  enum class Kind { none, letter, digit } last = Kind::none;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto byte = static_cast<unsigned char>(header[i]);
    const char next = i + 1 < header.size() ? header[i + 1] : ' ';
    const bool begins_number = std::isdigit(static_cast<unsigned char>(next)) != 0;
    const bool is_minus = byte == '-' && begins_number && i > 0 &&
                          std::string_view(" _<>=").find(header[i - 1]) != std::string_view::npos;
    if (byte < 0x80 && std::isalpha(byte) != 0) {
      const bool is_hump = std::isupper(byte) != 0 && i > 0 &&
                           std::islower(static_cast<unsigned char>(header[i - 1])) != 0;
      if (last != Kind::letter || is_hump) words.emplace_back();
      words.back() += static_cast<char>(std::tolower(byte));
      last = Kind::letter;
    } else if (std::isdigit(byte) != 0 || (byte == '.' && begins_number) || is_minus) {
      if (last != Kind::digit) words.emplace_back();
      words.back() += header[i];
      last = Kind::digit;
    } else {
      if (byte == '<' || byte == '>' || byte == '%') words.emplace_back(1, header[i]);
      last = Kind::none;
    }
  }
  return words;
}

/// Returns true if a header names the column of plan IDs.
bool names_id(std::string_view header) {
  static const std::set<std::string> names{"id",   "buildingid", "building",  "bid",
                                           "plan", "planid",     "floorplan", "floorplanid"};
  return names.contains(fmt::format("{}", fmt::join(words_of(header), "")));
}

/// Returns the index of the printed column that a header names, in one of many spellings; nullopt
/// if it names none. Sets the column's threshold if the header contains one.
std::optional<std::size_t> named_column(std::string_view header, Thresholds& thresholds) {
  for (std::size_t i = 0; i < printed_columns.size(); ++i)
    if (names_column(header, printed_columns.at(i), thresholds)) return i;
  static const std::map<std::string, std::size_t> keys{
      {"mean", 0},  {"avg", 0},     {"average", 0}, {"meantemp", 0}, {"avgtemp", 0},
      {"std", 1},   {"stddev", 1},  {"stdev", 1},   {"sd", 1},       {"deviation", 1},
      {"dev", 1},   {"stdtemp", 1}, {"above", 2},   {"over", 2},     {"gt", 2},
      {"more", 2},  {">", 2},       {"greater", 2}, {"warmer", 2},   {"below", 3},
      {"under", 3}, {"lt", 3},      {"<", 3},       {"less", 3},     {"colder", 3}};
  static const std::set<std::string> of_any{"temp",    "temps", "temperature", "temperatures",
                                            "c",       "deg",   "degc",        "degrees",
                                            "celsius", "of",    "in",          "the"};
  static const std::set<std::string> of_share{"pct", "percent", "percentage", "perc",
                                              "%",   "share",   "area",       "than"};
  std::optional<std::size_t> column;
  std::optional<double> threshold;
  bool is_of_share = false;
  for (const std::string& word : words_of(header)) {
    if (const auto key = keys.find(word); key != keys.end()) {
      if (column && *column != key->second) return std::nullopt;
      column = key->second;
    } else if (const auto number = parse_number<double>(word); number) {
      if (threshold) return std::nullopt;
      threshold = number;
    } else if (of_share.contains(word)) {
      is_of_share = true;
    } else if (!of_any.contains(word) && word != "standard") {
      return std::nullopt;
    }
  }
  if (!column) return std::nullopt;
  double Thresholds::*const own = printed_columns.at(*column).threshold;
  if (own == nullptr) return is_of_share || threshold ? std::nullopt : column;
  if (threshold) thresholds.*own = *threshold;
  return column;
}

/// The columns of a table of results.
struct Layout {
  char delimiter = ',';
  std::size_t width = 1 + printed_columns.size();
  std::size_t id = 0;
  /// Position of each printed column; nullopt if the table does not have it.
  std::array<std::optional<std::size_t>, printed_columns.size()> columns{1, 2, 3, 4};
  Thresholds thresholds = {};

  [[nodiscard]] bool is_complete() const {
    return std::ranges::all_of(columns, [](const auto& column) { return column.has_value(); });
  }
};

/// Returns the columns that a line names; nullopt if the line is not a header. Throws RunError if
/// two columns are the same.
std::optional<Layout> parse_header(std::string_view line, const ListingLines& lines) {
  const auto is_letter = [](unsigned char byte) { return std::isalpha(byte) != 0; };
  if (std::ranges::none_of(line, is_letter)) return std::nullopt;  // nearly all lines are results
  if (line.starts_with('#')) line.remove_prefix(1);
  for (const char delimiter : delimiters) {
    const auto heads = split_cells(line, delimiter);
    Layout layout{delimiter, heads.size(), heads.size(), {}};
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (layout.id == heads.size() && names_id(heads[i])) layout.id = i;
      const auto column = named_column(heads[i], layout.thresholds);
      if (!column) continue;
      std::optional<std::size_t>& place = layout.columns.at(*column);
      if (place)
        lines.throw_at_line(fmt::format("columns '{}' and '{}' are both {}; remove one of them",
                                        heads[*place], heads[i], printed_columns.at(*column).name));
      place = i;
    }
    if (layout.id == heads.size() && heads.front().empty()) layout.id = 0;  // an index of pandas
    const bool has_column =
        std::ranges::any_of(layout.columns, [](const auto& column) { return column.has_value(); });
    // Prose, too, has words such as "mean" between blanks.
    if (layout.id < heads.size() && (delimiter == ' ' ? layout.is_complete() : has_column))
      return layout;
  }
  return std::nullopt;
}

/// Returns true if an ID is that of a line of totals, which programs print below their results.
bool is_total(std::string_view id) {
  static const std::set<std::string> names{
      "total", "totals", "sum",    "mean",  "average", "averages", "avg", "std",
      "min",   "max",    "median", "count", "25%",     "50%",      "75%", "overall"};
  return names.contains(fmt::format("{}", fmt::join(words_of(id), "")));
}

bool has_blank(std::string_view text) { return text.find_first_of(" \t") != std::string::npos; }

/// Returns true if a line with too few or too many cells resembles a result: numbers next to
/// something that may be an ID.
bool resembles_result(const std::vector<std::string_view>& cells, const Layout& layout) {
  if (cells.size() <= layout.id || cells.size() < 2) return false;
  const std::string_view id = cells[layout.id];
  if (id.empty() || has_blank(id)) return false;
  if (layout.delimiter == ' ' && !is_printed_number(id, ' ')) return false;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (i != layout.id && !cells[i].empty() && !is_printed_number(cells[i], layout.delimiter))
      return false;
  return true;
}

/// Returns an upper bound on the share of values that are at least `distance` above their mean
/// (Cantelli's inequality).
double max_share_beyond(double distance, double deviation) {
  if (!(distance > 0)) return 1;
  return deviation * deviation / (deviation * deviation + distance * distance);
}

/// Returns true if there are cells with this mean, standard deviation and shares, or if all four
/// numbers are NaN, as those of a plan without interior cells.
bool is_possible(const CsvResult& result, const Thresholds& thresholds) {
  if (std::ranges::all_of(result.numbers, [](const auto& of) { return std::isnan(of->value); }))
    return true;
  const auto& [mean, deviation, above, below] = result.numbers;
  const double spread = deviation->value + deviation->rounding_error;
  constexpr double error = 0.1;  // °C; sums in single precision are off by less
  constexpr double error_pct = 1;
  const auto holds = [&](double share_pct, double distance) {
    return share_pct <=
           100 * max_share_beyond(distance - error - mean->rounding_error, spread) + error_pct;
  };
  return holds(above->value, thresholds.above - mean->value) &&
         holds(100 - above->value, mean->value - thresholds.above) &&
         holds(below->value, mean->value - thresholds.below) &&
         holds(100 - below->value, thresholds.below - mean->value);
}

/// Reads the results of one file after the other.
class CsvReader {
 public:
  void read(const std::string& file);
  ResultCsv take(const std::vector<std::string>& files);

 private:
  /// Returns the result in a line; nullopt if the line is not a result.
  std::optional<CsvResult> parse_line(std::string_view line, const Layout& layout,
                                      bool is_below_header);
  std::optional<CsvResult> parse_cells(std::vector<std::string_view> cells, const Layout& layout,
                                       bool is_below_header);
  void require_decimal_mark(char mark);
  /// Throws RunError if a number is out of its range.
  void require_valid_numbers(const CsvResult& result, const Thresholds& thresholds);
  void add_result(CsvResult result);
  void apply(const Thresholds& thresholds);

  struct Place {
    std::size_t file = 0, line = 0;
  };

  ResultCsv csv_;
  std::optional<Thresholds> thresholds_;
  IdIndex ids_;
  std::vector<Place> places_;  ///< of the plans
  std::vector<std::string> files_;
  const ListingLines* lines_ = nullptr;  ///< of the current file
  char decimal_mark_ = 0;                ///< of the current file; 0: unknown
  std::size_t decimal_mark_line_ = 0;
};

constexpr std::string_view hdf5_magic = "\x89HDF";

/// Throws RunError if a file has the beginning of a well-known binary format.
void require_no_binary_format(const std::string& file, std::string_view begin) {
  struct Format {
    std::string_view magic;
    const char* what;
  };
  constexpr std::string_view convert = "iconv -f UTF-16 -t UTF-8";
  for (const auto& [magic, what] : std::initializer_list<Format>{{"\x93NUMPY", "a NumPy array"},
                                                                 {hdf5_magic, "an HDF5 file"},
                                                                 {"PK\x03\x04", "a zip archive"},
                                                                 {"\x1f\x8b", "a gzip file"},
                                                                 {"\x89PNG", "a picture"},
                                                                 {"%PDF", "a PDF document"}})
    if (begin.starts_with(magic))
      throw RunError(fmt::format(
          "{} is {}, not a list of printed results; use a CSV or a job output with one line per "
          "plan: building_id, mean_temp, std_temp, pct_above_18, pct_below_15",
          file, what));
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff"))
    throw RunError(fmt::format("{0} is encoded in UTF-16; convert it: {1} '{0}' > results.csv",
                               file, convert));
}

std::string beginning_of(const std::filesystem::path& file, std::size_t bytes) {
  std::string begin(bytes, ' ');
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return "";
  std::ifstream stream(file, std::ios::binary);
  stream.read(begin.data(), static_cast<std::streamsize>(bytes));
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  return begin;
}

/// Returns the part of a line that a terminal shows: a progress bar is overwritten.
std::string_view visible_part(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);
}

void CsvReader::read(const std::string& file) {
  require_no_binary_format(file, beginning_of(file, 8));
  const std::string content = read_text_file(file);
  std::string_view text = without_byte_order_mark(content);
  files_.push_back(file);
  decimal_mark_ = 0;
  Layout layout;
  bool has_header = false;
  bool is_below_header = false;
  std::string_view line;
  for (ListingLines first_pass(file, text); !has_header && first_pass.next(line);)
    if (const auto header = parse_header(visible_part(line), first_pass)) {
      layout = *header;
      has_header = true;
    }
  ListingLines lines(file, text);
  lines_ = &lines;
  const std::size_t known = csv_.plans.size();
  std::size_t repeated = 0;
  std::size_t skipped = 0;
  std::size_t first_skipped = 0;
  while (lines.next(line)) {
    line = visible_part(line);
    if (bare(line).empty()) continue;
    if (const auto header = has_header ? parse_header(line, lines) : std::nullopt) {
      layout = *header;
      is_below_header = true;
      continue;
    }
    if (line.starts_with('#')) continue;
    std::optional<CsvResult> result;
    for (const char delimiter : delimiters) {
      if (has_header && delimiter != layout.delimiter) continue;
      layout.delimiter = delimiter;
      if ((result = parse_line(line, layout, is_below_header))) break;
    }
    if (!result) {
      if (skipped++ == 0) first_skipped = lines.number();
      continue;
    }
    apply(layout.thresholds);
    const std::size_t plans = csv_.plans.size();
    add_result(std::move(*result));
    repeated += csv_.plans.size() == plans ? 1 : 0;
  }
  if (csv_.plans.size() == known && repeated == 0)
    throw RunError(fmt::format(
        "{} contains no result; a result is a line with building_id, mean_temp, std_temp, "
        "pct_above_18 and pct_below_15, or follows a header with building_id and some of the "
        "others",
        file));
  csv_.skipped_lines += skipped;
  if (skipped > 0)
    csv_.notes.push_back(fmt::format("{}: {} not {} (the first: line {})", file,
                                     count_text(skipped, "line is", "lines are"),
                                     skipped == 1 ? "a result" : "results", first_skipped));
}

std::optional<CsvResult> CsvReader::parse_line(std::string_view line, const Layout& layout,
                                               bool is_below_header) {
  auto cells = split_cells(line, layout.delimiter);
  if (cells.size() == layout.width + 1 && cells.back().empty()) cells.pop_back();
  if (cells.size() == layout.width + 1 && layout.delimiter == ' ' &&
      is_printed_number(cells[0], ' '))
    cells.erase(cells.begin());  // pandas prints the index in front, and no header of it
  if (cells.size() == layout.width) return parse_cells(std::move(cells), layout, is_below_header);
  const auto refuse = [&] {
    lines_->throw_at_line(
        fmt::format("{} instead of {}{}", count_text(cells.size(), "value"), layout.width,
                    is_below_header ? " in the header"
                                    : ": building_id, mean_temp, std_temp, pct_above_18, "
                                      "pct_below_15; add a header that names the columns"));
  };
  // Without a header, numbers between blanks may be anything.
  if ((is_below_header || layout.delimiter != ' ') && resembles_result(cells, layout)) refuse();
  if (!is_below_header || layout.delimiter != ',' || cells.size() < layout.width)
    return std::nullopt;
  // The surplus commas are those of an ID.
  const std::size_t commas = cells.size() - layout.width;
  const std::string_view first = cells[layout.id];
  const std::string_view last = cells[layout.id + commas];
  const std::string_view id =
      line.substr(static_cast<std::size_t>(first.data() - line.data()),
                  static_cast<std::size_t>(last.data() + last.size() - first.data()));
  if (has_blank(id)) return std::nullopt;
  if (is_printed_number(last, ',')) refuse();
  cells[layout.id] = id;
  const auto surplus = cells.begin() + static_cast<std::ptrdiff_t>(layout.id + 1);
  cells.erase(surplus, surplus + static_cast<std::ptrdiff_t>(commas));
  return parse_cells(std::move(cells), layout, is_below_header);
}

std::optional<CsvResult> CsvReader::parse_cells(std::vector<std::string_view> cells,
                                                const Layout& layout, bool is_below_header) {
  CsvResult result;
  result.id = cells[layout.id];
  if (is_total(result.id)) return std::nullopt;
  std::set<char> marks;
  std::vector<std::string_view> words;  // in place of numbers
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < printed_columns.size(); ++i) {
    if (!layout.columns.at(i)) continue;
    std::string_view cell = cells[*layout.columns.at(i)];
    if (printed_columns.at(i).threshold != nullptr && cell.ends_with('%'))
      cell = bare(cell.substr(0, cell.size() - 1));
    const auto printed = parse_printed_number(cell, layout.delimiter);
    if (!printed) {
      if (!cell.empty()) words.push_back(cell);
      continue;
    }
    ++numbers;
    result.numbers.at(i) = printed->number;
    if (printed->decimal_mark != 0) marks.insert(printed->decimal_mark);
  }
  const bool may_be_id = !result.id.empty() && !has_blank(result.id) &&
                         (layout.delimiter != ' ' || is_printed_number(result.id, ' '));
  if (!is_below_header) {
    if (numbers < printed_columns.size()) {
      if (words.empty() && numbers > 0 && may_be_id)
        lines_->throw_at_line(
            "without a header above it, a result has building_id, mean_temp, std_temp, "
            "pct_above_18 and pct_below_15; move the header to the first line");
      return std::nullopt;
    }
    if (!may_be_id) return std::nullopt;
    if (!is_possible(result, layout.thresholds))
      lines_->throw_at_line(
          "its numbers cannot be mean_temp, std_temp, pct_above_18 and pct_below_15 of a plan; "
          "remove the line, or add a header above it that names the columns");
  }
  if (!words.empty()) {
    if (!may_be_id) return std::nullopt;
    lines_->throw_at_line(
        fmt::format("'{}' is not a number", words.front().substr(0, ListingLines::longest)));
  }
  if (result.id.empty()) lines_->throw_at_line("the ID is missing");
  for (const char mark : marks) require_decimal_mark(mark);
  require_valid_numbers(result, layout.thresholds);
  return result;
}

void CsvReader::require_decimal_mark(char mark) {
  if (decimal_mark_ != 0 && decimal_mark_ != mark)
    lines_->throw_at_line(fmt::format(
        "a number has a decimal {}, but line {} has a decimal {}; use one of them",
        mark == ',' ? "comma" : "point", decimal_mark_line_, mark == ',' ? "point" : "comma"));
  if (decimal_mark_ == 0) decimal_mark_line_ = lines_->number();
  decimal_mark_ = mark;
}

void CsvReader::require_valid_numbers(const CsvResult& result, const Thresholds& thresholds) {
  const auto& [mean, deviation, above, below] = result.numbers;
  if (deviation && deviation->value < 0)
    lines_->throw_at_line(
        fmt::format("std_temp is {}, but no standard deviation is negative", deviation->value));
  for (std::size_t i = 0; i < printed_columns.size(); ++i) {
    const auto& number = result.numbers.at(i);
    if (printed_columns.at(i).threshold == nullptr || !number) continue;
    if (number->value < 0 || number->value > 100 + number->rounding_error)
      lines_->throw_at_line(fmt::format("{} is {}, but a share is from 0 to 100 %",
                                        printed_columns.at(i).header(thresholds), number->value));
  }
  if (above && below && thresholds.above >= thresholds.below &&
      above->value + below->value > 100.1 + above->rounding_error + below->rounding_error)
    lines_->throw_at_line(fmt::format("{} % above {} °C and {} % below {} °C exceed 100 %",
                                      above->value, thresholds.above, below->value,
                                      thresholds.below));
}

void CsvReader::apply(const Thresholds& thresholds) {
  if (!thresholds_) thresholds_ = thresholds;
  if (*thresholds_ == thresholds) return;
  lines_->throw_at_line(
      fmt::format("its cells are counted above {} °C and below {} °C, but those of other results "
                  "above {} °C and below {} °C",
                  thresholds.above, thresholds.below, thresholds_->above, thresholds_->below));
}

void CsvReader::add_result(CsvResult result) {
  const auto [index, is_new] = ids_.insert(result.id);
  if (is_new) {
    csv_.plans.push_back(std::move(result));
    places_.push_back({files_.size() - 1, lines_->number()});
    return;
  }
  for (std::size_t i = 0; i < printed_columns.size(); ++i) {
    auto& known = csv_.plans[index].numbers.at(i);
    const auto& again = result.numbers.at(i);
    if (known && again && known->value != again->value &&
        !(std::isnan(known->value) && std::isnan(again->value)))
      lines_->throw_at_line(
          fmt::format("{} of plan {} is {}, but in {}, line {} it is {}; keep one of the two lines",
                      printed_columns.at(i).header(*thresholds_), result.id, again->value,
                      files_[places_[index].file], places_[index].line, known->value));
    if (!known) known = again;
  }
}

ResultCsv CsvReader::take(const std::vector<std::string>& files) {
  csv_.thresholds = thresholds_.value_or(Thresholds());
  csv_.name = files.size() == 1 ? files.front()
                                : fmt::format("{} and {}", files.front(),
                                              count_text(files.size() - 1, "more file"));
  return std::move(csv_);
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
  const auto heads = split_cells(line.data(), ',');
  Thresholds thresholds;
  return heads.size() == printed_columns.size() + 1 && heads.front() == "building_id" &&
         std::ranges::equal(printed_columns, std::span(heads).subspan(1),
                            [&](const PrintedColumn& column, std::string_view head) {
                              const bool is_complete =
                                  column.threshold == nullptr || head != column.name;
                              return is_complete && names_column(head, column, thresholds);
                            });
}

bool is_text_file(const std::filesystem::path& file) {
  constexpr std::size_t begin_size = 4096;
  const std::string begin = beginning_of(file, begin_size);
  return !begin.empty() && begin.find('\0') == std::string::npos;
}

bool is_hdf5_file(const std::filesystem::path& file) {
  return beginning_of(file, hdf5_magic.size()) == hdf5_magic;
}

ResultCsv read_result_csv(const std::vector<std::string>& files) {
  CsvReader reader;
  for (const std::string& file : files) reader.read(file);
  return reader.take(files);
}

ResultCsv results_as_csv(const std::string& file, const ResultReader& reader) {
  ResultCsv csv;
  csv.name = file;
  const Thresholds thresholds = recorded_thresholds(file, reader.settings());
  const bool has_shares = thresholds == csv.thresholds;
  if (!has_shares)
    csv.notes.push_back(fmt::format(
        "pct_above and pct_below are not compared, because {} counts cells above {} °C "
        "and below {} °C, and the known programs above {} °C and below {} °C",
        file, thresholds.above, thresholds.below, csv.thresholds.above, csv.thresholds.below));
  csv.missing.emplace();
  reader.for_each_row([&](const PlanResult& row) {
    if (!is_solved(row.status) || row.status == PlanStatus::empty) {
      csv.missing->push_back({row.id, row.status, row.error});
      return;
    }
    CsvResult& result = csv.plans.emplace_back();
    result.id = row.id;
    result.iterations = known_iterations(row);
    for (std::size_t i = 0; i < printed_columns.size(); ++i) {
      if (printed_columns.at(i).threshold != nullptr && !has_shares) continue;
      const double value = row.statistics.*printed_columns.at(i).of;
      result.numbers.at(i) = {value, std::abs(value) * std::numeric_limits<double>::epsilon() / 2};
    }
  });
  if (csv.plans.empty())
    throw RunError(fmt::format("{}: no plan has a result; to show why: wallheat status --why {}",
                               file, quote_shell_word(file)));
  return csv;
}

void remove_unavailable_plans(ResultCsv& csv, const PlanSource& source) {
  const std::size_t count = csv.plans.size();
  std::string reason;
  std::erase_if(csv.plans, [&](const CsvResult& result) {
    try {
      (void)source.stamp(result.id);
      return false;
    } catch (const InputSystemError&) {
      return false;  // solving reports it
    } catch (const InputError& error) {
      if (csv.unavailable.empty()) reason = error.what();
      csv.unavailable.push_back(result.id);
      return true;
    }
  });
  if (csv.unavailable.empty()) return;
  if (csv.plans.empty())
    throw RunError(fmt::format(
        "{} contains none of the {} in {} (the first: {}); set the plans of these results "
        "with --data",
        source.path().string(), count_text(count, "plan"), csv.name, reason));
  csv.notes.push_back(fmt::format(
      "{} of the {} in {} {} available in {} (the first that is not: "
      "{})",
      csv.plans.size(), count_text(count, "plan"), csv.name, csv.plans.size() == 1 ? "is" : "are",
      source.path().string(), csv.unavailable.front()));
}

}  // namespace wallheat
