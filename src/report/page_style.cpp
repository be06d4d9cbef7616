#include <fmt/format.h>

#include "report/gnuplot.hpp"
#include "report/report_page.hpp"

namespace wallheat {
namespace {

// What scrolls has a shadow at the side where there is more. Figures keep their size on a phone, so
// that their texts can be read.
constexpr std::string_view rules =
    R"(body{font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--ground);margin:2em auto;max-width:960px;padding:0 1em}
h1{font-size:1.5em;overflow-wrap:anywhere}h2{font-size:1.15em;margin-top:2em;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
h2::first-letter,summary::first-letter{text-transform:uppercase}summary{cursor:pointer;margin:1em 0}
.scroll{overflow-x:auto;margin:.6em 0;background:linear-gradient(to right,var(--ground) 40%,transparent) 0/60px 100%,
linear-gradient(to left,var(--ground) 40%,transparent) 100%/60px 100%,linear-gradient(to right,var(--shadow),transparent) 0/18px 100%,
linear-gradient(to left,var(--shadow),transparent) 100%/18px 100%;background-repeat:no-repeat;background-attachment:local,local,scroll,scroll}
table{border-collapse:collapse}td,th{padding:.15em .8em .15em 0;vertical-align:top;font-weight:400;white-space:pre-wrap}
th{color:var(--faint);text-align:left;vertical-align:bottom}.r{text-align:right;font-variant-numeric:tabular-nums}p{overflow-wrap:anywhere}
table:not(.facts) td{white-space:pre}.facts td{overflow-wrap:anywhere}.facts td:first-child{min-width:9em}
.plot svg{display:block}.plot image{image-rendering:pixelated}.plot [fill=black]{fill:var(--text)}.plot [color=black]{color:var(--text)}
button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-decoration:underline dotted}
button[disabled]{opacity:.4;cursor:default}.save{color:var(--faint);font-size:.85em;margin:.2em 0}.save button{margin-right:.8em}
p.small{color:var(--faint);font-size:.85em}@media print{section{break-inside:avoid}.long{break-inside:auto}body{margin:0}.save{display:none}.plot svg{max-width:100%;height:auto}})";

/// As gnuplot writes a colour: of lines and areas, or of texts.
std::string rgb(unsigned colour, bool is_of_text) {
  const unsigned red = colour >> 16U;
  const unsigned green = colour >> 8U & 0xFFU;
  const unsigned blue = colour & 0xFFU;
  return is_of_text ? fmt::format("rgb({},{},{})", red, green, blue)
                    : fmt::format("rgb({:3}, {:3}, {:3})", red, green, blue);
}

}  // namespace

std::string page_style() {
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
        // What has no value comes last, either way.
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

}  // namespace wallheat
