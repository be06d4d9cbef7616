#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
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

#include "wallheat/statistics.hpp"

namespace wallheat {

struct FieldPicture;

/// A value as it was computed, or nothing if nobody knows it: JSON has null for that, as for NaN
/// and infinity, and people read "-".
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

/// How people read a number. JSON and CSV have all its digits.
enum class ValueFormat {
  digits,      ///< `ValueStyle::digits` significant ones
  round_trip,  ///< as many as it takes to read the same number again, as Python prints it
  decimals,    ///< `ValueStyle::digits` behind the point
  seconds,     ///< five digits at least, never with an exponent
  duration,    ///< "3 min 20 s"
  bytes,       ///< "23.4 MB"
  time         ///< of a text like 2030-01-02T03:04:05.678Z: "2 Jan 2030, 03:04:05 UTC"
};
struct ValueStyle {
  ValueFormat form = ValueFormat::digits;
  int digits = 6;
  std::string unit = {};
};
/// For people: without control characters.
[[nodiscard]] std::string value_text(const Value& value, const ValueStyle& style = {});

/// A named value.
struct Fact {
  std::string key;   ///< in JSON; empty: for people only
  std::string name;  ///< for people, with blanks in front if it is a part of the fact before it;
                     ///< empty: in JSON only
  Value value;
  ValueStyle style = {};
  std::string suffix = {};  ///< stands behind the value, for people

  [[nodiscard]] bool is_in_text() const { return !name.empty() && value.is_known(); }
};

/// The same values of many things.
struct Table {
  using Row = std::vector<Value>;
  struct Column {
    std::string key;   ///< in JSON and CSV
    std::string name;  ///< for people, who see its unit behind it
    ValueStyle style = {};

    [[nodiscard]] bool is_in_json() const { return !key.empty(); }
    [[nodiscard]] bool is_in_text() const { return !name.empty(); }
    void hide() { name.clear(); }  ///< from people
  };
  std::string key, name;  ///< an empty name: no heading
  std::vector<Column> columns;
  std::vector<Row> rows = {};
  /// In place of `rows` if there may be millions. It hands over one after the other, and begins
  /// anew at each call.
  std::function<void(const std::function<void(const Row&)>& take)> row_source = {};
  std::size_t max_text_rows = std::numeric_limits<std::size_t>::max();  ///< rows, to people
  bool is_collapsed = false;  ///< on pages only, where its reader opens it

  void for_each(const std::function<void(const Row&)>& take) const;
  /// Whether people see any of its columns.
  [[nodiscard]] bool is_in_text() const;
  /// From people: all of it, or of the columns from one on those that hold nothing but this.
  void hide();
  void hide_constant_columns(const Value& nothing, std::size_t from = 0);
};
/// A column that people do not see.
[[nodiscard]] inline Table::Column json_only_column(std::string key) {
  return {std::move(key), ""};
}
/// A column that only people see.
[[nodiscard]] inline Table::Column text_only_column(std::string name, ValueStyle style = {}) {
  return {"", std::move(name), std::move(style)};
}

/// A sentence for people; of several lines: a listing.
struct Note {
  std::string text;
};

/// What is drawn over two axes.
struct Figure {
  enum class Mark { points, line, points_and_line, bars, rectangles };
  enum class Scale { linear, powers_of_2, powers_of_10 };
  struct Axis {
    std::string name = {};
    Scale scale = Scale::linear;
    std::vector<std::string> names = {};  ///< at 0, 1, 2, ... instead of numbers
    std::optional<double> from = {}, to = {};
  };
  struct Series {
    std::string name = {};  ///< empty: not in the legend
    Mark mark = Mark::points;
    std::vector<double> x = {}, y = {};    ///< NaN: not drawn
    std::vector<double> x_end = {};        ///< of bars and rectangles, which begin at x
    std::vector<double> y_end = {};        ///< of rectangles, which begin at y
    std::vector<std::string> labels = {};  ///< above the points
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
  bool is_sequential = false;  ///< the series are steps of one quantity, from little to much
  /// Drawn in place of series, and not in JSON.
  std::shared_ptr<const FieldPicture> fields = {};
  std::string svg = {};  ///< a whole picture that is there already; the same

