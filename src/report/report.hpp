#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "view/json_forward.hpp"
#include "wallheat/statistics.hpp"

namespace wallheat {

struct FieldPicture;

/// A value as it was computed, or unknown. JSON has null for an unknown value, for NaN and for
/// infinity; text output has "-".
struct Value : std::variant<std::monostate, bool, std::int64_t, double, std::string> {
  Value() = default;
  Value(bool is) : variant(is) {}
  Value(std::integral auto number) : variant(static_cast<std::int64_t>(number)) {}
  Value(double number) : variant(number) {}
  Value(std::string text) : variant(std::move(text)) {}
  Value(std::string_view text) : variant(std::string(text)) {}
  Value(const char* text) : variant(std::string(text)) {}
  template <class T>
  Value(const std::optional<T>& value) : Value(value ? Value(*value) : Value()) {}

  [[nodiscard]] bool is_known() const { return index() != 0; }
};

/// Format of a number in text output. JSON and CSV contain all digits.
enum class ValueFormat {
  digits,      ///< `ValueStyle::digits` significant digits
  decimals,    ///< `ValueStyle::digits` decimals
  seconds,     ///< see seconds_text()
  duration,    ///< "3 min 20 s"
  bytes,       ///< "23.4 MB"
  time,        ///< of a string such as 2030-01-02T03:04:05.678Z: "2 Jan 2030, 03:04:05 UTC"
  decimals_up  ///< like decimals, but never less than the value: for values that are required
};
struct ValueStyle {
  ValueFormat form = ValueFormat::digits;
  int digits = 6;
  std::string unit = {};
};
/// Format of temperatures whose number of decimals is not fixed: those of plans with heat sources
/// may be far below 1 °C.
inline const ValueStyle temperature_format{ValueFormat::digits, 5};
/// Formats a value for text output. Escapes control characters.
[[nodiscard]] std::string value_text(const Value& value, const ValueStyle& style = {});

/// A named value.
struct Fact {
  std::string key;  ///< key in JSON; empty: text output only
  /// Name in text output, indented by blanks if the fact is a part of the previous one; empty: JSON
  /// output only.
  std::string name;
  Value value;
  ValueStyle style = {};
  std::string suffix = {};  ///< text after the value, in text output only

  [[nodiscard]] bool is_in_text() const { return !name.empty() && value.is_known(); }
};

/// A table of values.
struct Table {
  using Row = std::vector<Value>;
  struct Column {
    std::string key;  ///< key in JSON and CSV; empty: text output only
    /// Heading in text output, where the unit follows it; empty: JSON and CSV only.
    std::string name;
    ValueStyle style = {};

    [[nodiscard]] bool is_in_json() const { return !key.empty(); }
    [[nodiscard]] bool is_in_text() const { return !name.empty(); }
    void hide() { name.clear(); }  ///< hides the column in text output
  };
  std::string key, name;  ///< an empty name means no heading
  std::vector<Column> columns;
  std::vector<Row> rows = {};
  /// Produces the rows if there may be too many for memory; replaces `rows`. Calls `take` once per
  /// row, and restarts from the first row at each call.
  std::function<void(const std::function<void(const Row&)>& take)> row_source = {};
  /// Maximum number of rows in text output.
  std::size_t max_text_rows = std::numeric_limits<std::size_t>::max();
  /// Text output omits the table, and pages show it when the reader opens it.
  bool is_collapsed = false;

  void for_each(const std::function<void(const Row&)>& take) const;
  /// Returns true if text output contains any of the columns.
  [[nodiscard]] bool is_in_text() const;
  /// Hides in text output the complete table, or those columns, starting at index `from`, that
  /// contain only `nothing`.
  void hide();
  void hide_constant_columns(const Value& nothing, std::size_t from = 0);
};
/// Returns a column for JSON and CSV only.
[[nodiscard]] inline Table::Column json_only_column(std::string key) {
  return {std::move(key), ""};
}
/// Returns a column for text output only.
[[nodiscard]] inline Table::Column text_only_column(std::string name, ValueStyle style = {}) {
  return {"", std::move(name), std::move(style)};
}

/// A message for text output. Several lines are a listing.
struct Note {
  std::string text;
};

/// A chart with two axes.
struct Figure {
  enum class Mark { points, line, points_and_line, bars, rectangles };
  enum class Scale { linear, powers_of_2, powers_of_10 };
  struct Axis {
    std::string name = {};
    Scale scale = Scale::linear;
    std::vector<std::string> names = {};  ///< labels at 0, 1, 2, ... in place of numbers
    std::optional<double> from = {}, to = {};
  };
  struct Series {
    std::string name = {};  ///< empty: not listed in the legend
    Mark mark = Mark::points;
    std::vector<double> x = {}, y = {};    ///< NaN: not drawn
    std::vector<double> x_end = {};        ///< right ends of bars and rectangles, which begin at x
    std::vector<double> y_end = {};        ///< upper ends of rectangles, which begin at y
    std::vector<std::string> labels = {};  ///< labels above the points
    bool is_dashed = false;

    void add(double at_x, double at_y) {
      x.push_back(at_x);
      y.push_back(at_y);
    }
    void add_bar(double from_x, double to_x, double height) {
      add(from_x, height);
      x_end.push_back(to_x);
    }
    void add_rectangle(double from_x, double to_x, double from_y, double to_y) {
      add_bar(from_x, to_x, from_y);
      y_end.push_back(to_y);
    }
  };
  std::string key, name;
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  bool is_sequential = false;  ///< the series are steps of one quantity, from low to high
  /// Drawn in place of series. Not a part of JSON output.
  std::shared_ptr<const FieldPicture> fields = {};
  /// A finished picture, drawn in place of series; not a part of JSON output.
  std::string svg = {};

