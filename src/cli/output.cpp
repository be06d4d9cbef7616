#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "report/figure.hpp"
#include "report/report_page.hpp"
#include "view/output_file.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Output::Output(Options& options, bool has_out, const char* figure) {
  options.heading(Options::output_heading);
  declare(options, has_out, figure);
  options.heading("Options");
}

void Output::declare(Options& options, bool has_out, const char* figure) {
  options.add("json", flag(json_), "print one JSON object");
  if (!has_out) return;
  options.add("format,f",
              choice(form_, "NAME", "text",
                     {{"text", Form::text}, {"json", Form::json}, {"csv", Form::csv}}),
              "text, json or csv (its main table, as spreadsheets and pandas read it)");
  options.add("out,o", file(out_, FileRole::text), "write there what would be printed");
  options.add("page", made_file(page_, "<!doctype html>\n"),
              "make one HTML page of it, which needs no network");
  if (figure == nullptr) {
    options.add("title", value(title_, "TEXT"), "of the page, in place of its own");
    return;
  }
  picture_.declare(options, "plot",
                   fmt::format("draw {} as PNG, SVG or PDF, by the file's ending", figure).c_str());
}

Output::Form Output::form() const {
  const std::string ending = out_.extension().string();
  const Form asked = json_ ? Form::json : form_;
  if (asked != Form::text) return asked;
  return ending == ".json" ? Form::json : ending == ".csv" ? Form::csv : Form::text;
}

void Output::write(const Report& report, std::ostream& out, bool is_stdout) const {
  switch (form()) {
    case Form::text:
      return write_text(report, out, is_stdout ? terminal_columns(STDOUT_FILENO) : std::nullopt);
    case Form::json:
      return write_json(report, out);
    case Form::csv:
      break;
  }
  const Table* const table = report.table_of_csv();
  if (table == nullptr) throw UsageError("there is no table to write as CSV");
  write_csv(*table, out);
}

void Output::put(Report& report) const {
  report.title = picture_.title().value_or(title_.empty() ? report.title : title_);
  if (!out_.empty()) {
    write_output(out_, [&](std::ostream& out) { write(report, out, false); });
  } else {
    write(report, std::cout, true);
  }
  if (!page_.empty()) write_output(page_, [&](std::ostream& out) { write_page(report, out); });
  picture_.write([&](PlotFormat format) { return draw(report, format, picture_.style()); });
}

}  // namespace wallheat