  /// A line from one y to another.
  void add_vertical_line(std::string of, double at, double bottom, double top,
                         bool is_dashed = true) {
    series.push_back({.name = std::move(of),
                      .mark = Mark::line,
                      .x = {at, at},
                      .y = {bottom, top},
                      .is_dashed = is_dashed});
  }
};

/// All that a command tells, once, in the order in which people read it. Keys of one report differ.
struct Report {
  std::string title = {};      ///< of its page
  std::string csv_table = {};  ///< the key of the one that CSV has; empty: the first
  std::vector<std::variant<Fact, Table, Note, Figure>> elements = {};
  /// Makes what its page shows, if that is more than this.
  std::function<Report()> for_page = {};
  int exit_status = 0;     ///< an ExitStatus
  std::string error = {};  ///< printed on stderr after everything else; empty: none

  template <class Part>
  Part& add(Part part) {
    return std::get<Part>(elements.emplace_back(std::move(part)));
  }
  /// A fact; for people only if its value is known.
  void add_fact(std::string key, std::string name, Value value, ValueStyle style = {},
                std::string more = {}) {
    add(Fact{std::move(key), std::move(name), std::move(value), std::move(style), std::move(more)});
  }
  /// A fact that only scripts read, or only people.
  void add_json_fact(std::string key, Value value) {
    add_fact(std::move(key), "", std::move(value));
  }
  void add_text_fact(std::string name, Value value, std::string more = {}) {
    add_fact("", std::move(name), std::move(value), {}, std::move(more));
  }
  void add_note(std::string text) { add(Note{std::move(text)}); }
  /// ", 12.3 %" of a whole; for Fact::more.
  [[nodiscard]] static std::string share(double part, double whole);
  /// What CSV has; null if there is no table.
  [[nodiscard]] const Table* csv_table_or_null() const;
  /// The first one of its kind; null if there is none.
  template <class Part>
  [[nodiscard]] const Part* first() const {
    for (const auto& part : elements)
      if (const auto* found = std::get_if<Part>(&part)) return found;
    return nullptr;
  }
};

/// Under the key of a fact; nothing if there is none.
[[nodiscard]] Value value_of(const Report& report, const std::string& key);

/// For people: facts with their values in one column, tables as wide as what stands in them. Lines
/// are folded at `columns`, if it is given.
void write_text(const Report& report, std::ostream& out, std::optional<std::size_t> columns = {});
/// One object: a member for each fact, an array of objects for each table, `figures` with the data
/// of each figure, and last `layout`: the order, names and styles, by which parse_report() finds
/// the report again.
void write_json(const Report& report, std::ostream& out);
/// With a line of keys; texts with commas, quotes or ends of lines are quoted (RFC 4180), as
/// spreadsheets and pandas read them without options.
void write_csv(const Table& table, std::ostream& out);

/// The report that write_json() wrote, without the columns that only people see. Throws RunError,
/// which names the file, if the text is none.
[[nodiscard]] Report parse_report(const std::string& file, const std::string& json);

/// Writes one self-contained HTML page of a report, which needs no network. Without JavaScript,
/// figures cannot be saved and only the first rows of long tables are there; without gnuplot, there
/// are no figures, and the page says so. Throws RunError if gnuplot fails.
void write_page(const Report& report, std::ostream& out);
/// One of several reports, below each other.
void write_page(const std::string& title, const std::vector<Report>& reports, std::ostream& out);

/// The style of a page, which follows the reader's choice of light or dark, figures included.
[[nodiscard]] std::string page_css();
/// What a page does with JavaScript: figures are saved, long tables are sorted and turned page by
/// page.
extern const std::string_view page_script;

/// Text as it stands in HTML and XML, whatever it holds.
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace wallheat
