#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/program.hpp"
#include "core/text.hpp"
#include "report/gnuplot.hpp"
#include "report/report.hpp"
#include "view/time_text.hpp"

namespace wallheat {

namespace {

// Elements that scroll have a shadow at the side where there is more. Figures keep their size on a
// phone, so that their texts are readable. Nothing scrolls on paper: there, the font of a table
// shrinks with its number of columns, and texts are wrapped. In a table with so many columns that
// its font would be unreadable, numbers are wrapped, too. A table of two columns contains
// properties and values: it fits on a phone if its texts are wrapped.
constexpr std::string_view rules =
    R"(body{font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--ground);margin:2em auto;max-width:960px;padding:0 1em}
h1{font-size:1.5em;overflow-wrap:anywhere}h2{font-size:1.35em;margin-top:2em;overflow-wrap:anywhere}
section>h2,section>h3{font-size:1.15em;margin-top:2em;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
section>h2::first-letter,section>h3::first-letter,summary::first-letter{text-transform:uppercase}summary{cursor:pointer;margin:1em 0}
.scroll{overflow-x:auto;margin:.6em 0;background:linear-gradient(to right,var(--ground) 40%,transparent) 0/60px 100%,
linear-gradient(to left,var(--ground) 40%,transparent) 100%/60px 100%,linear-gradient(to right,var(--shadow),transparent) 0/18px 100%,
linear-gradient(to left,var(--shadow),transparent) 100%/18px 100%;background-repeat:no-repeat;background-attachment:local,local,scroll,scroll}
table{border-collapse:collapse}td,th{padding:.15em .8em .15em 0;vertical-align:top;font-weight:400;white-space:pre-wrap}
th{color:var(--faint);text-align:left;vertical-align:bottom}.r{text-align:right;font-variant-numeric:tabular-nums}p{overflow-wrap:anywhere}
table:not(.facts) td{white-space:pre}.pairs table td{white-space:pre-wrap;overflow-wrap:break-word}.pairs table td:last-child{overflow-wrap:anywhere}.facts td{overflow-wrap:anywhere}.facts td:first-child{min-width:9em}
.plot svg{display:block}.plot image{image-rendering:pixelated}.plot [fill=black]{fill:var(--text)}.plot [color=black]{color:var(--text)}
button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-decoration:underline dotted}
button[disabled]{opacity:.4;cursor:default}.save{color:var(--faint);font-size:.85em;margin:.2em 0}.save button{margin-right:.8em}
p.small{color:var(--faint);font-size:.85em}@page{size:A4;margin:14mm}@media print{section{break-inside:avoid}.long{break-inside:auto}body{margin:0}.save button{display:none}.plot svg{max-width:100%;height:auto}
.scroll{overflow:visible;background:none}pre.scroll{white-space:pre-wrap;overflow-wrap:anywhere}
.scroll table{font-size:calc(1em*max(.42,min(.85,8.5/var(--columns))))}.scroll td,.scroll th{white-space:pre-wrap;padding-right:.5em}
table:not(.facts) td:not(.r){white-space:pre-wrap;overflow-wrap:anywhere;min-width:6ch}.scroll td.r{white-space:nowrap}
.wide td.r{white-space:pre-wrap;overflow-wrap:anywhere}.scroll th{overflow-wrap:anywhere}.scroll th button{text-decoration:none;text-align:inherit}})";

/// Returns a colour in gnuplot's notation for lines and areas, or for texts.
std::string rgb(unsigned colour, bool is_of_text) {
  const unsigned red = colour >> 16U;
  const unsigned green = colour >> 8U & 0xFFU;
  const unsigned blue = colour & 0xFFU;
  return is_of_text ? fmt::format("rgb({},{},{})", red, green, blue)
                    : fmt::format("rgb({:3}, {:3}, {:3})", red, green, blue);
}

}  // namespace

std::string page_css() {
  std::string light = "--ground:#fff;--shadow:#0003";
  std::string dark = "--ground:#16181d;--shadow:#fff4";
  std::string of_figures;
  for (const Colour& colour : colours) {
    light += fmt::format(";--{}:#{:06x}", colour.name, colour.light);
    dark += fmt::format(";--{}:#{:06x}", colour.name, colour.dark);
    for (const char* attribute : {"stroke", "fill", "color"})
      for (const bool is_of_text : {false, true})
        of_figures += fmt::format(".plot [{0}='{1}']{{{0}:var(--{2})}}", attribute,
                                  rgb(colour.light, is_of_text), colour.name);
  }
  return fmt::format(
      ":root{{color-scheme:light dark;{}}}\n@media screen and "
      "(prefers-color-scheme:dark){{:root{{{}}}}}\n{}\n{}",
      light, dark, rules, of_figures);
}

