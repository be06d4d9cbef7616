#include "report/html.hpp"

#include <fmt/format.h>

#include <array>

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
button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-decoration:underline dotted}
button[disabled]{opacity:.4;cursor:default}.save{color:var(--faint);font-size:.85em;margin:.2em 0}.save button{margin-right:.8em}
code{background:var(--code);padding:.1em .3em}p.small{color:var(--faint);font-size:.85em}
@media print{section{break-inside:avoid}#plans{break-inside:auto}body{margin:0}.save{display:none}})";

/// Text between <script> and its end: what it adds works in this file alone.
constexpr std::string_view page_script = R"(
(() => {
  const button = (parent, text, act) => {
    const made = parent.appendChild(document.createElement('button'));
    made.textContent = text;
    made.addEventListener('click', act);
    return made;
  };
  // Figures
  const save = (url, name) => {
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
  };
  document.querySelectorAll('.plot').forEach((plot, number) => {
    const svg = plot.querySelector('svg');
    const name = `figure-${number + 1}`;
    const picture = () => 'data:image/svg+xml;charset=utf-8,' +
      encodeURIComponent(new XMLSerializer().serializeToString(svg));
    const line = document.createElement('p');
    line.className = 'save';
    plot.after(line);
    button(line, 'Save as SVG', () => save(picture(), `${name}.svg`));
    button(line, 'Save as PNG', () => {
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement('canvas');
        const scale = 3;  // for print
        canvas.width = scale * svg.viewBox.baseVal.width;
        canvas.height = scale * svg.viewBox.baseVal.height;
        canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
        save(canvas.toDataURL('image/png'), `${name}.png`);
      };
      image.src = picture();
    });
  });
  // Plans: lines of text, of which only those that are shown become rows
  const section = document.getElementById('plans');
  if (!section) return;
  const lines = document.getElementById('plans-all').textContent.trim().split('\n');
  const table = section.querySelector('table');
  const heads = [...table.querySelectorAll('th')];
  const page = 200;
  let order = Uint32Array.from(lines, (line, i) => i);
  let from = 0, sorted = -1, down = false;
  const line = document.createElement('p');
  line.className = 'save';
  section.querySelector('h2').after(line);
  const shown = document.getElementById('plans-shown');
  if (shown) shown.remove();
  const show = () => {
    while (table.rows.length > 1) table.deleteRow(1);
    for (const i of order.subarray(from, from + page)) {
      const row = table.insertRow();
      lines[i].split('\t').forEach((text, column) => {
        const cell = row.insertCell();
        cell.textContent = text;
        cell.className = heads[column].className;
      });
    }
    place.textContent = `${from + 1} to ${Math.min(from + page, lines.length)} of ${lines.length} `;
    back.disabled = from === 0;
    on.disabled = from + page >= lines.length;
    heads.forEach((head, column) => head.ariaSort =
      column !== sorted ? 'none' : down ? 'descending' : 'ascending');
  };
  const place = line.appendChild(document.createElement('span'));
  const back = button(line, 'Previous', () => { from -= page; show(); });
  const on = button(line, 'Next', () => { from += page; show(); });
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
      if (column < 2) {
        order.sort((a, b) => sign * texts.compare(keys[a], keys[b]) || a - b);
      } else {
        const values = Float64Array.from(keys, key => key === '' ? NaN : Number(key));
        // What has no value comes last, either way.
        order.sort((a, b) => isNaN(values[a]) - isNaN(values[b]) ||
          sign * (values[a] - values[b]) || a - b);
      }
      show();
    });
  });
  show();
})();
)";

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char letter : printable(text)) {
    constexpr std::string_view special = "<>&\"";
    constexpr std::array names{"&lt;", "&gt;", "&amp;", "&quot;"};
    const std::size_t place = special.find(letter);
    if (place == std::string_view::npos) {
      html += letter;
    } else {
      html += names.at(place);
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

std::string page_end() {
  return fmt::format("<script nonce=wallheat>{}</script>\n</body></html>\n", page_script);
}

std::string page_beginning(const std::string& title) {
  const std::string name = escaped(title);
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n<meta "
      "http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-wallheat'; "
      "img-src data:\">\n<meta "
      "name=viewport "
      "content=\"width=device-width\">\n<title>{}: "
      "report</title>\n<style>{}</style></head>\n<body>\n<h1>{}</h1>\n",
      name, page_style, name);
}

}  // namespace wallheat
