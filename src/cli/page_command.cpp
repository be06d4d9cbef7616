#include <filesystem>

#include "cli/commands.hpp"
#include "forecast/job_listing.hpp"
#include "report/report_page.hpp"
#include "view/output_file.hpp"

namespace wallheat {

Report page_command(Options& options) {
  std::vector<std::string> names;
  std::filesystem::path out;
  std::string title;
  options.describe("STEP.json ... --out PAGE [options]",
                   "Makes one HTML page of what commands printed with --json, one below the other: "
                   "of the steps of a study, or of several runs.",
                   {"wallheat page offload.json --out offload.html",
                    "wallheat page offload.json offload.json --title study --out study.html"});
  options.add("file", file(names, FileRole::read), "such a JSON (also as an argument); any number");
  options.add("out,o", made_file(out, "<!doctype html>\n", "PAGE"), "the page, as study.html");
  options.add("title", value(title, "TEXT", "wallheat"), "its heading");
  options.positional("file", -1);
  options.require({"file", "out"});
  options.parse();
  std::vector<Report> reports;
  for (const std::string& name : names) {
    reports.push_back(report_in(name, text_of(name)));
    if (reports.back().title.empty()) reports.back().title = name;
  }
  write_output(out, [&](std::ostream& to) { write_page(title, reports, to); });
  return {};
}

}  // namespace wallheat
