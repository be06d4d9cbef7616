#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <tuple>

#include "core/text.hpp"
#include "report/report.hpp"
#include "view/output_file.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Output::Output(Options& options, Out out, const char* figure) {
  options.heading(Options::output_heading);
  options.add("json", flag(json_), "print one JSON object");
  if (out == Out::printed) {
    options.add("format,f",
                choice(form_, "NAME", "text",
                       {{"text", Form::text}, {"json", Form::json}, {"csv", Form::csv}}),
                "text, json or csv (its main table, as spreadsheets and pandas read it)");
    options.add("out,o", file(out_, FileRole::replaced_text), "write there what would be printed");
    options.add("page", made_file(page_, "<!doctype html>\n"),
                "make one HTML page of it, which needs no network");
  }
  if (figure != nullptr) declare_picture(options, out == Out::drawn ? "out" : "plot", figure);
  if (figure != nullptr || out == Out::printed) {
    const auto set_title = [this](const std::string&, const std::string& text) {
      style_.title = text;
    };
    const std::string_view of = figure == nullptr     ? "page"
                                : out == Out::printed ? "page and the picture"
                                                      : "picture";
    options.add("title", {set_title, "TEXT"},
                fmt::format("of the {}, instead of its own; '' for none", of));
  }
  options.heading("Options");
}

void Output::declare_picture(Options& options, const std::string& option,
                             const std::string& figure) {
  options.add(option == "out" ? "out,o" : option, file(picture_, FileRole::replaced_picture),
              fmt::format("draw {} as PNG, SVG or PDF, by the file's ending", figure));
  constexpr int least = 64;
  constexpr int most = 20000;
  const auto set_size = [this](const std::string& text) {
    const auto size = numbers_around<int>('x', text);
    if (size) std::tie(style_.width, style_.height) = *size;
    return size && std::min(size->first, size->second) >= least &&
           std::max(size->first, size->second) <= most;
  };
  options.add("size",
              word("WxH", fmt::format("WIDTHxHEIGHT, each {} to {} pixels", least, most), set_size),
              "of the picture in pixels, as 1200x800");
  options.add("dpi", value(style_.dpi, "N", default_dpi).within(24, 1200),
              "dots an inch of a PNG: 300 makes text and lines, too, 300/96 times as large");
  options.check([this, option] {
    if (!picture_.empty() && style_.dpi != default_dpi &&
        plot_format(option, picture_) != PlotFormat::png)
      throw UsageError("--dpi is for PNG: SVG and PDF are sharp at any size");
  });
}

void Output::write(const Report& report, std::ostream& out, bool is_stdout) const {
  const std::string ending = out_.extension().string();
  if (json_ || form_ == Form::json || (form_ == Form::text && ending == ".json"))
    return write_json(report, out);
  if (form_ == Form::text && ending != ".csv")
    return write_text(report, out, is_stdout ? terminal_columns(STDOUT_FILENO) : std::nullopt);
  const Table* const table = report.table_of_csv();
  if (table == nullptr) throw UsageError("there is no table to write as CSV");
  write_csv(*table, out);
}

void Output::put(Report& report) const {
  if (style_.title) report.title = *style_.title;
  if (!out_.empty()) {
    write_output(out_, [&](std::ostream& out) { write(report, out, false); });
  } else {
    write(report, std::cout, true);
  }
  if (!page_.empty()) write_output(page_, [&](std::ostream& out) { write_page(report, out); });
  if (!picture_.empty())
    write_output(picture_, draw(report, plot_format("plot", picture_), style_));
}

}  // namespace wallheat