  /// Adds a vertical line from one y to another.
  void add_vertical_line(std::string of, double at, double bottom, double top,
                         bool is_dashed = true) {
    series.push_back({.name = std::move(of),
                      .mark = Mark::line,
                      .x = {at, at},
                      .y = {bottom, top},
                      .is_dashed = is_dashed});
  }
};

/// The output of a command, in the order of text output. The keys of a report are unique.
struct Report {
  std::string title = {};      ///< title of its page
  std::string byline = {};     ///< author and date, below the title of its page; empty: none
  std::string csv_table = {};  ///< key of the table of CSV output; empty: the first table
  std::vector<std::variant<Fact, Table, Note, Figure>> elements = {};
  /// Creates the report for a page, if the page contains more than this report.
  std::function<Report()> for_page = {};
  /// The time after which a page reloads itself, in s; nullopt: never. Its program replaces the
  /// page that often.
  std::optional<double> reload_s = {};
  /// Waits, and returns the next report of a command that follows something; null: this report is
  /// the last. Each report is written like the only report of a command, to the same files.
  std::function<Report()> next = {};
  int exit_status = 0;     ///< an ExitStatus
  std::string error = {};  ///< printed on stderr after everything else; empty: none

  template <class Part>
  Part& add(Part part) {
    return std::get<Part>(elements.emplace_back(std::move(part)));
  }
  /// Adds a fact. Text output contains it only if the value is known.
  void add_fact(std::string key, std::string name, Value value, ValueStyle style = {},
                std::string more = {}) {
    add(Fact{std::move(key), std::move(name), std::move(value), std::move(style), std::move(more)});
  }
  /// Add a fact for JSON output only, or for text output only.
  void add_json_fact(std::string key, Value value) {
    add_fact(std::move(key), "", std::move(value));
  }
  void add_text_fact(std::string name, Value value, std::string more = {}) {
    add_fact("", std::move(name), std::move(value), {}, std::move(more));
  }
  void add_note(std::string text) { add(Note{std::move(text)}); }
  /// Formats the share of a part as ", 12.3 %", for Fact::suffix.
  [[nodiscard]] static std::string share(double part, double whole);
  /// Returns the table of CSV output; nullptr if there is none.
  [[nodiscard]] const Table* csv_table_or_null() const;
  /// Returns the first element of a type; nullptr if there is none.
  template <class Part>
  [[nodiscard]] const Part* first() const {
    for (const auto& part : elements)
      if (const auto* found = std::get_if<Part>(&part)) return found;
    return nullptr;
  }
};

/// Returns the value of the fact with this key; an unknown value if there is none.
[[nodiscard]] Value value_of(const Report& report, const std::string& key);

/// Returns a table with one row that contains the facts of JSON output.
[[nodiscard]] Table table_of_json_facts(const Report& report);

/// Writes text output: the values of facts in one column, and tables as wide as their content.
/// Wraps lines at `columns`, if it is given.
void write_text(const Report& report, std::ostream& out, std::optional<std::size_t> columns = {});
/// Writes JSON output: one object with a member for each fact, an array of objects for each table,
/// `figures` with the data of each figure, and last `layout`, which contains the order, names and
/// styles with which parse_report() restores the report.
void write_json(const Report& report, std::ostream& out);
/// Forms of CSV output.
enum class CsvDialect {
  commas,     ///< commas, decimal points, all digits: pandas and most programs read it
  semicolons  ///< for spreadsheets whose decimal mark is a comma: semicolons, decimal commas,
              ///< numbers rounded as in text output, and a byte-order mark, without which Excel
              ///< misreads UTF-8
};
/// Writes CSV output with a header of keys. Strings that contain separators, quotes or line breaks
/// are quoted (RFC 4180), so that programs read them without options.
void write_csv(const Table& table, std::ostream& out, CsvDialect dialect = CsvDialect::commas);

/// Converts a JSON boolean, number or string; returns an unknown value for everything else.
[[nodiscard]] Value value_from_json(const Json& json);
/// Adds a row for each object of an array: its members by the keys of the columns, and unknown
/// values in columns for text output only. Throws Json::exception if an object lacks a member.
void add_rows(Table& table, const Json& rows);

/// Restores a report from the output of write_json(), without the columns for text output only.
/// Throws RunError, with a message that names `file`, if the text is not a report.
[[nodiscard]] Report parse_report(const std::string& file, const std::string& json);

/// Writes a report as one self-contained HTML page, which needs no network. Without JavaScript,
/// figures cannot be saved, and long tables contain only their first rows. Without gnuplot, the
/// page contains a note in place of the figures; returns false in this case. Throws RunError if
/// gnuplot fails.
[[nodiscard]] bool write_page(const Report& report, std::ostream& out);
/// Writes several reports, one after the other, as one HTML page.
[[nodiscard]] bool write_page(const std::string& title, const std::vector<Report>& reports,
                              std::ostream& out);
/// Returns the warning if write_page() has returned false.
[[nodiscard]] std::string missing_figures_warning(const std::filesystem::path& page);

/// Returns the style sheet of a page, which follows the reader's choice of light or dark mode,
/// including the figures.
[[nodiscard]] std::string page_css();
/// JavaScript of a page: saves figures, and sorts and pages through long tables.
extern const std::string_view page_script;

/// Escapes a text for HTML and XML, whatever it contains.
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace wallheat