const std::string_view page_script = R"(
(() => {
  const button = (parent, text, act) => {
    const made = parent.appendChild(document.createElement('button'));
    made.textContent = text;
    made.addEventListener('click', act);
    return made;
  };
  const line_of_buttons = place => {
    const line = Object.assign(document.createElement('p'), {className: 'save'});
    place(line);
    return line;
  };
  // A page that its program should have replaced several times, with a margin for other clocks.
  const updated = document.getElementById('updated');
  if (updated) {
    const interval = Number(document.querySelector('meta[http-equiv=refresh]').content);
    const age = (Date.now() - Date.parse(updated.querySelector('time').dateTime)) / 1000;
    if (age > 60 + 3 * interval) updated.append(` It is out of date: it was not replaced for ${
      Math.round(age / 60)} min, so 'wallheat status' has probably been stopped.`);
  }
  document.querySelectorAll('.plot').forEach((plot, number) => {
    const svg = plot.querySelector('svg');
    button(line_of_buttons(line => plot.after(line)), 'Save as SVG', () => Object.assign(document.createElement('a'), {
      href: 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(new XMLSerializer().serializeToString(svg)),
      download: `figure-${number + 1}.svg`}).click());
  });
  // Long tables: lines of text, of which only those that are shown become rows.
  document.querySelectorAll('.long').forEach(section => {
    const lines = section.querySelector('pre').textContent.trim().split('\n');
    const table = section.querySelector('table');
    const heads = [...table.querySelectorAll('th')];
    const page = 200;
    const order = Uint32Array.from(lines, (line, i) => i);
    let from = 0, sorted = -1, down = false;
    const line = line_of_buttons(line => section.querySelector('.scroll').before(line));
    line.hidden = lines.length <= page;
    section.querySelector('.first')?.remove();
    const place = line.appendChild(document.createElement('span'));
    const turn = pages => { from += pages * page; show(); };
    const back = button(line, 'Previous', () => turn(-1));
    const on = button(line, 'Next', () => turn(1));
    const show = () => {
      while (table.rows.length > 1) table.deleteRow(1);
      for (const i of order.subarray(from, from + page)) {
        const row = table.insertRow();
        lines[i].split('\t').forEach((text, column) =>
          Object.assign(row.insertCell(), {textContent: text, className: heads[column].className}));
      }
      place.textContent = `${from + 1} to ${Math.min(from + page, lines.length)} of ${lines.length} `;
      back.disabled = from === 0;
      on.disabled = from + page >= lines.length;
      heads.forEach((head, column) => head.ariaSort =
        column !== sorted ? 'none' : down ? 'descending' : 'ascending');
    };
    const texts = new Intl.Collator(undefined, {numeric: true});
    heads.forEach((head, column) => {
      const name = head.textContent;
      head.textContent = '';
      button(head, name, () => {
        down = sorted === column && !down;
        sorted = column;
        from = 0;
        const keys = lines.map(text => text.split('\t')[column]);
        const sign = down ? -1 : 1;
        // Rows without a value come last in both directions.
        order.sort(head.className === 'r'
          ? (a, b) => isNaN(keys[a]) - isNaN(keys[b]) || sign * (keys[a] - keys[b]) || a - b
          : (a, b) => sign * texts.compare(keys[a], keys[b]) || a - b);
        show();
      });
    });
    show();
  });
})();
)";

namespace {

/// The <svg> element of each figure that has data.
using Svgs = std::map<const Figure*, std::string>;

std::optional<Svgs> svgs_of(const std::vector<const Report*>& reports) {
  Svgs svgs;
  std::vector<const Figure*> figures;
  std::vector<Plot> plots;
  for (const Report* report : reports)
    for (const auto& part : report->elements) {
      const auto* figure = std::get_if<Figure>(&part);
      if (figure == nullptr) continue;
      if (!figure->svg.empty()) svgs.emplace(figure, figure->svg);
      if (auto plot = make_plot(*figure)) {
        figures.push_back(figure);
        plots.push_back(*std::move(plot));
      }
    }
  auto drawn = Plot::draw_svgs(plots);
  if (!drawn) return std::nullopt;
  for (std::size_t i = 0; i < figures.size(); ++i) svgs.emplace(figures[i], std::move((*drawn)[i]));
  return svgs;
}

class PageWriter {
 public:
  PageWriter(const std::string& title, const std::string& byline,
             const std::vector<const Report*>& reports, std::ostream& out,
             std::optional<double> reload_s = {})
      : svgs_(svgs_of(reports)), title_(title), out_(out) {
    out_ << "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'; script-src 'nonce-wallheat'; img-src data:\">\n"
            "<meta name=viewport content=\"width=device-width\">\n";
    // The interval in HTML is a whole number of seconds.
    if (reload_s)
      out_ << fmt::format("<meta http-equiv=refresh content={:.0f}>\n",
                          std::max(1.0, std::ceil(*reload_s)));
    out_ << "<title>" << escape_html(title) << "</title>\n<style>" << page_css()
         << "</style></head>\n<body>\n<h1>" << escape_html(title) << "</h1>\n";
    if (!byline.empty()) out_ << "<p class=small>" << escape_html(byline) << "</p>\n";
    if (reload_s)
      out_ << fmt::format(
          "<p class=small id=updated>Updated <time datetime={0}>{0}</time>. This page reloads "
          "itself every {1}.</p>\n",
          utc_now(), duration_text(*reload_s));
  }

