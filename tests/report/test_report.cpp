#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "report/gnuplot.hpp"
#include "report/report.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/report_values.hpp"
#include "wallheat/error.hpp"

// One report in each output format.

namespace wallheat {
namespace {

Report houses() {
  Report report{"houses <of> \"today\""};
  report.add(
      Fact{"mean", "average temperature", 1.0 / 3, {ValueFormat::decimals, 2, "°C"}, ", of 3"});
  report.add(Fact{"count", "  houses", std::size_t{3}});
  report.add(Fact{"closed", "is closed", true});
  report.add(Fact{"", "for people", "a\x1b[31m"});
  report.add(Fact{"nobody_knows", "not known", Value()});
  report.add(Fact{"no_number", "no number", std::nan("")});
  Table& table = report.add(Table{"houses",
                                  "by house",
                                  {{"id", "house"},
                                   {"seconds", "time", {ValueFormat::duration}},
                                   {"bytes", "memory", {ValueFormat::bytes}},
                                   {"warm", "", {}},
                                   {"", "bar", {}}}});
  table.rows = {{"a, \"b\"", 200.0, 23'400'000, true, "##"},
                {"\xC3\xA9", std::nan(""), Value(), false, ""},
                {"one that is too far down", 0.5, 7, true, "#"}};
  table.max_text_rows = 2;
  report.add(Note{"That is <all>.\x1b[0m"});
  report.add(Figure{"times",
                    "over <time>",
                    {"s"},
                    {"°C"},
                    {{"of a", Figure::Mark::points_and_line, {1, 2, 3}, {4, NAN, 6}}}});
  return report;
}

std::string page_of(const Report& report) {
  std::ostringstream page;
  EXPECT_TRUE(write_page(report, page)) << "gnuplot draws the figures";
  return page.str();
}

TEST(Report, AlignsValuesInTextOutput) {
  EXPECT_EQ(text_of(houses()),
            "average temperature  0.33 °C, of 3\n"
            "  houses             3\n"
            "is closed            yes\n"
            "for people           a\\x1b[31m\n"
            "no number            -\n"
            "\n"
            "by house\n"
            "  house         time   memory  bar\n"
            "  a, \"b\"  3 min 20 s  23.4 MB  ##\n"
            "  é                -        -\n"
            "  and 1 more\n"
            "\n"
            "That is <all>.\\x1b[0m\n");
  std::ostringstream narrow;
  write_text(houses(), narrow, 30);
  EXPECT_THAT(narrow.str(), HasSubstr("0.33 °C,\n               of 3\n"));
}

TEST(ValueText, NamesMonthOfTime) {
  const ValueStyle time{ValueFormat::time};
  EXPECT_EQ(value_text("2030-01-02T03:04:05.678Z", time), "2 Jan 2030, 03:04:05 UTC");
  EXPECT_EQ(value_text("2031-12-31T23:59:59.999Z", time), "31 Dec 2031, 23:59:59 UTC");
  EXPECT_EQ(value_text("no\ntime", time), R"(no\ntime)") << "other text as it is, but escaped";
}

TEST(ValueText, RoundsLikePrintf) {
  const auto printed = [](const char* format, int digits, double number) {
    std::array<char, 512> text{};
    std::snprintf(text.data(), text.size(), format, digits, number);
    return std::string(text.data());
  };
  for (const double number : {0.0, -0.0, 0.5, 2.5, 99999.95, 1e-5, -123456.789, 2.0 / 3, 1e22,
                              1e300, 5e-324, std::numeric_limits<double>::infinity()}) {
    for (const int digits : {0, 1, 2, 6, 17, 100}) {
      EXPECT_EQ(value_text(number, {ValueFormat::decimals, digits}),
                printed("%.*f", digits, number));
      EXPECT_EQ(value_text(number, {ValueFormat::digits, digits}), printed("%.*g", digits, number));
    }
  }
}

TEST(Report, OmitsShareOfZero) {
  EXPECT_EQ(Report::share(1, 8), ", 12.5 %");
  EXPECT_EQ(Report::share(0, 0), "");
}

TEST(Report, WritesAllDigitsInJson) {
  const auto json = json_of(houses());
  EXPECT_EQ(json["mean"].get<double>(), 1.0 / 3);
  EXPECT_EQ(json["count"], 3);
  EXPECT_EQ(json["closed"], true);
  EXPECT_TRUE(json["nobody_knows"].is_null());
  EXPECT_TRUE(json["no_number"].is_null());
  EXPECT_FALSE(json.contains("for people"));
  ASSERT_EQ(json["houses"].size(), 3U) << "also the rows that the text output omits";
  EXPECT_EQ(json["houses"][0],
            nlohmann::json::parse(
                R"({"id": "a, \"b\"", "seconds": 200.0, "bytes": 23400000, "warm": true})"));
  EXPECT_TRUE(json["houses"][1]["seconds"].is_null());
  EXPECT_EQ(json["figures"]["times"][0]["y"][2], 6);
  Report empty;
  EXPECT_EQ(json_of(empty), nlohmann::json::object());
  empty.add(Table{"none", "none", {{"id", "id"}}});
  EXPECT_EQ(json_of(empty)["none"], nlohmann::json::array());
  EXPECT_EQ(text_of(empty), "");
}

TEST(Report, SurvivesRoundTripThroughJson) {
  Report report = houses();
  report.add(Figure{"bars", "", {}, {}, {{"of a", Figure::Mark::bars}}})
      .series[0]
      .add_rectangle(1, 2, 3, 4);
  const Report again = parse_report("houses.json", json_of(report).dump());
  EXPECT_EQ(json_of(again), json_of(report)) << "including the ends of its bars";
  EXPECT_EQ(text_of(again).substr(0, 34), text_of(report).substr(0, 34));
  for (const std::string wrong :
       {"", "{}", "[]", R"({"layout": ["", ["fact", ["a", "", [0, 6, ""], ""]]]})",
        R"({"layout": ["", ["fact", ["a", "", [7, 6, ""], ""]]], "a": 1})",
        R"({"layout": ["", ["table", ["a", "", [["id"]], 9, false]]], "a": []})"})
    EXPECT_THAT(error_message_of<RunError>([&] { (void)parse_report("houses.json", wrong); }),
                Mentions("houses.json"))
        << wrong;
}

void expect_equal(const Figure::Axis& a, const Figure::Axis& b) {
  const auto& [name, scale, names, from, to] = a;  // fails to compile if an axis gets a member
  EXPECT_EQ(name, b.name);
  EXPECT_EQ(scale, b.scale);
  EXPECT_EQ(names, b.names);
  EXPECT_EQ(from, b.from);
  EXPECT_EQ(to, b.to);
}

TEST(Report, KeepsEveryMemberOfFigureInJson) {
  const Figure figure{.key = "key",
                      .name = "name",
                      .x = {"time, s", Figure::Scale::powers_of_2, {"a", "b"}, 0.1, 1e300},
                      .y = {"°C", Figure::Scale::powers_of_10, {}, -3, std::nullopt},
                      .series = {{.name = "of a",
                                  .mark = Figure::Mark::rectangles,
                                  .x = {1, 1.0 / 3},
                                  .y = {2, 5},
                                  .x_end = {3, 7},
                                  .y_end = {4, 9},
                                  .labels = {"first", ""},
                                  .is_dashed = true}},
                      .is_sequential = true};
  const Report again = parse_report("x.json", json_of(Report{.elements = {figure}}).dump());
  const Figure* const read = again.first<Figure>();
  ASSERT_NE(read, nullptr);
  const auto& [key, name, x, y, series, is_sequential, fields, svg] = figure;
  EXPECT_EQ(read->key, key);
  EXPECT_EQ(read->name, name);
  expect_equal(read->x, x);
  expect_equal(read->y, y);
  EXPECT_EQ(read->is_sequential, is_sequential);
  ASSERT_EQ(read->series.size(), 1U);
  const auto& [of, mark, x_begin, y_begin, x_end, y_end, labels, is_dashed] = series[0];
  EXPECT_EQ(read->series[0].name, of);
  EXPECT_EQ(read->series[0].mark, mark);
  EXPECT_EQ(read->series[0].x, x_begin);
  EXPECT_EQ(read->series[0].y, y_begin);
  EXPECT_EQ(read->series[0].x_end, x_end);
  EXPECT_EQ(read->series[0].y_end, y_end);
  EXPECT_EQ(read->series[0].labels, labels);
  EXPECT_EQ(read->series[0].is_dashed, is_dashed);
}

TEST(Report, ReadsFiguresWithoutAxisRanges) {
  auto json = json_of(houses());
  auto& figure = json["layout"].back()[1];
  for (const int axis : {2, 3}) {
    ASSERT_EQ(figure[axis].size(), 5U);
    figure[axis].erase(4);
    figure[axis].erase(3);
  }
  EXPECT_EQ(json_of(parse_report("old.json", json.dump()))["figures"], json["figures"]);
}

TEST(Report, HasOneMainHeadingPerPage) {
  const auto headings = [](const std::string& page) {
    std::string levels;
    for (std::size_t at = 0; (at = page.find("<h", at)) != std::string::npos; ++at)
      if (std::isdigit(static_cast<unsigned char>(page[at + 2])) != 0) levels += page[at + 2];
    return levels;
  };
  EXPECT_EQ(headings(page_of(houses())), "122") << "title, table and figure";
  Report untitled = houses();
  untitled.title.clear();
  std::ostringstream page;
  EXPECT_TRUE(write_page("all", {houses(), untitled, houses()}, page));
  EXPECT_EQ(headings(page.str()),
            "1"
            "233"
            "22"
            "233");
  Report of_figure = houses();
  of_figure.title = std::get<Figure>(of_figure.elements.back()).name;
  EXPECT_EQ(headings(page_of(of_figure)), "12") << "title and table; the figure has the title";
}

TEST(ValueText, RoundsRequiredValuesUp) {
  const auto rounded_up = [](double value, int decimals) {
    return value_text(value, {ValueFormat::decimals_up, decimals});
  };
  EXPECT_EQ(rounded_up(31.06227, 2), "31.07");
  EXPECT_EQ(rounded_up(31.06, 2), "31.06") << "the text is this number";
  EXPECT_EQ(rounded_up(std::nextafter(31.06, 40), 2), "31.07");
  EXPECT_EQ(rounded_up(9.999, 2), "10.00");
  EXPECT_EQ(rounded_up(-20.118, 1), "-20.1");
  EXPECT_EQ(rounded_up(1e300, 2), value_text(1e300, {ValueFormat::decimals, 2}));
  EXPECT_EQ(rounded_up(std::nan(""), 2), "-");
}

TEST(Report, WritesFactsAsOneRowOfCsv) {
  std::ostringstream csv;
  write_csv(table_of_json_facts(houses()), csv);
  EXPECT_EQ(csv.str(),
            "mean,count,closed,nobody_knows,no_number\n"
            "0.3333333333333333,3,true,,\n");
}

TEST(Report, WritesQuotedCsv) {
  std::ostringstream csv;
  write_csv(*houses().first<Table>(), csv);
  EXPECT_EQ(csv.str(),
            "id,seconds,bytes,warm\n"
            "\"a, \"\"b\"\"\",200.0,23400000,true\n"
            "é,,,false\n"
            "one that is too far down,0.5,7,true\n");
  std::ostringstream of_lines;
  write_csv({"", "", {{"text", ""}}, {{"it said no\nand left"}}}, of_lines);
  EXPECT_EQ(of_lines.str(), "text\n\"it said no\nand left\"\n");
}

TEST(Report, WritesCsvForSpreadsheetsWithDecimalCommas) {
  const Table table{"rooms",
                    "",
                    {{"name", "name"},
                     {"mean_temp", "mean", {ValueFormat::decimals, 1, "°C"}},
                     {"area_m2", "area"},
                     {"bytes", "bytes", {ValueFormat::bytes}},
                     {"seconds", "time", {ValueFormat::seconds}},
                     {"", "for text output only"}},
                    {{"Küche; Flur", 19.26, 1.0 / 3, 23400000, 0.25, 1.5},
                     {"a \"b\", c", nan_value, 12, Value(), -1e-9, 1.5}}};
  std::ostringstream csv;
  write_csv(table, csv, CsvDialect::semicolons);
  EXPECT_EQ(csv.str(),
            "\xEF\xBB\xBFname;mean_temp;area_m2;bytes;seconds\n"
            "\"Küche; Flur\";19,3;0,333333;23400000;0,25\n"
            "\"a \"\"b\"\", c\";;12;;-1e-09\n");
}

TEST(Report, ShowsCollapsedTablesOnPagesOnly) {
  Report report;
  report.add(Table{"settings", "settings of the run", {{"name", "name"}}, {{"solver"}}})
      .is_collapsed = true;
  EXPECT_EQ(text_of(report), "");
  report = parse_report("report.json", json_of(report).dump());
  report.add(Figure{.key = "plan",
                    .name = "plan",
                    .svg = "<?xml ?><svg width=\"9\"><title>Gnuplot</title>\n"
                           "<desc>by gnuplot</desc><rect fill=\"#ffffff\"/><g/></svg>"});
  EXPECT_THAT(page_of(report),
              AllOf(HasSubstr("<details><summary>settings of the run"),
                    HasSubstr("aria-label=\"plan\""), HasSubstr(" width=\"9\"><g/></svg>")));
}

TEST(Report, EscapesHtmlOnPages) {
  Report report = houses();
  EXPECT_THAT(page_of(report),
              AllOf(StartsWith("<!doctype html>\n"), HasSubstr("houses &lt;of&gt; &quot;today"),
                    HasSubstr("0.33 °C, of 3"), HasSubstr("That is &lt;all&gt;."),
                    HasSubstr("by house"), HasSubstr("a, &quot;b&quot;"), HasSubstr("<svg"),
                    HasSubstr("over &lt;time&gt;"), Not(HasSubstr("over <time>"))));
  std::get<Figure>(report.elements.back()).key = "houses";
  EXPECT_THAT(page_of(report), Not(HasSubstr("by house")))
      << "a figure replaces the table of the same key";
  std::ostringstream pages;
  EXPECT_TRUE(write_page("two", {houses(), houses()}, pages));
  const std::size_t first = pages.str().find("houses &lt;of&gt;");
  EXPECT_NE(pages.str().find("houses &lt;of&gt;", first + 1), std::string::npos);
}

TEST(Report, LimitsRowsOnPages) {
  Table table{"plans", "plans", {{"id", "plan"}, {"mean", "mean"}}};
  table.row_source = [](const auto& take) {
    for (int i = 0; i < 5000; ++i) take({std::to_string(i) + std::string(4000, 'x'), i});
  };
  Report report;
  report.add(table);
  const std::string page = page_of(report);
  EXPECT_LT(page.size(), 10'000'000U);
  std::size_t rows = 0;
  for (std::size_t at = 0;; ++rows) {
    at = page.find('\t' + std::to_string(rows) + '\n', at);
    if (at == std::string::npos) break;
  }
  EXPECT_GT(rows, 2000U);
  EXPECT_LT(rows, 2100U);
  EXPECT_THAT(page, Mentions({"200 of 5000", std::to_string(rows) + " of 5000"}));
  EXPECT_THAT(page.substr(0, page.find("</table>")),
              AllOf(HasSubstr("<td class=r>199\n"), Not(HasSubstr("<td class=r>200\n"))))
      << "readable without JavaScript";
}

/// Returns the vertical position in an SVG of the only text that contains `part`, in pixels.
double height_of(const std::string& svg, const std::string& part) {
  const std::size_t text = svg.find(part);
  EXPECT_NE(text, std::string::npos) << part;
  const std::string begin = "translate(";
  const std::size_t at = svg.rfind(begin, text);
  return std::stod(svg.substr(svg.find(',', at) + 1));
}

TEST(Figure, WritesLegendBelowAxisLabel) {
  Report report;
  for (const std::string panel : {"left", "right"}) {
    Figure& figure = report.add(Figure{panel, panel, {panel + " axis"}, {"y"}});
    for (const std::string name : {"1", "2", "3", "4", "5"})
      figure.series.push_back(
          {"a long name of the " + panel + " series " + name, Figure::Mark::line, {1, 2}, {3, 4}});
  }
  const std::string svg = draw(report, PlotFormat::svg, {});
  for (const std::string panel : {"left", "right"})
    for (const std::string name : {"1", "2", "3", "4", "5"})
      EXPECT_GT(height_of(svg, panel + " series " + name), height_of(svg, panel + " axis") + 14)
          << "a character is 13 pixels high";
}

TEST(Figure, DrawsAnyData) {
  Figure figure = *houses().first<Figure>();
  const auto svg = [&] { return draw(Report{.elements = {figure}}, PlotFormat::svg, {}); };
  EXPECT_THAT(svg(), AllOf(StartsWith(magic_of(PlotFormat::svg)), HasSubstr("of a"),
                           HasSubstr("over &lt;time")));
  using enum Figure::Scale;
  for (const auto scale : {linear, powers_of_2, powers_of_10}) {
    for (const auto mark : {Figure::Mark::points, Figure::Mark::line, Figure::Mark::bars}) {
      figure.x.scale = figure.y.scale = scale;
      figure.series = {{"", mark, {2, 4}, {1, 8}, {}, {}, {"low", "high"}, true}};
      if (mark == Figure::Mark::bars) figure.series[0].x_end = {4, 8};
      EXPECT_THAT(svg(), AllOf(HasSubstr("low"), HasSubstr("high")));
      // Ranges of zero width, or of so little that gnuplot would see none.
      for (const double next : {3.0, 3 + 1e-13}) {
        figure.series[0].x = figure.series[0].y = {3, next};
        EXPECT_THAT(svg(), HasSubstr("<svg"));
      }
    }
  }
  figure.x = {"place", linear, {"here", "\"there\" `ls`"}};
  figure.series = {{"", Figure::Mark::bars, {-0.4, 0.6}, {1, 0}, {0.4, 1.4}}};
  EXPECT_THAT(svg(), AllOf(HasSubstr("here"), HasSubstr("\"there\" `ls`")));
  figure.series = {{"none", Figure::Mark::line, {NAN}, {NAN}}};
  EXPECT_THAT(error_message_of<RunError>([&] { (void)svg(); }), Mentions("draw"));
  EXPECT_THROW((void)draw(Report(), PlotFormat::svg), RunError);
  Report report = houses();
  report.add(*houses().first<Figure>()).name = "another";
  EXPECT_THAT(draw(report, PlotFormat::svg, {"all of them"}),
              AllOf(HasSubstr("over &lt;time"), HasSubstr("another"), HasSubstr("all of them")));
}

}  // namespace
}  // namespace wallheat
