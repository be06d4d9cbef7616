#include "report/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/version.hpp"
#include "report/figure.hpp"
#include "report/html.hpp"

namespace wallheat {
namespace {

std::string html_of(const Table& of) {
  if (!of.is_for_people()) return "";
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& [key, name, style] : of.columns)
    if (!name.empty()) rows.front().push_back(style.unit.empty() ? name : name + ", " + style.unit);
  if (rows.front().empty()) return "";
  std::string alignment(rows.front().size(), 'r');
  of.for_each([&](const Table::Row& row) {
    if (rows.size() > of.most_shown) return;
    auto& line = rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto& [key, name, style] = of.columns.at(i);
      if (name.empty()) continue;
      if (std::holds_alternative<std::string>(row[i])) alignment[line.size()] = 'l';
      line.push_back(text_of(row[i], {style.form, style.digits, {}}));
    }
  });
  if (rows.size() == 1) return "";
  const std::string html = table(alignment, rows);
  return of.name.empty() ? html : section(of.name, html);
}

/// Whether there is a picture of it.
bool has_picture(const Report& report, const Table& table) {
  return std::ranges::any_of(report.parts, [&](const auto& part) {
    const auto* const figure = std::get_if<Figure>(&part);
    return figure != nullptr && figure->key == table.key;
  });
}

void write_parts(const Report& report, std::ostream& out) {
  std::vector<std::vector<std::string>> facts;
  const auto put_facts = [&] {
    if (facts.size() > 1) out << table("ll", facts);
    facts = {{"", ""}};
  };
  put_facts();
  for (const auto& part : report.parts) {
    if (const auto* fact = std::get_if<Fact>(&part)) {
      if (!fact->name.empty() && fact->value.is_known())
        facts.push_back({fact->name, text_of(fact->value, fact->style) + fact->more});
      continue;
    }
    put_facts();
    if (const auto* of = std::get_if<Table>(&part); of && !has_picture(report, *of))
      out << html_of(*of);
    if (const auto* note = std::get_if<Note>(&part))
      out << fmt::format("<p>{}</p>\n", escaped(note->text));
    constexpr int height = 480;
    if (const auto* figure = std::get_if<Figure>(&part))
      out << section(figure->name, inline_svg(draw(*figure, PlotFormat::svg, {"", 900, height})));
  }
  put_facts();
}

void end_page(std::ostream& out) {
  out << fmt::format("<p class=small>wallheat {}</p>\n", version()) << page_end();
}

}  // namespace

void write_page(const Report& report, std::ostream& out) {
  if (report.own_page) return report.own_page(out);
  out << page_beginning(report.title);
  write_parts(report, out);
  end_page(out);
}

void write_page(const std::string& title, const std::vector<Report>& reports, std::ostream& out) {
  out << page_beginning(title);
  for (const Report& report : reports) {
    out << fmt::format("<h1>{}</h1>\n", escaped(report.title));
    write_parts(report, out);
  }
  end_page(out);
}

}  // namespace wallheat