  /// Writes a report below a heading, or without one if `heading` is empty.
  void write(const Report& report, const std::string& heading = {}) {
    if (!heading.empty()) out_ << "<h2>" << escape_html(heading) << "</h2>\n";
    section_heading_ = heading.empty() ? "h2" : "h3";
    for (const auto& part : report.elements) {
      if (!std::holds_alternative<Fact>(part)) end_facts();
      std::visit([&](const auto& one) { write_part(one, report); }, part);
    }
    end_facts();
  }
  /// Returns false if gnuplot was not found, which draws the figures.
  bool end() {
    if (!svgs_)
      out_ << "<p>The figures are missing, because gnuplot was not installed where this page was "
              "created (Debian: gnuplot-nox).</p>\n";
    out_ << "<p class=small>Model of all temperatures: heat conduction in two dimensions between "
            "walls at fixed temperatures, without air, insulation, windows or heating "
            "power.</p>\n<p class=small>wallheat "
         << escape_html(version()) << "</p>\n<script nonce=wallheat>" << page_script
         << "</script>\n</body></html>\n";
    return svgs_.has_value();
  }

 private:
  void write_part(const Fact& fact, const Report&) {
    if (!fact.is_in_text()) return;
    if (!std::exchange(are_facts_, true)) out_ << "<table class=facts>";
    out_ << "<tr><td>" << escape_html(fact.name) << "<td>"
         << escape_html(value_text(fact.value, fact.style) + fact.suffix) << '\n';
  }
  void write_part(const Note& note, const Report&) {
    if (note.text == title_) return;
    const bool is_listing = note.text.find('\n') != std::string::npos;
    out_ << (is_listing ? "<pre class=scroll>" : "<p>");
    // Split the note first, because escape_html() would escape its line breaks.
    std::istringstream lines(note.text);
    const char* separator = "";
    for (std::string line; std::getline(lines, line);)
      out_ << std::exchange(separator, "\n") << escape_html(line);
    out_ << (is_listing ? "</pre>\n" : "</p>\n");
  }
  void write_part(const Figure& figure, const Report&) {
    if (!svgs_ || !svgs_->contains(&figure)) return;
    std::string svg = svgs_->at(&figure);
    svg.erase(0, svg.find("<svg") + 4);
    const auto cut = [&](const char* begin, const std::string& end) {
      const std::size_t from = svg.find(begin);
      const std::size_t to = svg.find(end, from);
      if (to < svg.size()) svg.erase(from, to + end.size() - from);
    };
    cut("<title>", "</desc>");  // these elements name gnuplot as the author
    // Remove the background, because the page has one.
    if (!figure.svg.empty()) cut("<rect ", "/>");
    out_ << fmt::format(
        "<section>{}<div class=\"plot scroll\" tabindex=0><svg role=img "
        "aria-label=\"{}\"{}</div></section>\n",
        section_heading(figure.name), escape_html(alt_text(figure)), svg);
  }
  void write_part(const Table& table, const Report& report) {
    if (!table.is_in_text() || has_picture(report, table)) return;
    // A table that may have millions of rows has its first rows as HTML, and all rows, up to a
    // limit, as lines of text.
    const bool is_long = table.row_source != nullptr;
    constexpr std::size_t max_rows = 200;
    constexpr std::size_t max_bytes = 8 << 20;
    const std::size_t max = is_long ? max_rows : table.max_text_rows;
    std::string lines;
    std::size_t all = 0;
    std::size_t kept = 0;
    table.for_each([&](const Table::Row& row) {
      if (all++ == 0) begin_table(table, row);
      const bool has_room = is_long && lines.size() < max_bytes;
      if (all > max && !has_room) return;
      if (all <= max) out_ << "<tr>";
      const char* separator = "";
      for (std::size_t i = 0; i < row.size(); ++i) {
        const Table::Column& column = table.columns.at(i);
        if (!column.is_in_text()) continue;
        const ValueStyle bare{column.style.form,
                              column.style.digits};  // the unit is in the heading
        const std::string text = escape_html(value_text(row[i], bare));
        if (all <= max) out_ << cell("td", row[i]) << text;
        if (has_room) lines += std::exchange(separator, "\t") + text;
      }
      if (all <= max) out_ << '\n';
      if (has_room) lines += '\n', ++kept;
    });
    if (all == 0) return;
    out_ << "</table></div>\n";
    if (all > max && !is_long) out_ << fmt::format("<p>and {} more</p>\n", all - max);
    if (all > max && is_long)
      out_ << fmt::format(
          "<p class=first>The first {} of {}; with JavaScript the page shows and sorts {}.</p>\n",
          max, all, kept);
    if (is_long && kept < all)
      out_ << fmt::format("<p>This page contains only {} of {}.</p>\n", kept, all);
    if (is_long) out_ << "<pre hidden>\n" << lines << "</pre>";
    out_ << (table.is_collapsed ? "</details></section>\n" : "</section>\n");
  }
  void begin_table(const Table& table, const Table::Row& first) {
    out_ << (table.row_source ? "<section class=long>" : "<section>");
    if (table.is_collapsed)
      out_ << "<details><summary>" << escape_html(table.name) << "</summary>\n";
    else if (!table.name.empty())
      out_ << section_heading(table.name);
    const auto columns = std::ranges::count_if(table.columns, &Table::Column::is_in_text);
    constexpr std::ptrdiff_t max_readable_columns = 20;
    out_ << fmt::format("<div class=\"scroll{}\" tabindex=0><table style=\"--columns:{}\"><tr>",
                        columns == 2                     ? " pairs"
                        : columns > max_readable_columns ? " wide"
                                                         : "",
                        columns);
    for (std::size_t i = 0; i < first.size(); ++i)
      if (const Table::Column& column = table.columns.at(i); column.is_in_text())
        out_ << cell("th", first[i])
             << escape_html(column.style.unit.empty() ? column.name
                                                      : column.name + ", " + column.style.unit);
    out_ << '\n';
  }

