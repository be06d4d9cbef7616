#include <cmath>
#include <ostream>

#include "core/python_float.hpp"
#include "report/report.hpp"
#include "view/json.hpp"

namespace wallheat {
namespace {

Json json_value(const Value& value) {
  return std::visit(
      []<class T>(const T& known) {
        if constexpr (std::is_same_v<T, std::monostate>)
          return Json();
        else
          return Json(known);
      },
      value);
}

/// Members of an object, one after the other, as there may be too many for memory.
class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}
  void key(const std::string& name) {
    out_ << (any_ ? ",\n " : "{\n ") << json_line(name) << ": ";
    any_ = true;
  }
  void member(const std::string& name, const Json& value) {
    key(name);
    out_ << json_line(value);
  }
  void member(const Table& table) {
    key(table.key);
    const char* separator = "[\n  ";
    table.for_each([&](const Table::Row& row) {
      out_ << std::exchange(separator, ",\n  ");
      const char* comma = "{";
      for (std::size_t i = 0; i < row.size(); ++i)
        if (const std::string& name = table.columns.at(i).key; !name.empty())
          out_ << std::exchange(comma, ", ") << json_line(name) << ": "
               << json_line(json_value(row[i]));
      out_ << '}';
    });
    out_ << (*separator == '[' ? "[]" : "\n ]");
  }
  void end() { out_ << (any_ ? "\n}\n" : "{}\n"); }

 private:
  std::ostream& out_;
  bool any_ = false;
};

// The layout: an array for each part.

Json layout_of(const Style& style) {
  return {static_cast<int>(style.form), style.digits, style.unit};
}
Json layout_of(const Figure::Axis& axis) {
  return {axis.name, static_cast<int>(axis.scale), axis.names};
}
Json layout_of(const Fact& fact) {
  Json layout{"fact", fact.key, fact.name, layout_of(fact.style), fact.more};
  if (fact.key.empty()) layout.push_back(json_value(fact.value));
  return layout;
}
Json layout_of(const Table& table) {
  Json columns = Json::array();
  for (const auto& [key, name, style] : table.columns)
    if (!key.empty()) columns.push_back({key, name, layout_of(style)});
  const auto most = static_cast<std::int64_t>(table.most_shown);  // -1: all
  return {"table", table.key, table.name, most, std::move(columns), table.is_folded};
}
Json layout_of(const Note& note) { return {"note", note.text}; }
Json layout_of(const Figure& figure) {
  Json marks = Json::array();
  for (const Figure::Series& series : figure.series)
    marks.push_back({static_cast<int>(series.mark), series.labels, series.is_dashed});
  return {"figure",         figure.key,      figure.name, layout_of(figure.x), layout_of(figure.y),
          std::move(marks), figure.is_graded};
}

Json json_value(const Figure& figure) {
  Json series = Json::array();
  for (const Figure::Series& one : figure.series) {
    Json data{{"name", one.name}, {"x", one.x}, {"y", one.y}};
    if (!one.x_end.empty()) data["x_end"] = one.x_end;
    if (!one.y_end.empty()) data["y_end"] = one.y_end;
    series.push_back(std::move(data));
  }
  return series;
}

/// A text as a cell of CSV (RFC 4180).
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted.append(letter == '"' ? 2 : 1, letter);
  return quoted + '"';
}

std::string csv_field(const Value& value) {
  if (const auto* number = std::get_if<double>(&value))
    return std::isnan(*number) ? "" : python_float(*number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* is = std::get_if<bool>(&value)) return *is ? "true" : "false";
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : csv_cell(*text);
}

}  // namespace

const Table* Report::table_of_csv() const {
  for (const auto& part : parts)
    if (const auto* table = std::get_if<Table>(&part);
        table && (csv_table.empty() || table->key == csv_table))
      return table;
  return nullptr;
}

void write_json(const Report& report, std::ostream& out) {
  JsonWriter json(out);
  Json figures = Json::object();
  for (const auto& part : report.parts) {
    if (const auto* fact = std::get_if<Fact>(&part); fact && !fact->key.empty())
      json.member(fact->key, json_value(fact->value));
    if (const auto* table = std::get_if<Table>(&part); table && !table->key.empty())
      json.member(*table);
    if (const auto* figure = std::get_if<Figure>(&part); figure && !figure->fields)
      figures[figure->key] = json_value(*figure);
  }
  if (!figures.empty()) json.member("figures", figures);
  if (!report.parts.empty()) {
    Json layout = Json::array({report.title});
    for (const auto& part : report.parts)
      if (const auto* figure = std::get_if<Figure>(&part); !figure || !figure->fields)
        layout.push_back(std::visit([](const auto& one) { return layout_of(one); }, part));
    json.member("layout", layout);
  }
  json.end();
}

void write_csv(const Table& table, std::ostream& out) {
  const auto write_line = [&](const auto& cell_of) {
    const char* separator = "";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (!table.columns[i].key.empty()) out << std::exchange(separator, ",") << cell_of(i);
    out << '\n';
  };
  write_line([&](std::size_t i) { return table.columns[i].key; });
  table.for_each([&](const Table::Row& row) {
    write_line([&](std::size_t i) { return csv_field(row.at(i)); });
  });
}

}  // namespace wallheat
