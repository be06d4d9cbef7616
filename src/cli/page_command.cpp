#include "cli/commands.hpp"
#include "io/files.hpp"
#include "io/standard_streams.hpp"
#include "report/gnuplot.hpp"
#include "report/report.hpp"
#include "view/output_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the report for a file, whose format the suffix of its name determines.
Report report_of_file(const std::string& file) {
  const std::string text = read_text_file(file);
  if (file.ends_with(".svg")) {
    if (!text.starts_with(magic_of(PlotFormat::svg)) || text.find("<script") != std::string::npos)
      throw RunError(file + " is not a picture that wallheat has drawn");
    const std::string name = std::filesystem::path(file).stem().string();
    return {.elements = {Figure{.key = name, .name = name, .svg = text}}};
  }
  if (file.ends_with(".txt")) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::size_t last = text.find_last_not_of('\n');
    Report report{text.substr(0, end)};
    if (last != std::string::npos && last > end) report.add_note(text.substr(end + 1, last - end));
    return report;
  }
  Report report = parse_report(file, text);
  if (report.title.empty()) report.title = file;
  return report;
}

}  // namespace

Report page_command(Options& options) {
  std::vector<std::string> names;
  std::filesystem::path out;
  std::string title;
  options.describe("FILE ... --out PAGE [options]",
                   "Combines the JSON output of commands in one HTML page.",
                   {"wallheat page offload.json --out offload.html",
                    "wallheat page offload.json offload.json --title study --out study.html"});
  options.add("file", file(names, FileRole::input).positional().required(),
              "JSON output of a command, picture of 'wallheat plot' (.svg), or text file whose "
              "first line is its heading (.txt) (also as an argument); repeat for more");
  options.add("out,o", file(out, FileRole::page, "PAGE").required(),
              "HTML page, such as study.html");
  options.add("title", value(title, "TEXT", "wallheat"), "heading of the page");
  options.parse();
  std::vector<Report> reports;
  for (const std::string& name : names) reports.push_back(report_of_file(name));
  bool has_figures = true;
  write_output(out, [&](std::ostream& to) { has_figures = write_page(title, reports, to); });
  if (!has_figures) print_error("{}", missing_figures_warning(out));
  return {};
}

}  // namespace wallheat
