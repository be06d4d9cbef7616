#include <fmt/format.h>

#include "report/not_known.hpp"
#include "report/report.hpp"
#include "view/json.hpp"
#include "wallheat/error.hpp"

// A report from its JSON. What is not there or is of another kind throws Json::exception.

namespace wallheat {
namespace {

Value value_in(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

std::vector<double> numbers_in(const Json& json) {
  std::vector<double> numbers;
  for (const Json& number : json)
    numbers.push_back(number.is_null() ? not_known : number.get<double>());
  return numbers;
}

/// One of an enumeration whose last is `most`.
template <class T>
T kind_in(const Json& json, T most) {
  const int kind = json.get<int>();
  if (kind < 0 || kind > static_cast<int>(most)) throw RunError("its layout is of another version");
  return static_cast<T>(kind);
}

Style style_in(const Json& layout) {
  return {kind_in(layout.at(0), Form::time), layout.at(1), layout.at(2)};
}

Figure::Axis axis_in(const Json& layout) {
  return {layout.at(0), kind_in(layout.at(1), Figure::Scale::time), layout.at(2)};
}

Fact fact_in(const Json& json, const Json& layout) {
  const std::string key = layout.at(1);
  return {key, layout.at(2), value_in(key.empty() ? layout.at(5) : json.at(key)),
          style_in(layout.at(3)), layout.at(4)};
}

Table table_in(const Json& json, const Json& layout) {
  Table table{layout.at(1), layout.at(2), {}};
  table.most_shown = static_cast<std::size_t>(layout.at(3).get<std::int64_t>());
  table.is_folded = layout.at(5);
  for (const Json& column : layout.at(4))
    table.columns.push_back({column.at(0), column.at(1), style_in(column.at(2))});
  for (const Json& object : json.at(table.key)) {
    Table::Row& row = table.rows.emplace_back();
    for (const Table::Column& column : table.columns)
      row.push_back(value_in(object.at(column.key)));
  }
  return table;
}

Figure figure_in(const Json& json, const Json& layout) {
  Figure figure{layout.at(1), layout.at(2), axis_in(layout.at(3)), axis_in(layout.at(4))};
  const Json& data = json.at("figures").at(figure.key);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Json& series = data.at(i);
    const Json& look = layout.at(5).at(i);
    figure.series.push_back({series.at("name"), kind_in(look.at(0), Figure::Mark::rectangles),
                             numbers_in(series.at("x")), numbers_in(series.at("y")),
                             numbers_in(series.value("x_end", Json::array())),
                             numbers_in(series.value("y_end", Json::array())), look.at(1),
                             look.at(2)});
  }
  figure.is_graded = layout.at(6);
  return figure;
}

}  // namespace

Report report_in(const std::string& file, const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const Json& layout = json.at("layout");
    Report report{layout.at(0)};
    for (std::size_t i = 1; i < layout.size(); ++i) {
      const std::string kind = layout[i].at(0);
      if (kind == "fact") report.add(fact_in(json, layout[i]));
      if (kind == "table") report.add(table_in(json, layout[i]));
      if (kind == "note") report.add_note(layout[i].at(1));
      if (kind == "figure") report.add(figure_in(json, layout[i]));
    }
    return report;
  } catch (const Json::exception&) {
    throw RunError(file + " is not what 'wallheat COMMAND --json' printed");
  } catch (const RunError& error) {
    throw RunError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace wallheat
