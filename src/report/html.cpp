#include "report/html.hpp"

#include <fmt/format.h>

#include "core/printable.hpp"

namespace wallheat {
namespace {

// Plots keep their white ground in the dark: their colours are made for it.
constexpr std::string_view page_style =
    R"(:root{color-scheme:light dark;--text:#262a33;--faint:#686e7a;--line:#d0d4da;--ground:#fff;--code:#f3f1f6}
@media screen and (prefers-color-scheme:dark){:root{--text:#dfe2e8;--faint:#9aa1ad;--line:#3c424e;--ground:#16181d;--code:#262a33}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--ground);margin:2em auto;max-width:960px;padding:0 1em}
h1{font-size:1.5em;overflow-wrap:anywhere}h2{font-size:1.15em;margin-top:2em;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:.6em 0}
td,th{padding:.15em .8em .15em 0;vertical-align:top;font-weight:400;white-space:pre-wrap}
th{color:var(--faint);text-align:left}.r{text-align:right;font-variant-numeric:tabular-nums}
.plot{background:#fff;border-radius:4px}.plot svg{max-width:100%;height:auto}p{overflow-wrap:anywhere}
code{background:var(--code);padding:.1em .3em}p.small{color:var(--faint);font-size:.85em}
@media print{section{break-inside:avoid}body{margin:0}})";

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

std::string table(std::string_view alignment, const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=scroll><table>";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    html += "<tr>";
    const char* tag = r == 0 ? "th" : "td";
    for (std::size_t c = 0; c < rows[r].size(); ++c)
      html += fmt::format("<{} class={}>{}</{}>", tag, alignment[c], escaped(rows[r][c]), tag);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string section(const std::string& title, const std::string& body) {
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", escaped(title), body);
}

// From <svg on.
std::string inline_svg(const std::string& svg) {
  const auto begin = svg.find("<svg");
  return "<div class=plot>" + svg.substr(begin == std::string::npos ? 0 : begin) + "</div>\n";
}

std::string inline_plot(const Plot& plot, int height) {
  constexpr int plot_width = 900;
  return inline_svg(plot.draw(PlotFormat::svg, plot_width, height));
}

std::string page_beginning(const std::string& title) {
  const std::string name = escaped(title);
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n<meta "
      "http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n<meta "
      "name=viewport "
      "content=\"width=device-width\">\n<title>{}: "
      "report</title>\n<style>{}</style></head>\n<body>\n<h1>{}</h1>\n",
      name, page_style, name);
}

}  // namespace wallheat