  /// Returns an empty string for the title of the page, which is its first heading.
  [[nodiscard]] std::string section_heading(const std::string& text) const {
    if (text == title_) return {};
    return fmt::format("<{0}>{1}</{0}>\n", section_heading_, escape_html(text));
  }
  /// Returns the start tag of a cell. Strings are left-aligned.
  static std::string cell(const char* tag, const Value& value) {
    return fmt::format("<{}{}>", tag, std::holds_alternative<std::string>(value) ? "" : " class=r");
  }
  /// Returns true if a figure displays the table.
  [[nodiscard]] bool has_picture(const Report& report, const Table& table) const {
    return svgs_ && std::ranges::any_of(report.elements, [&](const auto& part) {
             const auto* const figure = std::get_if<Figure>(&part);
             return figure != nullptr && figure->key == table.key && svgs_->contains(figure);
           });
  }
  void end_facts() {
    if (std::exchange(are_facts_, false)) out_ << "</table>\n";
  }

  std::optional<Svgs> svgs_;
  std::string title_;
  std::ostream& out_;
  bool are_facts_ = false;
  const char* section_heading_ = "h2";  ///< element of the headings of figures and tables
};

}  // namespace

std::string escape_html(std::string_view text) {
  constexpr std::array<std::pair<char, std::string_view>, 4> marks{
      {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}}};
  std::string html;
  for (const char letter : escape_control_chars(text)) {
    const auto* const mark = std::ranges::find(marks, letter, &decltype(marks)::value_type::first);
    if (mark == marks.end())
      html += letter;
    else
      html += mark->second;
  }
  return html;
}

bool write_page(const Report& report, std::ostream& out) {
  const Report page = report.for_page ? report.for_page() : report;
  PageWriter writer(report.title, report.byline, {&page}, out, page.reload_s);
  writer.write(page);
  return writer.end();
}

bool write_page(const std::string& title, const std::vector<Report>& reports, std::ostream& out) {
  std::vector<const Report*> all;
  for (const Report& report : reports) all.push_back(&report);
  PageWriter writer(title, "", all, out);
  for (const Report& report : reports) writer.write(report, report.title);
  return writer.end();
}

std::string missing_figures_warning(const std::filesystem::path& page) {
  return "wallheat: warning: " + page.string() +
         " contains no figures, because gnuplot was not found; install it (Debian: gnuplot-nox)";
}

}  // namespace wallheat
