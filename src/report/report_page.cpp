#include "report/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/printable.hpp"
#include "core/version.hpp"
#include "report/figure.hpp"
#include "report/page_style.hpp"

namespace wallheat {
namespace {

/// The <svg> of each figure that shows something; none if gnuplot is not installed.
using Svgs = std::map<const Figure*, std::string>;

std::optional<Svgs> svgs_of(const std::vector<const Report*>& reports) {
  std::vector<const Figure*> figures;
  std::vector<Plot> plots;
  for (const Report* report : reports)
    for (const auto& part : report->parts)
      if (const auto* figure = std::get_if<Figure>(&part))
        if (auto plot = plot_of(*figure)) {
          figures.push_back(figure);
          plots.push_back(*std::move(plot));
        }
  auto drawn = Plot::draw_svgs(plots);
  if (!drawn) return std::nullopt;
  Svgs svgs;
  for (std::size_t i = 0; i < figures.size(); ++i) svgs.emplace(figures[i], std::move((*drawn)[i]));
  return svgs;
}

class PageWriter {
 public:
  PageWriter(const std::string& title, const std::vector<const Report*>& reports, std::ostream& out)
      : svgs_(svgs_of(reports)), out_(out) {
    const std::string name = escaped(title);
    out_ << "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'; script-src 'nonce-wallheat'; img-src data:\">\n"
            "<meta name=viewport content=\"width=device-width\">\n<title>"
         << name << "</title>\n<style>" << page_style() << "</style></head>\n<body>\n<h1>" << name
         << "</h1>\n";
  }

  void write(const Report& report) {
    for (const auto& part : report.parts) {
      const auto* const fact = std::get_if<Fact>(&part);
      if (fact == nullptr) end_facts();
      std::visit([&](const auto& one) { write_part(one, report); }, part);
    }
    end_facts();
  }
  void heading(const std::string& text) { out_ << "<h1>" << escaped(text) << "</h1>\n"; }
  void end() {
    if (!svgs_)
      out_ << "<p>The figures are missing: gnuplot, which draws them, is not installed where this "
              "page was made (Debian: gnuplot-nox).</p>\n";
    out_ << "<p class=small>wallheat " << escaped(version()) << "</p>\n<script nonce=wallheat>"
         << page_script << "</script>\n</body></html>\n";
  }

 private:
  void write_part(const Fact& fact, const Report&) {
    if (fact.name.empty() || !fact.value.is_known()) return;
    if (!std::exchange(are_facts_, true)) out_ << "<table class=facts>";
    write_row("td", {fact.name, text_of(fact.value, fact.style) + fact.more}, "ll");
  }
  void write_part(const Note& note, const Report&) {
    const char* tag = note.text.find('\n') == std::string::npos ? "p" : "pre class=scroll";
    out_ << '<' << tag << '>';
    // Its ends of lines are no control characters that a text may hide.
    const char* separator = "";
    for (std::size_t at = 0; at <= note.text.size();) {
      const std::size_t end = std::min(note.text.find('\n', at), note.text.size());
      out_ << std::exchange(separator, "\n") << escaped(note.text.substr(at, end - at));
      at = end + 1;
    }
    out_ << "</" << std::string_view(tag).substr(0, tag[1] == 'r' ? 3 : 1) << ">\n";
  }
  void write_part(const Figure& figure, const Report&) {
    if (!svgs_) return;
    const auto found = svgs_->find(&figure);
    if (found == svgs_->end()) return;
    std::string svg = found->second;
    // gnuplot's own title says that gnuplot drew it.
    if (const auto end = svg.find("</desc>"); end != std::string::npos)
      svg.erase(svg.find("<title>"), end + 7 - svg.find("<title>"));
    out_ << fmt::format(
        "<section><h2>{}</h2>\n<div class=\"plot scroll\" tabindex=0><svg role=img "
        "aria-label=\"{}\"{}</div></section>\n",
        escaped(figure.name), escaped(alternative_text(figure)), svg.substr(4));
  }
  void write_part(const Table& table, const Report& report) {
    if (!table.is_for_people() || has_picture(report, table)) return;
    constexpr std::size_t most_rows = 200;  // of those that may be millions
    constexpr std::size_t most_bytes = 8 << 20;
    const std::size_t most =
        std::min(table.most_shown, table.source ? most_rows : std::string::npos);
    std::vector<std::vector<std::string>> rows(1);
    for (const auto& [key, name, style] : table.columns)
      if (!name.empty())
        rows.front().push_back(style.unit.empty() ? name : name + ", " + style.unit);
    std::string alignment(rows.front().size(), 'r');
    std::string lines;  // of all rows
    std::size_t written = 0;
    std::size_t all = 0;
    table.for_each([&](const Table::Row& row) {
      if (++all > most && (!table.source || lines.size() > most_bytes)) return;
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto& [key, name, style] = table.columns.at(i);
        if (name.empty()) continue;
        if (std::holds_alternative<std::string>(row[i])) alignment[cells.size()] = 'l';
        cells.push_back(text_of(row[i], {style.form, style.digits, {}}));
      }
      if (table.source) {
        const char* separator = "";
        for (const std::string& cell : cells)
          lines += std::exchange(separator, "\t") + escaped(cell);
        lines += '\n';
        ++written;
      }
      if (all <= most) rows.push_back(std::move(cells));
    });
    if (all == 0) return;
    const std::string name = escaped(table.name);
    const bool is_long = all > most && table.source;
    out_ << (table.source ? "<section class=long>" : "<section>");
    if (table.is_folded)
      out_ << "<details><summary>" << name << "</summary>\n";
    else if (!name.empty())
      out_ << "<h2>" << name << "</h2>\n";
    if (is_long)
      out_ << fmt::format(
          "<p class=first>The first {} of {}; with JavaScript the page shows and sorts {}.</p>\n",
          most, all, written);
    if (is_long && written < all)
      out_ << fmt::format("<p>This page has room for {} of {}.</p>\n", written, all);
    out_ << "<div class=scroll tabindex=0><table>";
    for (const auto& row : rows) write_row(&row == rows.data() ? "th" : "td", row, alignment);
    out_ << "</table></div>\n";
    if (!table.source && all > most) out_ << fmt::format("<p>and {} more</p>\n", all - most);
    if (table.source) out_ << "<pre hidden>\n" << lines << "</pre>";
    out_ << (table.is_folded ? "</details></section>\n" : "</section>\n");
  }

  /// Whether there is a picture of it.
  [[nodiscard]] bool has_picture(const Report& report, const Table& table) const {
    return svgs_ && std::ranges::any_of(report.parts, [&](const auto& part) {
             const auto* const figure = std::get_if<Figure>(&part);
             return figure != nullptr && figure->key == table.key && svgs_->contains(figure);
           });
  }
  void end_facts() {
    if (std::exchange(are_facts_, false)) out_ << "</table>\n";
  }
  void write_row(const char* tag, const std::vector<std::string>& cells,
                 std::string_view alignment) {
    out_ << "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i)
      out_ << '<' << tag << (alignment[i] == 'r' ? " class=r>" : ">") << escaped(cells[i]);
    out_ << '\n';
  }

  std::optional<Svgs> svgs_;
  std::ostream& out_;
  bool are_facts_ = false;
};

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char letter : printable(text)) {
    switch (letter) {
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '&':
        html += "&amp;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += letter;
    }
  }
  return html;
}

void write_page(const Report& report, std::ostream& out) {
  const Report page = report.for_page ? report.for_page() : report;
  PageWriter writer(page.title, {&page}, out);
  writer.write(page);
  writer.end();
}

void write_page(const std::string& title, const std::vector<Report>& reports, std::ostream& out) {
  std::vector<const Report*> all;
  for (const Report& report : reports) all.push_back(&report);
  PageWriter writer(title, all, out);
  for (const Report& report : reports) {
    writer.heading(report.title);
    writer.write(report);
  }
  writer.end();
}

}  // namespace wallheat
